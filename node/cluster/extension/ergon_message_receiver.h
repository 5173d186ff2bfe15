// Handles what only Ergon nodes tell each other, beyond the protocol of Erlang, and answers it.
#pragma once

#include <cstdint>
#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/extension/remote_inspections.h>
#include <ergon/node/cluster/extension/remote_named_links.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class ErgonMessageReceiver {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    node::MessageTotals& totals;
    gen::LogSink& log;
    const Settings& settings;
    const Values& values;
    RemoteEvents& events;
    FalseClaims& claims;
  };
  explicit ErgonMessageReceiver(const Needs& needs)
      : needs_(needs),
        inspections_(needs.addresses, needs.delivery, needs.values),
        links_(needs.addresses, needs.relations, needs.values.atoms()) {}

  // A message to kErgonName.
  void Handle(Connection& connection, const Signal& signal);
  // Handles the answer, a term, to the question `number` of this node.
  void HandleAnswer(Connection& connection, const PeerState::Call& question, std::uint64_t number,
                    std::string_view answer);
  // Answers the questions that were sent before it was known that the peer does not run Ergon, and the spawns that were
  // before it was known that the peer starts no processes.
  void RefuseQuestions(Connection& connection);

 private:
  // Returns whether the sender may send that: only messages may come from a process of another node than the peer.
  bool IsBelieved(Connection& connection, const ErgonMessage& message, gen::PID from);

  // Returns kIncorrect, with the field, if the message does not fit its type; else the errors of gen::Messenger.
  gen::Result<void> DeliverImportant(const ErgonMessage& message, const Signal& signal);

  // Answers kRoom: how many messages wait in the mailbox of a process.
  void AnswerRoom(Connection& connection, const ErgonMessage& question);

  void HandlePacks(Connection& connection, const ErgonMessage& message);
  void HandleSubscribe(Connection& connection, const ErgonMessage& message, gen::PID from);

  // Returns the process that a message is about, or an empty PID if nobody has the name.
  [[nodiscard]] gen::PID TargetOf(const ErgonMessage& message) const;
  // Returns how it was addressed, see gen::Target::Tag.
  [[nodiscard]] std::uint64_t TagOf(const ErgonMessage& message) const;
  // Answers a question with a term; with ok or the error.
  void Answer(Connection& connection, std::string_view reference, std::string_view answer) const;
  void Answer(Connection& connection, std::string_view reference,
              const gen::Result<void>& outcome) const;

  const Needs needs_;
  RemoteInspections inspections_;
  RemoteNamedLinks links_;
  gen::LogLimit unread_lines_;
};

}  // namespace ergon::dist
