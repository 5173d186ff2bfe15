// An EPMD that names the proxy's port instead of the node's. Each node has a port of its own to ask at, so that it is
// known who asks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace ergon::chaos {

// Everything on the thread of the context.
class PortMapper {
 public:
  // The port that `dialler` is told of `dialled`, 0: none.
  using Told = std::function<std::uint16_t(const std::string& dialler, const std::string& dialled)>;
  PortMapper(asio::io_context& context, const std::vector<std::string>& nodes, Told told);

  // Where `node` asks and registers itself.
  [[nodiscard]] std::uint16_t PortFor(const std::string& node) const;
  // Where a node listens; 0: it is not registered.
  [[nodiscard]] std::uint16_t PortOf(const std::string& node) const;

 private:
  struct Client;
  void Accept(const std::string& node);
  void Take(const std::shared_ptr<Client>& client);
  [[nodiscard]] std::string AnswerTo(const std::string& request,
                                     const std::shared_ptr<Client>& client);

  std::map<std::string, asio::ip::tcp::acceptor> acceptors_;  // by who asks there
  const Told told_;
  struct Registered {
    std::uint16_t port;
    const Client* by;
  };
  std::map<std::string, Registered> nodes_;
  std::uint32_t creation_ = 3;
};

}  // namespace ergon::chaos
