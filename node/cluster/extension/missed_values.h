// The values of an event that a subscriber on another node has missed, as the answer to its subscription.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/event.h>
#include <ergon/gen/result.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/cold.h>

namespace ergon::dist {

// See ErgonMessage::Kind::kSubscribe. Any thread.
class MissedValues {
 public:
  // All of it outlives this.
  MissedValues(const node::Addresses& addresses, const Settings& settings, const Values& values,
               TraceTokens& traces)
      : addresses_(addresses), settings_(settings), values_(values), traces_(traces) {}

  struct Missed {
    gen::Atom event;
    const std::vector<gen::MessageEvent>& values;
    node::EventMark mark;  // empty: the subscriber wants none
  };
  // Appends the answer with the values of an event of this node, each in the form that the node of the connection
  // takes. Returns kIncorrect if they are larger than a frame may be, the errors of PackedTypes::FormFor, and those of
  // Values::Append. Without the lock of the connection.
  gen::Result<void> AppendAnswer(std::string& out, const Missed& missed,
                                 Connection& connection) const;

  struct Answer {
    std::vector<gen::MessageEvent> values;
    node::EventMark mark;  // without the creation; empty: the answer has no mark
  };
  // Reads such an answer. The error is for the subscriber.
  [[nodiscard]] gen::Result<Answer> ReadAnswer(const gen::Event& event,
                                               std::string_view answer) const;
  // Reads one value, a term or packed. `trace`: 0 for none.
  [[nodiscard]] gen::Result<gen::MessageEvent> ReadValue(const gen::Event& event, std::int64_t time,
                                                         std::string_view term,
                                                         gen::TraceId trace) const;
  // Checks the size of a value for another node, with what else is in its frame.
  [[nodiscard]] gen::Result<void> CheckBytes(std::size_t bytes) const;

 private:
  gen::Result<void> AppendValue(std::string& out, const core::Envelope& value,
                                Connection& connection) const;
  // Appends the trace tokens of the values, with an empty list for a value without one; or nothing if no value has one.
  // They are the tail of the list of values, at which nodes of earlier versions do not look.
  void AppendTokens(std::string& out, const std::vector<gen::MessageEvent>& values) const;
  // Reads that tail into `traces`, which has an element for each value. Returns false if it is malformed.
  [[nodiscard]] bool ReadTokens(std::string_view tail, std::vector<gen::TraceId>& traces) const;
  [[nodiscard]] gen::Result<std::vector<gen::MessageEvent>> ReadList(const gen::Event& event,
                                                                     std::string_view list) const;
  [[nodiscard]] gen::Error BufferTooLarge(gen::Atom event) const;
  // With which an answer was checked.
  [[nodiscard]] std::size_t Depth() const noexcept {
    return settings_.max_term_depth + kLevelsAround;
  }

  const node::Addresses& addresses_;
  const Settings& settings_;
  const Values& values_;
  TraceTokens& traces_;
};

}  // namespace ergon::dist
