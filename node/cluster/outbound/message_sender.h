// Messages to processes, names and aliases of other nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>

namespace ergon::dist {

// Any thread. The functions and their errors are those of node::Transport.
class MessageSender {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Settings& settings;
    const Values& values;
    TraceTokens& traces;
    node::Delivery& delivery;
    node::MessageTotals& totals;
    Connections& connections;
  };
  explicit MessageSender(const Needs& needs) : needs_(needs) {}

  gen::Result<void> Send(gen::PID remote, const core::Envelope& envelope);
  gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message, gen::PID local,
                                  std::uint64_t id);
  void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id);
  // Those who wait for room try again.
  void TellRoom(const std::vector<Connection::RoomWaiter>& waiters);

 private:
  // For SendInForm.
  gen::Result<void> SendIn(Form& form, const gen::PID& remote, const core::Envelope& envelope,
                           const Values::Writer& how);

  const Needs needs_;
};

}  // namespace ergon::dist
