// Answers of other nodes to requests of this one, and to spawns.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/extension/ergon_message_receiver.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class AnswerReceiver {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    const Settings& settings;
    const Values& values;
    ErgonMessageReceiver& ergon;
  };
  explicit AnswerReceiver(const Needs& needs) : needs_(needs) {}

  // Handles {Tag, Answer}. Returns false if the tag is not one of a request of this node, or is a bare reference for
  // which nobody waits.
  bool Handle(Connection& connection, const Signal& signal);
  // Handles the answer to a spawn: the process, or why there is none.
  void HandleSpawnReply(Connection& connection, const Signal& signal);

 private:
  // Who waits for an answer: a request, or, if the other node is too old for links by a name or an alias, the maker of
  // such a link.
  struct Waiting {
    std::optional<PeerState::Call> call;
    gen::PID link_maker;
  };

  // Returns who waits for the answer with that number, and notes that nobody waits for it any more. `reference` is the
  // number as a term.
  [[nodiscard]] static Waiting RemoveWaiting(Connection& connection, std::uint64_t number,
                                             std::string_view reference, bool is_error);
  // `error`: the answer is {error, Reason}. `trace`: 0 for none.
  void Respond(Connection& connection, const PeerState::Call& call, std::uint64_t number,
               std::string_view answer, const std::optional<gen::Error>& error, gen::TraceId trace);
  // Tells the caller that the process runs and its Init is done. Ends the process if the caller has stopped waiting.
  void TellSpawned(Connection& connection, const PeerState::Call& call, std::uint64_t number);

  const Needs needs_;
};

}  // namespace ergon::dist
