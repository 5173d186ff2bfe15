// Events across Ergon nodes: subscriptions of processes of this node to events of others, and the other way round.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/event.h>
#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/extension/missed_values.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/events/event_transport.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/process_state/cold.h>

namespace ergon::dist {

// Each value is sent to each subscriber separately (published_value.h). When a connection ends, its subscribers are
// told as if the event had ended, and the node of the producer ends their subscriptions.
class RemoteEvents final : public node::EventTransport {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Publishing& publishing;
    node::MessageTotals& totals;
    gen::LogSink& log;
    const Settings& settings;
    const Values& values;
    TraceTokens& traces;
    Connections& connections;
  };
  explicit RemoteEvents(const Needs& needs)
      : needs_(needs), missed_(needs.addresses, needs.settings, needs.values, needs.traces) {}

  gen::Result<void> Subscribe(gen::PID local, const gen::Event& event, node::OneSubscription how,
                              const std::shared_ptr<node::EventProgress>& progress,
                              bool may_wait) override;
  void Unsubscribe(gen::PID local, const gen::Event& event, node::OneSubscription how) override;
  [[nodiscard]] std::unique_ptr<node::ValueForNodes> ForNodes(
      const core::Envelope& value) const override;
  void TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, node::OneSubscription how,
               const gen::Reason& reason) override;

  // -- the thread of the network --
  void HandleMark(Connection& connection, const ErgonMessage& message, gen::PID from);
  // Handles kSubscribe. Appends the answer, a term; an error is an answer, too. Further signals for the subscriber are
  // held back until SendHeld is called, after the answer has been sent.
  gen::Result<void> HandleSubscribe(Connection& connection, const ErgonMessage& message,
                                    gen::PID from, std::string& answer);
  static void SendHeld(Connection& connection);
  void HandleUnsubscribe(Connection& connection, const ErgonMessage& message, gen::PID from);
  void HandleValue(Connection& connection, const ErgonMessage& message, gen::PID from,
                   gen::TraceId trace);
  void HandleEnd(Connection& connection, const ErgonMessage& message, gen::PID from);
  // Gives the values that were missed to the process whose question has the number `number`. Ends its subscription if
  // the answer is malformed.
  void HandleAnswer(Connection& connection, const PeerState::Call& question, std::uint64_t number,
                    std::string_view answer);
  // Notes that the answer is an error, so the process has not subscribed. The caller tells the process.
  static void HandleRefusal(Connection& connection, const PeerState::Call& question,
                            std::uint64_t number);
  // Notes that the connection is down.
  void Lost(gen::Atom node, const PeerState& peer);

 private:
  // Returns what the receiver of a value has subscribed to, or nothing if the value is for another subscription: the
  // receiver may have ended that one, and subscribed anew, before the other node knew.
  [[nodiscard]] static PeerState::Subscription ReceiverOf(const ErgonMessage& value,
                                                          gen::Atom event, Connection& connection);
  // Returns the progress of the process that has asked; null if it has given up. Completes the mark of the answer.
  [[nodiscard]] static std::shared_ptr<node::EventProgress> ProgressOf(
      Connection& connection, const PeerState::Call& question, std::uint64_t number,
      node::EventMark& mark);
  // Ends all subscriptions of the receiver of a value.
  void EndAll(Connection& connection, const ErgonMessage& value, const gen::Event& event,
              const gen::Error& why);
  const Needs needs_;
  const MissedValues missed_;
  // Because of this lock a value comes into a mailbox before its subscription ends, or not at all. It also guards the
  // EventProgress of all processes.
  std::mutex delivering_;
  gen::LogLimit unfit_lines_;  // the thread of the network
};

}  // namespace ergon::dist
