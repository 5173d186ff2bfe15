// What lies between the nodes: all their connections go through it, and it does to them what networks do.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace ergon::chaos {

// Two nodes, the lesser name first.
using Pair = std::pair<std::string, std::string>;
[[nodiscard]] Pair PairOf(const std::string& one, const std::string& other);

// What is done to the connections of a pair.
struct Weather {
  std::chrono::milliseconds delay{0};
  bool stalls_dialler = false;  // nothing that the one says who has dialled comes through
  bool stalls_dialled = false;
  bool refuses = false;  // no new connection comes about
};

enum class Cut : std::uint8_t {
  kClosed,   // both sides see its end
  kReset,    // both sides see an error
  kDialler,  // only the one sees it who has dialled; the other one speaks to nobody
  kDialled,  // the other way round
  kTorn,     // in the middle of what is said next
};
inline constexpr int kCuts = 5;

// Everything on the thread of the context.
class Proxy {
 public:
  // Where a node listens; 0: nowhere.
  using PortOf = std::function<std::uint16_t(const std::string&)>;
  Proxy(asio::io_context& context, const std::vector<std::string>& nodes, PortOf port_of);

  // What others are told of a node.
  [[nodiscard]] std::uint16_t PortFor(const std::string& node) const;
  [[nodiscard]] Weather& WeatherOf(const Pair& pair) { return weather_[pair]; }
  // How many connections it has cut.
  int CutAll(const Pair& pair, Cut cut);
  // Connections so far that nodes have come through with.
  [[nodiscard]] int connections() const noexcept { return connections_; }

 private:
  class Wire;
  void Accept(const std::string& node);

  asio::io_context& context_;
  const PortOf port_of_;
  std::map<std::string, std::unique_ptr<asio::ip::tcp::acceptor>> acceptors_;  // by node
  std::map<Pair, Weather> weather_;
  std::vector<std::weak_ptr<Wire>> wires_;
  int connections_ = 0;
};

}  // namespace ergon::chaos
