// An EPMD that names the proxy's port instead of the node's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace ergon::chaos {

// Everything on the thread of the context.
class PortMapper {
 public:
  // `told` is the port that is told of a node, 0: none.
  PortMapper(asio::io_context& context, std::function<std::uint16_t(const std::string&)> told);

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  // Where a node listens; 0: it is not registered.
  [[nodiscard]] std::uint16_t PortOf(const std::string& node) const;

 private:
  struct Client;
  void Accept();
  void Take(const std::shared_ptr<Client>& client);
  [[nodiscard]] std::string AnswerTo(const std::string& request,
                                     const std::shared_ptr<Client>& client);

  asio::ip::tcp::acceptor acceptor_;
  const std::function<std::uint16_t(const std::string&)> told_;
  struct Registered {
    std::uint16_t port;
    const Client* by;
  };
  std::map<std::string, Registered> nodes_;
  std::uint32_t creation_ = 3;
};

}  // namespace ergon::chaos
