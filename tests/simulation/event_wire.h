// The way between the nodes of one simulation, for events only.
//
// The classes that speak for events are the real ones, over sockets whose other end is in the same thread: what has
// come is handled one piece at a time, when the test calls the context.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/extension/ergon_message_receiver.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/runtime/transport_factory.h>

namespace ergon::testkit {

// The values of the events.
struct Number {
  static constexpr const char* kTag = "number";
  int value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

class EventsOnly;

// What lies between the nodes of one simulation.
struct Wire {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::map<gen::Atom, EventsOnly*> ends;
  std::function<void(gen::PID subscriber)> subscribes;  // its question is about to be handled
};

inline gen::Error NotHere() { return {gen::ErrorCode::kUnsupported, "events only"}; }

// The way to other nodes, for events only.
class EventsOnly final : public node::Transport {
 public:
  EventsOnly(const node::TransportFactory::Needs& needs, Wire& wire)
      : needs_(needs),
        wire_(wire),
        settings_(SettingsOf(needs.addresses)),
        values_(gen::WireTypes().Register<Number>()),
        tasks_(wire.context),
        listener_(MakeListener()),
        connections_(wire.context, tasks_, settings_, listener_,
                     [this](std::shared_ptr<dist::Connection> connection) {
                       asio::post(wire_.context, [this, connection = std::move(connection)] {
                         Dial(*connection);
                       });
                     }),
        claims_(needs.log),
        events_({.addresses = needs.addresses,
                 .delivery = needs.delivery,
                 .publishing = needs.publishing,
                 .totals = needs.totals,
                 .log = needs.log,
                 .settings = settings_,
                 .values = values_,
                 .traces = traces_,
                 .connections = connections_}),
        receiver_({.addresses = needs.addresses,
                   .delivery = needs.delivery,
                   .relations = needs.relations,
                   .totals = needs.totals,
                   .log = needs.log,
                   .settings = settings_,
                   .values = values_,
                   .events = events_,
                   .claims = claims_}) {
    wire.ends[settings_.node] = this;
    needs.addresses.SetTransport(this);
    needs.publishing.SetTransport(&events_);
  }
  ~EventsOnly() override { Close(); }

  void Close() override {
    wire_.ends.erase(settings_.node);
    connections_.Close();
    for (const auto& connection : connections_.All()) connection->Fail("the node is stopping");
    tasks_.Cancel();
    while (wire_.context.poll() != 0) continue;
  }
  void Cut() {
    for (const auto& connection : connections_.All()) connection->Fail("cut");
  }

  [[nodiscard]] gen::Result<void> CheckName(const gen::ProcessID&) const override { return {}; }
  [[nodiscard]] std::vector<std::string> Describe() const override { return {}; }
  [[nodiscard]] gen::Result<std::function<void()>> PrepareChange(
      const std::vector<gen::NetworkOption>&) override {
    return NotHere();
  }
  gen::Result<void> Deliver(gen::PID, core::EnvelopePtr&) override { return NotHere(); }
  gen::Result<void> SendImportant(gen::PID, const core::Envelope&, gen::PID,
                                  std::uint64_t) override {
    return NotHere();
  }
  void AwaitRoom(gen::Atom, gen::PID, std::uint64_t) override {}
  gen::Result<void> Respond(gen::PID, std::uint64_t, core::EnvelopePtr) override {
    return gen::ErrResponseIgnored;
  }
  [[nodiscard]] bool IsAwaited(gen::PID, std::uint64_t) const override { return false; }
  void Link(gen::PID, gen::PID) override {}
  void Unlink(gen::PID, gen::PID) override {}
  void Exit(gen::PID, gen::PID, const gen::Reason&) override {}
  gen::Result<void> LinkByName(gen::PID, gen::PID, gen::Ref) override { return NotHere(); }
  void ExitByName(gen::PID, gen::PID, gen::Ref, const gen::Reason&) override {}
  void EndLinkOf(gen::PID, gen::Ref) override {}
  gen::Result<void> ExitRequest(gen::PID, gen::PID, const gen::Reason&, gen::TraceId) override {
    return NotHere();
  }
  void Monitor(gen::PID, gen::PID, gen::Ref) override {}
  void Demonitor(gen::PID, gen::PID, gen::Ref) override {}

