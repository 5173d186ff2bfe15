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
  MessageSender(const Settings& settings, const Values& values, TraceTokens& traces,
                node::Delivery& delivery, node::MessageTotals& totals, Connections& connections)
      : settings_(settings),
        values_(values),
        traces_(traces),
        delivery_(delivery),
        totals_(totals),
        connections_(connections) {}

  gen::Result<void> Send(gen::PID remote, const core::Envelope& envelope);
  gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message, gen::PID local,
                                  std::uint64_t id);
  void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id);
  // Those who wait for room try again.
  void TellRoom(const std::vector<Connection::RoomWaiter>& waiters);

 private:
  // For SendInForm.
  gen::Result<void> SendIn(Form tried, Form& form, gen::PID remote, const core::Envelope& envelope,
                           const Values::Writer& how);

  const Settings& settings_;
  const Values& values_;
  TraceTokens& traces_;
  node::Delivery& delivery_;
  node::MessageTotals& totals_;
  Connections& connections_;
};

}  // namespace ergon::dist
