// The way to the nodes of an Erlang cluster: what goes there.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/gen/wire_types.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/listening.h>
#include <ergon/node/cluster/connection/peer_failures.h>
#include <ergon/node/cluster/connection/registration.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/tasks.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/exports/term_request.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/inbound/signal_receiver.h>
#include <ergon/node/cluster/outbound/border_maker.h>
#include <ergon/node/cluster/values/values.h>

namespace ergon::dist {

// Signals are made and queued by the threads that send; one thread of its own reads, writes and delivers.
class ErlangBorder final : public node::OpenBorder {
 public:
  // Throws std::invalid_argument, as Values, and std::system_error.
  ErlangBorder(const node::BorderMaker::Needs& needs, Settings settings,
               const gen::WireTypes& types);
  ~ErlangBorder() override;

  // Listens, and registers at EPMD.
  gen::Result<void> Open();
  void Close() override;

  gen::Result<void> Deliver(gen::PID remote, core::EnvelopePtr& envelope) override;
  gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message, gen::PID local,
                                  std::uint64_t id) override;
  void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) override;
  gen::Result<void> Respond(gen::PID remote, std::uint64_t ref,
                            core::EnvelopePtr response) override;
  [[nodiscard]] bool IsAwaited(gen::PID remote, std::uint64_t ref) const override;
  void Link(gen::PID local, gen::PID remote) override;
  void Unlink(gen::PID local, gen::PID remote) override;
  void Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) override;
  gen::Result<void> LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) override;
  void ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                  const gen::Reason& reason) override;
  void EndLinkOf(gen::PID maker, gen::Ref ref) override;
  gen::Result<void> ExitRequest(gen::PID local, gen::PID remote,
                                const gen::Reason& reason) override;
  void Monitor(gen::PID local, gen::PID remote, gen::Ref ref) override;
  void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) override;

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const Connections& connections() const noexcept { return connections_; }
  // False: there is no connection with that node. Any thread.
  bool Disconnect(gen::Atom node);

 private:
  gen::Result<void> SendMessage(gen::PID remote, const core::Envelope& envelope);
  // These are for SendInForm.
  gen::Result<void> SendMessageIn(Form tried, Form& form, gen::PID remote,
                                  const core::Envelope& envelope, const Values::Writer& how);
  // Without `how` the request is a TermRequest.
  gen::Result<void> SendRequestIn(Form tried, Form& form, gen::PID remote,
                                  const core::Envelope& request, const Values::Writer* how);
  // Calls send(tried, form) with the form that a value is to be written in, again if the peer takes another one, which that
  // finds out with the lock of the connection (TakeForm).
  template <class Send>
  gen::Result<void> SendInForm(const Values::Writer& how, gen::Atom node, Send send);
  [[nodiscard]] static gen::Result<void> TakeForm(Form& form, const Values::Writer& how,
                                                  Connection& connection);
  [[nodiscard]] static gen::Result<Form> FormFor(const Values::Writer& how, Connection& connection);
  // Sends a question that only Ergon nodes understand; the answer goes to its `local`, with the number `id`.
  gen::Result<void> Ask(gen::PID remote, const PeerState::Call& question, std::uint64_t id,
                        gen::PID from, std::string_view payload);
  gen::Result<void> SendInspection(gen::PID remote, const core::Envelope& request);
  gen::Result<void> SendRequest(gen::PID remote, const core::Envelope& request);
  gen::Result<void> SendSpawn(gen::PID remote, const core::Envelope& request,
                              const RemoteSpawn& spawn);
  gen::Result<void> TellDown(gen::PID remote, const core::Envelope& notice);
  // Tells a peer that has the flag what this node packs.
  void TellPacks(Connection& connection);
  // The requests of ours whose callers wait no more.
  void ForgetCalls(Connection& connection);
  void Down(Connection& connection, Connection::Rest rest);
  void LogDown(gen::Atom node, const Connection::Rest& rest);
  void TellRoom(const std::vector<Connection::RoomWaiter>& waiters);
  // For those whose connection is what they are about.
  void SendIfThere(gen::Atom node, const Signal& signal);
  // Asks for the groups of other nodes after a while, and again and again, less and less often.
  void AskForGroupsAfter(std::chrono::nanoseconds delay);
  // Of the frame of a message, see CheckFrame.
  [[nodiscard]] gen::Result<void> CheckSize(std::string_view frame, gen::PID remote) const;
  [[nodiscard]] std::string Reference(std::uint64_t id) const;

  const node::BorderMaker::Needs needs_;
  const Settings settings_;
  const Values values_;
  asio::io_context context_{1};
  Tasks tasks_{context_};
  Challenges challenges_;
  Connection::Listener listener_;
  Connections connections_;
  ProcessGroups groups_;
  asio::steady_timer asking_{context_};
  bool is_asking_ = false;
  RemoteCode code_;
  FalseClaims claims_;
  RemoteEvents events_;
  SignalReceiver receiver_;
  Listening listening_;
  Registration registration_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  PeerFailures failures_;
  std::thread thread_;
  std::future<void> ended_;  // the thread
};

}  // namespace ergon::dist
