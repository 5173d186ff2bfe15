// A node of Erlang, as far as its signals go: a test says what it sends, and in which order.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/client.h>
#include <cluster/cluster.h>

namespace ergon::dist {

class ErlangPeer {
 public:
  // Connects with `node`, which listens at `port`. With kFlagErgon it says to be a node of Ergon.
  ErlangPeer(node::Node& node, const std::string& name, std::uint16_t port,
             std::uint64_t flags = kOwnFlags & ~kFlagErgon)
      : node_(&node), name_(name), client_(port) {
    REQUIRE(client_.ShakeHands(name, std::string(node.Name().Text()), flags));
    REQUIRE(kit::Eventually([&] { return IsConnected(); }));
  }

  [[nodiscard]] gen::PID Pid(std::uint64_t id) const { return {id, name_, kCreation}; }
  [[nodiscard]] std::string Reference(std::uint64_t id) const {
    std::string term;
    AppendReference(term, id, name_, kCreation);
    return term;
  }
  [[nodiscard]] bool IsConnected() const {
    for (const gen::Atom other : Nodes(*node_)) {
      if (other == name_) return true;
    }
    return false;
  }

  // What is sent with the next Flush, in that order.
  ErlangPeer& Add(const Signal& signal) {
    AppendFrame(frames_, signal, kOwnFlags & ~kFlagErgon);
    return *this;
  }
  ErlangPeer& Monitor(std::uint64_t from, std::string_view name, std::uint64_t reference) {
    return AddMonitor(SignalKind::kMonitor, from, name, reference);
  }
  ErlangPeer& Demonitor(std::uint64_t from, std::string_view name, std::uint64_t reference) {
    return AddMonitor(SignalKind::kDemonitor, from, name, reference);
  }
  // {line, Number, <<>>}
  ErlangPeer& SendLine(std::uint64_t from, gen::PID to, int number) {
    return SendLine(Pid(from), to, number);
  }
  ErlangPeer& SendLine(gen::PID from, gen::PID to, int number) {
    std::string payload;
    AppendLine(payload, number);
    return Add({.kind = SignalKind::kSend, .from = from, .to = to, .payload = payload});
  }
  // As gen_server:call does it behind a monitor with that reference.
  ErlangPeer& CallWithLine(std::uint64_t from, std::string_view name, std::uint64_t reference,
                           int number) {
    std::string payload;
    TermWriter writer(payload);
    writer.Tuple(3);
    writer.Atom("$gen_call");
    writer.Tuple(2);
    writer.Pid(Pid(from));
    writer.List(1);
    writer.Atom("alias");
    writer.Raw(Reference(reference));
    AppendLine(payload, number);
    return Add(
        {.kind = SignalKind::kSendToName, .from = Pid(from), .name = name, .payload = payload});
  }
  // With `kind` kDown or kExit; the reason is normal.
  ErlangPeer& AddEnd(SignalKind kind, std::uint64_t from, gen::PID to,
                     std::string_view reference = {}) {
    std::string reason;
    AppendReason(reason, gen::Reason::Normal());
    return Add({.kind = kind, .from = Pid(from), .to = to, .ref = reference, .payload = reason});
  }
  void Flush() { client_.Write(std::exchange(frames_, {})); }
  // All that was sent has been taken: a message behind it is handled.
  void FlushAndWait() {
    std::promise<bool> handled;
    auto* const told = &handled;
    const gen::PID pid = node_
                             ->Spawn([told](gen::Process& self) {
                               told->set_value(self.Receive<Line>(1min).has_value());
                             })
                             .value();
    SendLine(1'000'000, pid, 0);
    Flush();
    REQUIRE(handled.get_future().get());
  }

  // The next signal of that kind which the node sends. It is valid as long as this.
  [[nodiscard]] Signal Await(SignalKind kind) {
    for (;;) {
      const Signal signal = AwaitAny();
      if (signal.kind == kind) return signal;
    }
  }
  [[nodiscard]] Signal AwaitAny() {
    const Peers peers{gen::Atom(name_), node_->Name()};
    for (;;) {
      while (unread_.size() < 4 || unread_.size() - 4 < NextSize()) unread_ += client_.Read();
      read_.push_back(unread_.substr(4, NextSize()));
      unread_.erase(0, 4 + NextSize());
      if (read_.back().empty()) {
        ++ticks_;
        continue;
      }
      if (const auto signal = ParseFrame(read_.back(), peers, 100)) return *signal;
    }
  }
  // Says that it is still there.
  void Tick() { client_.Write(std::string(4, '\0')); }
  // So many ticks of the node Await has passed over.
  [[nodiscard]] int ticks() const noexcept { return ticks_; }
  void Close() { client_.Close(); }
  [[nodiscard]] bool IsClosed() { return client_.IsClosed(); }

 private:
  static constexpr std::uint32_t kCreation = 77;

  ErlangPeer& AddMonitor(SignalKind kind, std::uint64_t from, std::string_view name,
                         std::uint64_t reference) {
    const std::string term = Reference(reference);
    return Add({.kind = kind, .from = Pid(from), .name = name, .ref = term});
  }
  static void AppendLine(std::string& out, int number) {
    TermWriter writer(out);
    writer.Tuple(3);
    writer.Atom("line");
    writer.Integer(number);
    writer.Binary({});
  }
  [[nodiscard]] std::size_t NextSize() const {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(unread_[i]);
    return size;
  }

  node::Node* node_;
  const gen::Atom name_;
  Client client_;
  std::string frames_;
  std::string unread_;
  std::deque<std::string> read_;
  int ticks_ = 0;
};

// A node for such peers.
class NodeForPeers {
 public:
  explicit NodeForPeers(const std::string& name,
                        std::chrono::nanoseconds tick_time = ClusterOptions().tick_time)
      : network_(WithPort(tick_time)), node(Cluster::Start(name + "@127.0.0.1", log, network_)) {}
  ~NodeForPeers() {
    node.Stop();
    kit::CheckBalance(node);
  }
  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(network_.listen_port);
  }

 private:
  static ErlangOptions WithPort(std::chrono::nanoseconds tick_time) {
    ErlangOptions options = ClusterOptions();
    options.tick_time = tick_time;
    options.listen_port = FreePort();
    return options;
  }

 public:
  kit::LogCapture log;

 private:
  const ErlangOptions network_;

 public:
  node::Node node;
};

}  // namespace ergon::dist