 private:
  static dist::Settings SettingsOf(const node::Addresses& addresses) {
    dist::Settings settings;
    settings.node = addresses.node();
    settings.creation = addresses.NodePid().creation;
    settings.tick_time = std::chrono::hours(1);
    settings.max_frame_bytes = 1 << 20;
    settings.max_term_depth = 64;
    settings.send_queue_bytes = 1 << 20;
    return settings;
  }
  dist::Connection::Listener MakeListener() {
    return {.up = [](dist::Connection&) {},
            .arrived = [this](dist::Connection& connection,
                              const dist::Signal& signal) { Receive(connection, signal); },
            .has_room = [](dist::Connection&, const std::vector<dist::RoomWaiter>&) {},
            .idle = [](dist::Connection&) {},
            .down = [this](dist::Connection& connection,
                           const dist::ConnectionRest& rest) { Lose(connection, rest); }};
  }
  void Receive(dist::Connection& connection, const dist::Signal& signal) {
    if (signal.kind == dist::SignalKind::kSendToName) {
      const auto message = dist::ReadErgonMessage(signal.payload, settings_.node, 64);
      REQUIRE(message);
      if (message->kind == dist::ErgonMessage::Kind::kSubscribe) wire_.subscribes(signal.from);
      receiver_.Handle(connection, signal);
      return;
    }
    REQUIRE(signal.kind == dist::SignalKind::kSendToAlias);
    const auto number = dist::OwnNumberIn(signal.ref, settings_.node, settings_.creation);
    REQUIRE(number);
    dist::ControlReader reader(signal.payload, 64);
    std::size_t size = 0;
    std::string_view tag;
    REQUIRE((reader.ReadTuple(size) && size == 2 && reader.ReadTerm(tag)));
    const dist::PeerState::Call call =
        connection.Lock()->peer_state().calls.extract(*number).mapped();
    receiver_.HandleAnswer(connection, call, *number, reader.rest());
  }
  void Lose(dist::Connection& connection, const dist::ConnectionRest& rest) {
    connections_.Remove(connection);
    if (rest.unsent != 0) {
      needs_.totals.lost_with_connections.Add(rest.unsent);
      needs_.drops.NoteLostConnection(rest.unsent);
    }
    for (const auto& [number, call] : rest.peer_state.calls) {
      needs_.delivery.RespondError(call.local, number, gen::ErrNoConnection);
    }
    events_.Lost(connection.peer(), rest.peer_state);
  }
  [[nodiscard]] dist::HandshakePeer AsPeer() const {
    return {.name = settings_.node.ToString(),
            .creation = settings_.creation,
            .flags = dist::kOwnFlags & ~dist::kFlagPacks};
  }
  [[nodiscard]] std::shared_ptr<dist::Stream> StreamOf(int descriptor) {
    asio::ip::tcp::socket socket(wire_.context);
    socket.assign(asio::ip::tcp::v4(), descriptor);
    return std::make_shared<dist::Stream>(std::move(socket), tasks_);
  }
  void Dial(dist::Connection& connection) {
    const auto other = wire_.ends.find(connection.peer());
    const auto claimed =
        other == wire_.ends.end() ? std::nullopt : other->second->connections_.Claim(AsPeer());
    if (!claimed) {
      connections_.FailToDial(connection, "nobody is there");
      return;
    }
    int ends[2] = {};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    EventsOnly& there = *other->second;
    there.connections_.Attach(there.StreamOf(ends[0]), AsPeer(), *claimed);
    connections_.AttachDialled(connection, StreamOf(ends[1]), there.AsPeer());
  }

  const node::TransportFactory::Needs needs_;
  Wire& wire_;
  const dist::Settings settings_;
  const dist::Values values_;
  dist::TraceTokens traces_;
  dist::Tasks tasks_;
  const dist::Connection::Listener listener_;
  dist::Connections connections_;
  dist::FalseClaims claims_;
  dist::RemoteEvents events_;
  dist::ErgonMessageReceiver receiver_;
};

class WireNetwork final : public node::TransportFactory {
 public:
  explicit WireNetwork(Wire& wire) : wire_(wire) {}
  [[nodiscard]] gen::Result<std::unique_ptr<node::Transport>> Open(
      const Needs& needs, const gen::WireTypes&,
      const std::vector<gen::NetworkOption>&) const override {
    return std::unique_ptr<node::Transport>(std::make_unique<EventsOnly>(needs, wire_));
  }

 private:
  Wire& wire_;
};

}  // namespace ergon::testkit
