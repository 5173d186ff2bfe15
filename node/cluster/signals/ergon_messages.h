// What Ergon nodes tell each other beyond the protocol of Erlang, as values and as terms. These messages go to the name
// $ergon.
//
// A node shows by a flag (kFlagErgon) that it understands these messages. They may be sent before the flag is known: an
// Erlang node drops messages to a name that nobody has.
//
// A question has a reference. The answer {Reference, Answer} is sent to the reference as to an alias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/events/events.h>
#include <ergon/node/process_state/cold.h>

namespace ergon::dist {

inline constexpr std::string_view kErgonName = "$ergon";
inline constexpr std::string_view kInspectionAs = "as";

// Texts and terms are views of the bytes that were read.
struct ErgonMessage {
  enum class Kind : std::uint8_t {
    kUnknown,    // a message of a later version; it has to be answered if it is a question
    kImportant,  // a question: `term` is a message, answered with ok when it is in the mailbox, else with {error, Why}
    // A question. The answer is {Waiting, Bound}: how many messages wait in the mailbox, and its bound, which is 0
    // without a bound. Other answers are unknown and {error, Why}.
    kRoom,
    // A question. `term` is a list of items, and the answer is {ok, #{Key => Text}} or {error, Why}. If `term` is
    // {as, Type}, the answer may also be {as, Value} (kInspectionAs).
    kInspect,
    // These are about links by a name or an alias; `reference` is the reference of the maker of the link, a term.
    kLink,  // the sender links itself with `to`, `name` or `alias`: it gets a kDown signal at the end, as of a monitor
    kMakerEnd,  // the maker has ended, with the reason `term`
    kUnlinked,  // the other process has ended the link
    // These are about events. The sender of the first two is the subscriber; `number` and `is_link` say which of its
    // subscriptions is meant.
    // The mark of what the subscriber has had before, or none. It comes right before kSubscribe with this `number`. A
    // node that sends it gets marks, too. Nodes of earlier versions neither send nor understand marks.
    kMark,
    // A question. The answer is {ok, [{Time, Value}]} with the values that the subscriber has missed, or {error, Why}.
    // The tail of that list may be a list of the values' trace tokens, with [] for values without a token. Behind a
    // mark the answer is {ok, Missed, Event, Seen}, where the numbers are the new mark, unless the subscriber has a
    // subscription of the other way, too.
    kSubscribe,
    kUnsubscribe,  // the subscription is over
    // `term` was published at `time`, for subscribers that have one of `subscription`. `mark.seen` is the number of the
    // value; 0 if the number is not known.
    kValue,
    kEventEnd,  // `term` is the reason
    // Sent when the nodes have connected. `term` is the list of types that the sender packs (packed_types.h).
    kPacks,
  };
  Kind kind = Kind::kUnknown;
  std::string_view reference;  // of a question or a link, as a term; empty for other messages
  // The process that the message is about: a process, a name or an alias (a reference) of this node.
  gen::PID to{};
  std::string_view name;
  std::string_view alias;
  std::string_view term;
  // For messages about events; `event` is the name of the event.
  std::string_view event;
  std::uint64_t number = 0;
  bool is_link = false;
  node::Subscription subscription;  // of kValue: all that the receiver has
  std::int64_t time = 0;            // nanoseconds
  node::EventMark mark;
};

// Returns the message in a checked term, or nothing if the term is something else. Processes are of the node `own`.
[[nodiscard]] std::optional<ErgonMessage> ReadErgonMessage(std::string_view term, gen::Atom own,
                                                           std::size_t max_depth);

// These append terms. `reference` is a term. `to` may be a name or an alias of the other node (node::IsName, IsAlias).

// The caller appends the list of types.
void AppendPacks(std::string& out);
// The caller appends the message.
void AppendImportant(std::string& out, std::string_view reference, gen::PID to);
void AppendRoomQuestion(std::string& out, std::string_view reference, gen::PID to);
// The caller appends the items, a list of binaries.
void AppendInspect(std::string& out, std::string_view reference, gen::PID to);
void AppendLink(std::string& out, std::string_view reference, gen::PID to);
// The caller appends the reason.
void AppendMakerEnd(std::string& out, std::string_view reference);
void AppendUnlinked(std::string& out, std::string_view reference);
void AppendSubscribe(std::string& out, std::string_view reference, gen::Atom event,
                     std::uint64_t number, bool is_link);
void AppendMark(std::string& out, gen::Atom event, std::uint64_t number,
                const node::EventMark& mark);
void AppendUnsubscribe(std::string& out, gen::Atom event, std::uint64_t number, bool is_link);
// The caller appends the value. `value` is the number of the value; 0 if the receiver does not know such numbers.
void AppendValue(std::string& out, gen::PID to, gen::Atom event,
                 const node::Subscription& subscription, std::int64_t time, std::uint64_t value);
// The caller appends the reason.
void AppendEventEnd(std::string& out, gen::PID to, gen::Atom event, std::uint64_t number,
                    bool is_link);

}  // namespace ergon::dist
