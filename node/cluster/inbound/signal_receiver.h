// What comes from other nodes: each signal goes to the class that handles its kind.
#pragma once

#include <span>
#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/extension/ergon_message_receiver.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/inbound/answer_receiver.h>
#include <ergon/node/cluster/inbound/link_receiver.h>
#include <ergon/node/cluster/inbound/message_receiver.h>
#include <ergon/node/cluster/inbound/message_target.h>
#include <ergon/node/cluster/inbound/request_receiver.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class SignalReceiver {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    node::ExitSignals& exit_signals;
    node::MessageTotals& totals;
    gen::LogSink& log;
    const Settings& settings;
    const Values& values;
    ProcessGroups& groups;
    RemoteCode& code;
    RemoteEvents& events;
    FalseClaims& claims;
  };
  explicit SignalReceiver(const Needs& needs);

  void Handle(Connection& connection, const Signal& signal);
  // Handles messages without a token that are `signal` with each of these payloads.
  void HandleAlike(Connection& connection, const Signal& signal,
                   std::span<const std::string_view> payloads);
  // To be called when all that was read together has been handled.
  void Flush() { messages_.Flush(); }
  // ErgonMessageReceiver::RefuseQuestions.
  void RefuseQuestions(Connection& connection) { ergon_.RefuseQuestions(connection); }

 private:
  // A message to a process or a name, or in its form something else: a request, an answer, what nodes say of groups.
  void HandleMessage(Connection& connection, const Signal& signal, const MessageTarget& to);
  void HandleMessageToAlias(Connection& connection, const Signal& signal);
  // Returns the sender, or an empty PID if the peer, which does not run Ergon, speaks for a process of another node.
  [[nodiscard]] gen::PID SenderOf(Connection& connection, const Signal& signal);
  // Returns the sender of Signal::unknown_node, or an empty PID: there is no atom for its node.
  [[nodiscard]] gen::PID SenderOfUnknown(const Connection& connection, const Signal& signal) const;
  [[nodiscard]] MessageTarget FindName(std::string_view name) const;

  const Needs needs_;
  MessageReceiver messages_;
  RequestReceiver requests_;
  ErgonMessageReceiver ergon_;
  AnswerReceiver answers_;
  LinkReceiver links_;
};

}  // namespace ergon::dist
