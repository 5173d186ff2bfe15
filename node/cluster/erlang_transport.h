// The way to the nodes of an Erlang cluster: puts the classes together that send, receive and connect.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <ergon/gen/wire_types.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/listening.h>
#include <ergon/node/cluster/connection/peer_failures.h>
#include <ergon/node/cluster/connection/registration.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/tasks.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/groups/group_timer.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/inbound/signal_receiver.h>
#include <ergon/node/cluster/outbound/answer_sender.h>
#include <ergon/node/cluster/outbound/connection_down.h>
#include <ergon/node/cluster/outbound/link_sender.h>
#include <ergon/node/cluster/outbound/message_sender.h>
#include <ergon/node/cluster/outbound/request_sender.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/runtime/transport_factory.h>

namespace ergon::dist {

// Signals are made and queued by the threads that send; one thread of its own reads, writes and delivers.
class ErlangTransport final : public node::Transport {
 public:
  // Throws std::invalid_argument, as Values, and std::system_error.
  ErlangTransport(const node::TransportFactory::Needs& needs, Settings settings,
                  const gen::WireTypes& types);
  ~ErlangTransport() override;

  // Listens, and registers at EPMD. Returns kIncorrect if a frame may be too small to tell peers of all packed types.
  gen::Result<void> Open();
  void Close() override;
  // Sets the function that PrepareChange calls. Before Open.
  using Preparation =
      std::function<gen::Result<std::function<void()>>(const std::vector<gen::NetworkOption>&)>;
  void SetPreparation(Preparation prepare) { prepare_ = std::move(prepare); }
  [[nodiscard]] gen::Result<std::function<void()>> PrepareChange(
      const std::vector<gen::NetworkOption>& options) override {
    return prepare_(options);
  }
  [[nodiscard]] gen::Result<void> CheckName(const gen::ProcessID& name) const override;
  [[nodiscard]] std::vector<std::string> Describe() const override {
    return connections_.Describe();
  }
  // Takes over the settings that may change while the node runs: a new cookie and new certificates are for connections
  // that are made from now on.
  void TakeOver(const Settings& fresh);

  gen::Result<void> Deliver(gen::PID remote, core::EnvelopePtr& envelope) override;
  gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message, gen::PID local,
                                  std::uint64_t id) override {
    return messages_.SendImportant(remote, message, local, id);
  }
  void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) override {
    messages_.AwaitRoom(node, local, id);
  }
  gen::Result<void> Respond(gen::PID remote, std::uint64_t ref,
                            core::EnvelopePtr response) override {
    return answers_.Respond(remote, ref, std::move(response));
  }
  [[nodiscard]] bool IsAwaited(gen::PID remote, std::uint64_t ref) const override {
    return answers_.IsAwaited(remote, ref);
  }
  void Link(gen::PID local, gen::PID remote) override { links_.Link(local, remote); }
  void Unlink(gen::PID local, gen::PID remote) override { links_.Unlink(local, remote); }
  void Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) override {
    links_.Exit(local, remote, reason);
  }
  gen::Result<void> LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) override {
    return links_.LinkByName(local, remote, ref);
  }
  void ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                  const gen::Reason& reason) override {
    links_.ExitByName(local, remote, ref, reason);
  }
  void EndLinkOf(gen::PID maker, gen::Ref ref) override { links_.EndLinkOf(maker, ref); }
  gen::Result<void> ExitRequest(gen::PID local, gen::PID remote, const gen::Reason& reason,
                                gen::TraceId trace) override {
    return links_.ExitRequest(local, remote, reason, trace);
  }
  void Monitor(gen::PID local, gen::PID remote, gen::Ref ref) override {
    links_.Monitor(local, remote, ref);
  }
  void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) override {
    links_.Demonitor(local, remote, ref);
  }

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Connections& connections() const noexcept { return connections_; }
  // Returns false if there is no connection with that node. Any thread.
  bool Disconnect(gen::Atom node);

 private:
  [[nodiscard]] Connection::Listener MakeListener();
  [[nodiscard]] ProcessGroups::Needs GroupNeeds();
  [[nodiscard]] ConnectionDown::Needs DownNeeds();
  // Connects to the peer of a new connection.
  void DialPeer(const std::shared_ptr<Connection>& connection);
  void Receive(Connection& connection, const Signal& signal);
  // What this node packs, as it is told: one frame.
  [[nodiscard]] std::string Packs() const;
  [[nodiscard]] gen::Result<void> CheckPacks() const;
  // Tells a peer that has the flag.
  void TellPacks(Connection& connection);
  // Sends a signal if there is a connection, but makes no connection.
  void SendIfThere(gen::Atom node, const Signal& signal);

  const node::TransportFactory::Needs needs_;
  Settings settings_;
  Preparation prepare_;
  const Values values_;
  TraceTokens traces_;
  asio::io_context context_{1};
  Tasks tasks_{context_};
  Connection::Listener listener_;
  Connections connections_;
  MessageSender messages_;
  RequestSender requests_;
  AnswerSender answers_;
  LinkSender links_;
  ProcessGroups groups_;
  GroupTimer group_timer_;
  RemoteCode code_;
  FalseClaims claims_;
  RemoteEvents events_;
  SignalReceiver receiver_;
  PeerFailures failures_;
  ConnectionDown down_;
  Listening listening_;
  Registration registration_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::future<void> ended_;  // the thread
};

}  // namespace ergon::dist
