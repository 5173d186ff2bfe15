// A port mapper that answers as a test wants it to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

namespace ergon::dist {

class FakeEpmd {
 public:
  // What is said to a request, which is without its length; none: nothing. On a thread of this object's.
  using Answer = std::function<std::optional<std::string>(std::string_view request)>;

  static std::string Registered() { return std::string("\x76\0\0\0\0\1", 6); }
  static std::string Refused() { return std::string("\x76\1\0\0\0\1", 6); }
  // Where the node `alive` is.
  static std::string Found(std::string_view alive, std::uint16_t port) {
    std::string answer("\x77\0", 2);
    answer += static_cast<char>(port >> 8);
    answer += static_cast<char>(port & 0xff);
    answer += std::string("\x48\0\0\6\0\6\0", 7);
    answer += static_cast<char>(alive.size());
    return answer + std::string(alive) + std::string(2, '\0');
  }
  static bool IsRegistration(std::string_view request) { return request.starts_with('x'); }
  static std::string_view AskedFor(std::string_view request) { return request.substr(1); }

  explicit FakeEpmd(Answer answer,
                    const asio::ip::tcp::endpoint& at = {asio::ip::address_v4::loopback(), 0})
      : answer_(std::move(answer)), acceptor_(context_, at) {
    Accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~FakeEpmd() {
    context_.stop();
    thread_.join();
  }
  FakeEpmd(const FakeEpmd&) = delete;
  FakeEpmd& operator=(const FakeEpmd&) = delete;

  [[nodiscard]] int port() const { return port_; }
  // All that are open now.
  void CloseConnections() {
    asio::post(context_, [this] {
      for (const auto& peer : peers_) peer->socket.close();
      peers_.clear();
    });
  }

 private:
  struct Peer {
    explicit Peer(asio::io_context& context) : socket(context) {}
    asio::ip::tcp::socket socket;
    std::array<char, 2> length{};
    std::string request;
  };

  void Accept() {
    auto peer = std::make_shared<Peer>(context_);
    acceptor_.async_accept(peer->socket, [this, peer](const asio::error_code& error) {
      if (error) return;
      peers_.push_back(peer);
      ReadFrom(peer);
      Accept();
    });
  }
  void ReadFrom(const std::shared_ptr<Peer>& peer) {
    asio::async_read(peer->socket, asio::buffer(peer->length),
                     [this, peer](const asio::error_code& error, std::size_t) {
                       if (error) return;
                       peer->request.resize(static_cast<std::size_t>(
                           static_cast<unsigned char>(peer->length[0]) * 256 +
                           static_cast<unsigned char>(peer->length[1])));
                       asio::async_read(peer->socket, asio::buffer(peer->request),
                                        [this, peer](const asio::error_code& broken, std::size_t) {
                                          if (broken) return;
                                          const auto said = answer_(peer->request);
                                          asio::error_code ignored;
                                          if (said)
                                            asio::write(peer->socket, asio::buffer(*said), ignored);
                                          AwaitEnd(peer);
                                        });
                     });
  }
  void AwaitEnd(const std::shared_ptr<Peer>& peer) {
    asio::async_read(
        peer->socket, asio::buffer(peer->length),
        [this, peer](const asio::error_code&, std::size_t) { std::erase(peers_, peer); });
  }

  const Answer answer_;
  asio::io_context context_{1};
  asio::ip::tcp::acceptor acceptor_;
  const int port_ = acceptor_.local_endpoint().port();
  std::vector<std::shared_ptr<Peer>> peers_;
  std::thread thread_;
};

}  // namespace ergon::dist
