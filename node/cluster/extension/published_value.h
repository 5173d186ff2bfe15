// A value of an event of this node, on its way to subscribers on other nodes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/extension/missed_values.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/events/event_transport.h>

namespace ergon::dist {

// A term for some nodes, packed for others, or the same for all. Which of both a node takes is asked again when the
// value is sent: a node that has come back may be another program.
class PublishedValue final : public node::ValueForNodes {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::MessageTotals& totals;
    const Settings& settings;
    const Values& values;
    Connections& connections;
    const MissedValues& missed;
  };
  // `value` outlives this.
  PublishedValue(const Needs& needs, const core::Envelope& value)
      : needs_(needs), value_(value), how_(needs.values.WriterOf(value)) {}

  [[nodiscard]] bool IsEncodedFor(gen::Atom node) override;
  void Encode() override;
  gen::Result<void> Send(gen::PID remote, gen::PID from, const gen::MessageEvent& value,
                         std::uint64_t number) override;

 private:
  struct Encoded {
    bool is_wanted = false;
    std::optional<gen::Result<std::string>> text;  // none: not made yet
  };
  // Returns the form that the peer takes; the errors of PackedTypes::FormFor, and kUnsupported for a type that is not
  // registered. With the lock of the connection.
  [[nodiscard]] gen::Result<Form> FormIn(Connection& connection) const;
  [[nodiscard]] gen::Result<std::string> EncodeIn(Form form) const;

  const Needs needs_;
  const core::Envelope& value_;
  const Values::Writer* const how_;  // null: its type is not registered
  std::array<Encoded, 2> encoded_;   // by form
};

}  // namespace ergon::dist
