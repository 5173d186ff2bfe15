// Requests to processes of other nodes: calls, spawns, inspections.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/term_request.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/message_totals.h>

namespace ergon::dist {

// Any thread. The errors are those of node::Transport.
class RequestSender {
 public:
  RequestSender(const Settings& settings, const Values& values, TraceTokens& traces,
                node::MessageTotals& totals, Connections& connections)
      : settings_(settings),
        values_(values),
        traces_(traces),
        totals_(totals),
        connections_(connections) {}

  gen::Result<void> Send(gen::PID remote, const core::Envelope& request);
  gen::Result<void> SendInspection(gen::PID remote, const core::Envelope& request);

 private:
  // For SendInForm. Without `how` the request is a TermRequest.
  gen::Result<void> SendRequestIn(Form tried, Form& form, gen::PID remote,
                                  const core::Envelope& request, const Values::Writer* how);
  gen::Result<void> SendSpawn(gen::PID remote, const core::Envelope& request,
                              const RemoteSpawn& spawn);
  // Sends a question that only Ergon nodes understand; the answer goes to its `local`, with the number `id`.
  gen::Result<void> Ask(gen::PID remote, const PeerState::Call& question, std::uint64_t id,
                        gen::PID from, std::string_view payload);
  [[nodiscard]] std::string Reference(std::uint64_t id) const;

  const Settings& settings_;
  const Values& values_;
  TraceTokens& traces_;
  node::MessageTotals& totals_;
  Connections& connections_;
};

}  // namespace ergon::dist
