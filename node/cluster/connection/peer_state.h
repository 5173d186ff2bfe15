// The relations of the processes of this node with the processes of one other node: links, monitors, requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/link_states.h>
#include <ergon/node/cluster/connection/peer_watchers.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/events/events.h>
#include <ergon/node/process_state/cold.h>

namespace ergon::dist {

// Guarded by the lock of its connection. Numbers are those of our gen::Refs; on the wire they stand in references
// (see references.h). `raw` references are those of the other node, as terms.
struct PeerState {
  // A process of ours watches one of theirs, or a name there (node::IsName); by number.
  struct Watch {
    gen::PID local;
    gen::PID remote;
    bool is_link = false;  // it has linked itself by that name, or alias
  };
  std::unordered_map<std::uint64_t, Watch> watches;

  PeerWatchers watchers;  // theirs

  LinkStates links;

  PeerPacks packs;

  // How often the peer has spoken for processes of other nodes, see FalseClaims.
  std::uint64_t not_believed = 0;

  // Requests that only an Ergon node understands (see ergon_messages.h).
  enum class ErgonQuestion : std::uint8_t {
    kNone,
    kImportant,    // whether a message is in its mailbox
    kRoom,         // how many have room there
    kSubscribe,    // what has been missed of an event
    kInspect,      // what a process tells of itself
    kLink,         // a link by a name or an alias: a watch, no call
    kCallOfAlias,  // a call, which nobody monitors: the other node tells of every end
  };

  // Requests of ours, by number. Each is a monitor on the wire as well, so that the end of the process that was asked
  // is an answer.
  struct Call {
    gen::PID local;
    gen::PID remote;
    bool keeps_term = false;  // the answer stays a dist::Term, whatever form it has
    bool spawns = false;      // a process; `remote` is a name until it is known
    bool links = false;       // and is linked with that, at once if it is one of Erlang
    bool monitors = false;    // and goes on to watch that
    ErgonQuestion question = ErgonQuestion::kNone;  // another one: it is no monitor
    gen::Atom event{};                              // of kSubscribe
    bool is_link = false;                           // the same
    bool may_wait = false;                          // the same, see EventTransport::Subscribe
  };
  std::unordered_map<std::uint64_t, Call> calls;

  // Subscriptions to events, by subscriber and event: of ours to theirs, and of theirs to ours.
  template <class How>
  using ByEvent = std::map<std::pair<gen::PID, gen::Atom>, How>;
  struct Subscription : node::Subscription {
    std::shared_ptr<node::EventProgress> progress;
  };
  ByEvent<Subscription> subscriptions;
  ByEvent<node::Subscription> subscribers;
  // Returns the subscription that a kSubscribe has asked for; null if it has ended, or a later one has replaced it.
  [[nodiscard]] const Subscription* SubscriptionOf(const Call& call, std::uint64_t number) const {
    const auto found = subscriptions.find({call.local, call.event});
    if (found == subscriptions.end()) return nullptr;
    const Subscription& has = found->second;
    return (call.is_link ? has.link : has.monitor) == number ? &has : nullptr;
  }
  // The last mark that has come. Its subscription comes next.
  struct Mark {
    gen::PID subscriber;
    std::uint64_t number = 0;
    node::EventMark mark;
  };
  Mark next_mark;
  bool knows_marks = false;  // their subscribers get the number of each value
  // A subscription of theirs that is being answered. Signals for it that come up meanwhile are sent after the answer.
  struct Answering {
    gen::PID subscriber;
    gen::Atom event;
    struct Held {
      gen::PID from;
      std::string payload;
      gen::TraceId trace = 0;
      std::string head = {};  // of the end of the event: before its reason; empty: a value
    };
    std::vector<Held> held = {};
    std::size_t bytes = 0;
  };
  std::unique_ptr<Answering> answering;
  // Returns `answering` if it is that subscription, else null.
  [[nodiscard]] Answering* AnsweringOf(gen::PID subscriber, gen::Atom event) const {
    const bool is_that =
        answering != nullptr && answering->subscriber == subscriber && answering->event == event;
    return is_that ? answering.get() : nullptr;
  }

  // Requests of theirs that wait for an answer, by the number that stands for them here.
  enum class AnswerForm : std::uint8_t {
    kValue,       // as it is
    kOk,          // sys:suspend, sys:resume
    kState,       // sys:get_state, of an inspection
    kStatus,      // sys:get_status, of one
    kInspection,  // an inspection, to another Ergon node
  };
  struct Request {
    gen::PID caller;
    gen::PID asked;  // not with kValue
    AnswerForm answer = AnswerForm::kValue;
    std::string tag;    // to be sent back with the answer, as it came
    std::string alias;  // raw, where the answer goes; empty: to the caller
    // Raw. When the caller ends this monitor, it waits no more; empty: not known.
    std::string watch;
    gen::TraceId trace = 0;  // the answer has it, too
  };
  std::unordered_map<std::uint64_t, Request> requests;
  // By `watch`. The other node chooses it: ordered, so that it cannot choose them for their hashes.
  std::map<std::string, std::uint64_t> request_numbers;
  void AddRequest(std::uint64_t number, Request request) {
    if (!request.watch.empty()) request_numbers[request.watch] = number;
    requests[number] = std::move(request);
  }
  // Takes a request out, which must be there, to answer it. Only a peer at fault has two with one monitor.
  [[nodiscard]] Request TakeRequest(std::unordered_map<std::uint64_t, Request>::iterator found) {
    const auto watched = request_numbers.find(found->second.watch);
    if (watched != request_numbers.end() && watched->second == found->first) {
      request_numbers.erase(watched);
    }
    Request request = std::move(found->second);
    requests.erase(found);
    return request;
  }
  // Forgets a request whose caller has stopped waiting: it has ended that monitor, or was told of the end.
  void ForgetRequest(const std::string& watch) {
    const auto found = request_numbers.find(watch);
    if (found == request_numbers.end()) return;
    requests.erase(found->second);
    request_numbers.erase(found);
  }
};

// Returns kUnsupported, with a text that says what the question needs and that `node` does not run Ergon.
[[nodiscard]] gen::Error NoErgonNode(PeerState::ErgonQuestion question, gen::Atom node);
// Returns kUnsupported, with a text that says that `node` starts no processes, see Connection::RefusesSpawns.
[[nodiscard]] gen::Error NoSpawningNode(gen::Atom node);

}  // namespace ergon::dist
