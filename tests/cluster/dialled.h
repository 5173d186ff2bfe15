// Nodes that nobody can dial, or who mean harm, and to whom somebody at the attacked node sends all the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/attackers.h>
#include <cluster/fake_epmd.h>
#include <cluster/hostile_socket.h>
#include <cluster/terms.h>
#include <cluster/victim.h>

namespace ergon::dist {

// Their EPMD says what Answer returns. The attacked node has the process kLured, see victim.h.
class Dialled {
 public:
  // `host`: of these nodes, an address of this computer.
  explicit Dialled(std::string host)
      : host_(std::move(host)), thief_(context_, {asio::ip::make_address(host_), 0}) {
    thief_.non_blocking(true);
  }
  ~Dialled() { Stop(); }
  Dialled(const Dialled&) = delete;
  Dialled& operator=(const Dialled&) = delete;

  void Start(AttackedNode node) {
    node_ = std::move(node);
    for (const auto run : {&Dialled::Lure, &Dialled::Reflect, &Dialled::Come}) {
      threads_.emplace_back([this, run] {
        for (; !stop_; std::this_thread::sleep_for(node_.pause)) (this->*run)();
      });
    }
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    lure_.reset();
  }
  // To the question where a node is; none: silence. Any thread.
  std::optional<std::string> Answer(std::string_view request) {
    const std::string_view alive = FakeEpmd::AskedFor(request);
    if (alive.starts_with("silent")) {
      ++silences_;
      return std::nullopt;
    }
    if (alive == "thief") return FakeEpmd::Found(alive, port_of_thief_);
    return std::string("\x77\1", 2);  // it does not know it
  }

  // How often the one that has succeeded least has gone all the way.
  [[nodiscard]] std::uint64_t Rounds() const {
    return std::min({lured_.load(), reflected_.load(), came_.load(), silences_.load()});
  }
  // How often the challenge of the node, handed back, has been answered: never.
  [[nodiscard]] std::uint64_t LetIn() const { return let_in_; }
  // As in "lured 12, reflected 3".
  [[nodiscard]] std::string ToString() const {
    const auto text = [](const char* name, const std::atomic<std::uint64_t>& count) {
      return std::string(name) + " " + std::to_string(count);
    };
    return text("lured", lured_) + ", " + text("reflected", reflected_) + ", " +
           text("came", came_) + ", " + text("silent", silences_);
  }

 private:
  static constexpr std::uint32_t kCreation = 77;

  // Makes somebody there send to each of them. It knows the cookie.
  void Lure() {
    const std::string name = "lure@127.0.0.1";
    if (lure_ == nullptr || lure_->IsClosedByPeer()) {
      lure_ = std::make_unique<HostileSocket>(node_.port(), stop_);
      if (!lure_->IsOpen() || !lure_->ShakeHands(name, node_.name, node_.cookie)) {
        lure_.reset();
        return;
      }
    }
    std::string frames;
    for (const char* alive : {"silent1", "silent2", "silent3", "thief", "aaa", "zzz"}) {
      std::string word;
      TermWriter(word).Atom(alive + ("@" + host_));
      AppendFrame(frames,
                  {.kind = SignalKind::kSendToName,
                   .from = {6, gen::Atom(name), kCreation},
                   .name = kLured,
                   .payload = word},
                  kOwnFlags & ~kFlagErgon);
    }
    if (lure_->Write(frames)) ++lured_;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // what waits for them stays small
  }
  // Hands back the challenge of the node that dials: the one that it has issued to another one.
  void Reflect() {
    bool has_said = false;
    try {
      asio::error_code none;
      asio::ip::tcp::socket probe(context_);
      thief_.accept(probe, none);
      if (none) return;
      HostileSocket here(node_.port(), stop_);
      std::string challenge;
      if (!here.AskForChallenge("thief@127.0.0.1", challenge)) return;
      const std::string name = "thief@" + host_;
      const auto packet = [](const std::string& text) {
        return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} +
               text;
      };
      probe.non_blocking(false);
      char ignored[512];
      (void)probe.read_some(asio::buffer(ignored));
      asio::write(probe, asio::buffer(packet("sok") + packet("N" + terms::Big(kOwnFlags, 8) +
                                                             challenge + terms::Big(77, 4) +
                                                             terms::Big(name.size(), 2) + name)));
      has_said = true;
      const std::size_t bytes = probe.read_some(asio::buffer(ignored), none);
      ++(bytes == 0 ? reflected_ : let_in_);
    } catch (const std::exception&) {  // the node has closed one of them
      if (has_said) ++reflected_;
    }
  }
  // Those whom no EPMD knows begin to come, and break off.
  void Come() {
    for (const char* alive : {"aaa@", "zzz@"}) {
      HostileSocket socket(node_.port(), stop_);
      std::string ignored;
      if (socket.AskForChallenge(alive + host_, ignored)) ++came_;
    }
  }

  const std::string host_;
  asio::io_context context_;
  asio::ip::tcp::acceptor thief_;
  const std::uint16_t port_of_thief_ = thief_.local_endpoint().port();
  AttackedNode node_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<HostileSocket> lure_;  // of the thread that lures
  std::atomic<std::uint64_t> lured_{0};
  std::atomic<std::uint64_t> reflected_{0};
  std::atomic<std::uint64_t> let_in_{0};
  std::atomic<std::uint64_t> came_{0};
  std::atomic<std::uint64_t> silences_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ergon::dist
