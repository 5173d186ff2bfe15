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

  // Where `dialler` is told that `dialled` listens. Each has a port of its own for each other one: what nodes say need
  // not be read to know who speaks, for it may be encrypted.
  [[nodiscard]] std::uint16_t PortFor(const std::string& dialler, const std::string& dialled) const;
  [[nodiscard]] Weather& WeatherOf(const Pair& pair) { return weather_[pair]; }
  // How many connections it has cut.
  int CutAll(const Pair& pair, Cut cut);
  // Connections between nodes so far.
  [[nodiscard]] int connections() const noexcept { return connections_; }

 private:
  class Wire;
  // Dialler and dialled.
  using Direction = std::pair<std::string, std::string>;
  void Accept(const Direction& direction);

  asio::io_context& context_;
  const PortOf port_of_;
  std::map<Direction, std::unique_ptr<asio::ip::tcp::acceptor>> acceptors_;
  std::map<Pair, Weather> weather_;
  std::vector<std::weak_ptr<Wire>> wires_;
  int connections_ = 0;
};

}  // namespace ergon::chaos
