#include <cluster/chaos/proxy.h>

#include <algorithm>
#include <array>

#include <asio/buffer.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

namespace ergon::chaos {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Small, so that what is held up is soon held up at the node that says it.
constexpr int kSocketBytes = 8 * 1024;
constexpr std::chrono::milliseconds kStalled = 2ms;  // before it looks again

tcp::endpoint Loopback(std::uint16_t port) { return {asio::ip::make_address("127.0.0.1"), port}; }

void CloseSocket(tcp::socket& socket, bool reset) {
  asio::error_code ignored;
  if (reset) socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

Pair PairOf(const std::string& one, const std::string& other) {
  return one < other ? Pair{one, other} : Pair{other, one};
}

// One connection: two sockets, and what is said on the one is said on the other.
class Proxy::Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(Proxy& proxy, const Direction& direction, tcp::socket dialler)
      : proxy_(proxy),
        dialled_(direction.second),
        pair_(PairOf(direction.first, direction.second)),
        ways_{Way(std::move(dialler)), Way(tcp::socket(proxy.context_))} {}

  void Start() {
    const std::uint16_t port = proxy_.port_of_(dialled_);
    if (port == 0 || Now().refuses) return Close(false);
    ways_[1].from.open(tcp::v4());
    ways_[1].from.set_option(asio::socket_base::receive_buffer_size(kSocketBytes));
    ways_[1].from.async_connect(Loopback(port),
                                [self = shared_from_this()](const asio::error_code& error) {
                                  if (error || self->over_) return self->Close(false);
                                  ++self->proxy_.connections_;
                                  asio::error_code ignored;
                                  for (Way& way : self->ways_)
                                    way.from.set_option(tcp::no_delay(true), ignored);
                                  self->Read(0);
                                  self->Read(1);
                                });
  }

  [[nodiscard]] const Pair& pair() const noexcept { return pair_; }
  // False: it is over already.
  bool CutIt(Cut cut) {
    if (over_) return false;
    switch (cut) {
      case Cut::kClosed:
      case Cut::kReset:
        Close(cut == Cut::kReset);
        break;
      case Cut::kDialler:
      case Cut::kDialled: {
        over_ = true;  // nothing comes through any more
        const int closed = cut == Cut::kDialler ? 0 : 1;
        CloseSocket(ways_[closed].from, false);
        Discard(1 - closed);
        break;
      }
      case Cut::kTorn:
        torn_ = true;
        break;
    }
    return true;
  }
  void Close(bool reset) {
    over_ = true;
    for (Way& way : ways_) CloseSocket(way.from, reset);
  }

 private:
  // From one side to the other.
  struct Way {
    explicit Way(tcp::socket socket) : from(std::move(socket)), timer(from.get_executor()) {}
    tcp::socket from;
    asio::steady_timer timer;
    std::array<char, 16 * 1024> bytes{};
    bool is_reading = false;
  };

  [[nodiscard]] const Weather& Now() { return proxy_.weather_[pair_]; }
  [[nodiscard]] bool IsStalled(int way) {
    return way == 0 ? Now().stalls_dialler : Now().stalls_dialled;
  }

  void Read(int way) {
    ways_[way].is_reading = true;
    ways_[way].from.async_read_some(
        asio::buffer(ways_[way].bytes),
        [self = shared_from_this(), way](const asio::error_code& error, std::size_t size) {
          self->ways_[way].is_reading = false;
          if (self->over_) {
            if (!error) self->Discard(way);
            return;
          }
          if (error) return self->Close(false);
          const auto delay = self->Now().delay;
          if (delay == 0ms) return self->Pass(way, size);
          self->After(way, delay, size);
        });
  }
  void After(int way, std::chrono::milliseconds delay, std::size_t size) {
    ways_[way].timer.expires_after(delay);
    ways_[way].timer.async_wait(
        [self = shared_from_this(), way, size](const asio::error_code& error) {
          if (!error) self->Pass(way, size);
        });
  }
  void Pass(int way, std::size_t size) {
    if (over_) return Discard(way);
    if (IsStalled(way)) return After(way, kStalled, size);
    const bool torn = torn_;
    asio::async_write(
        ways_[1 - way].from, asio::buffer(ways_[way].bytes.data(), torn ? size / 2 : size),
        [self = shared_from_this(), way, torn](const asio::error_code& error, std::size_t) {
          if (self->over_) return self->Discard(way);
          if (error || torn) return self->Close(false);
          self->Read(way);
        });
  }
  // Until the side closes that was not told of the end.
  void Discard(int way) {
    if (ways_[way].is_reading || !ways_[way].from.is_open()) return;
    Read(way);
  }

  Proxy& proxy_;
  const std::string dialled_;
  const Pair pair_;
  std::array<Way, 2> ways_;  // from the one who has dialled, and back
  bool over_ = false;
  bool torn_ = false;
};

Proxy::Proxy(asio::io_context& context, const std::vector<std::string>& nodes, PortOf port_of)
    : context_(context), port_of_(std::move(port_of)) {
  for (const std::string& dialler : nodes) {
    for (const std::string& dialled : nodes) {
      if (dialler == dialled) continue;
      auto& acceptor = acceptors_[{dialler, dialled}] =
          std::make_unique<tcp::acceptor>(context, Loopback(0));
      acceptor->set_option(
          asio::socket_base::receive_buffer_size(kSocketBytes));  // of what it accepts
      Accept({dialler, dialled});
    }
  }
}

std::uint16_t Proxy::PortFor(const std::string& dialler, const std::string& dialled) const {
  const auto found = acceptors_.find({dialler, dialled});
  return found == acceptors_.end() ? std::uint16_t{0} : found->second->local_endpoint().port();
}

void Proxy::Accept(const Direction& direction) {
  acceptors_.at(direction)->async_accept(
      [this, direction](const asio::error_code& error, tcp::socket socket) {
        if (error) return;
        const auto wire = std::make_shared<Wire>(*this, direction, std::move(socket));
        std::erase_if(wires_, [](const auto& known) { return known.expired(); });
        wires_.push_back(wire);
        wire->Start();
        Accept(direction);
      });
}

int Proxy::CutAll(const Pair& pair, Cut cut) {
  int cut_wires = 0;
  for (const auto& known : wires_) {
    const auto wire = known.lock();
    if (wire != nullptr && wire->pair() == pair && wire->CutIt(cut)) ++cut_wires;
  }
  return cut_wires;
}

}  // namespace ergon::chaos
