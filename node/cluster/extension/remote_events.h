// Events across Ergon nodes: subscriptions of processes of this node to events of others, and the other way round.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/events/event_transport.h>
#include <ergon/node/events/publishing.h>

namespace ergon::dist {

// Each value is sent to each subscriber separately. When a connection ends, its subscribers are told as if the event had
// ended, and the node of the producer ends their subscriptions.
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
  explicit RemoteEvents(const Needs& needs) : needs_(needs) {}

  gen::Result<void> Subscribe(gen::PID local, const gen::Event& event,
                              node::OneSubscription how) override;
  void Unsubscribe(gen::PID local, const gen::Event& event, node::OneSubscription how) override;
  [[nodiscard]] gen::Result<std::string> Encode(const core::Envelope& value) const override;
  gen::Result<void> SendValue(gen::PID remote, gen::PID from, const gen::MessageEvent& value,
                              std::string_view encoded) override;
  void TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, node::OneSubscription how,
               const gen::Reason& reason) override;

  // -- the thread of the network --
  // Handles kSubscribe. Appends the values that were missed, as a term; an error is the answer.
  gen::Result<void> HandleSubscribe(Connection& connection, const ErgonMessage& message,
                                    gen::PID from, std::string& missed);
  void HandleUnsubscribe(Connection& connection, const ErgonMessage& message, gen::PID from);
  void HandleValue(Connection& connection, const ErgonMessage& message, gen::PID from,
                   gen::TraceId trace);
  void HandleEnd(Connection& connection, const ErgonMessage& message, gen::PID from);
  // Gives the values that were missed to the process that has asked with the number `number`.
  void HandleMissed(const PeerState::Call& question, std::uint64_t number, std::string_view missed);
  // The connection is down.
  void Lost(gen::Atom node, const PeerState& relations);

 private:
  // Returns what the receiver of a value has subscribed to, or nothing if the value is for another subscription: the
  // receiver may have ended that one, and subscribed anew, before the other node knew.
  [[nodiscard]] static node::Subscription ReceiverOf(const ErgonMessage& value, gen::Atom event,
                                                     Connection& connection);
  // Ends all subscriptions of the receiver of a value.
  void EndAll(Connection& connection, const ErgonMessage& value, const gen::Event& event,
              const gen::Error& why);
  gen::Result<gen::MessageEvent> ReadValue(const gen::Event& event, std::int64_t time,
                                           std::string_view term, gen::TraceId trace) const;
  // Of values that were missed: their trace tokens, an empty list for each that has none; nothing if all have none. It is the
  // tail of the list of values, for nodes of earlier versions do not look at that.
  void AppendTokens(std::string& missed, const std::vector<gen::MessageEvent>& values) const;
  // Reads that tail: a trace id for each of `traces`. False: it is none.
  [[nodiscard]] bool ReadTokens(std::string_view tail, std::vector<gen::TraceId>& traces) const;
  // Reads what AppendTokens is the tail of. The error is for who has asked.
  [[nodiscard]] gen::Result<std::vector<gen::MessageEvent>> ReadMissed(
      const gen::Event& event, std::string_view missed) const;

  [[nodiscard]] gen::Error BufferTooLarge(gen::Atom event) const;
  // Checks the size of a value for another node, with what else is in its frame.
  [[nodiscard]] gen::Result<void> CheckBytes(std::size_t bytes) const;

  const Needs needs_;
  // With this lock a value is put into a mailbox before the end of its subscription, or not at all.
  std::mutex delivering_;
  gen::LogLimit unfit_lines_;  // the thread of the network
};

}  // namespace ergon::dist
