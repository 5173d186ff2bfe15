// Requests of Erlang's module sys to processes of this node.
#pragma once

#include <string_view>

#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/links/exit_signals.h>

namespace ergon::dist {

// The thread of the network.
class SystemRequestReceiver {
 public:
  SystemRequestReceiver(node::Addresses& addresses, node::Delivery& delivery,
                        node::ExitSignals& exit_signals, const Settings& settings,
                        const Values& values)
      : addresses_(addresses),
        delivery_(delivery),
        exit_signals_(exit_signals),
        settings_(settings),
        values_(values) {}

  // `term` is what {system, Caller, _} asks for.
  void Handle(Connection& connection, PeerState::Request request, std::string_view term,
              gen::PID to);

 private:
  // Handles {terminate, Reason}. Returns false if the term is something else.
  bool HandleTerminate(Connection& connection, const PeerState::Request& request,
                       std::string_view term, gen::PID to);
  // Hands the request to the process, as a signal.
  void Deliver(Connection& connection, PeerState::Request request, gen::EnvelopeKind kind);
  // Answers sys:statistics/2.
  void AnswerStatistics(Connection& connection, const PeerState::Request& request, gen::PID pid);
  void Answer(Connection& connection, const PeerState::Request& request,
              std::string_view answer) const;

  node::Addresses& addresses_;
  node::Delivery& delivery_;
  node::ExitSignals& exit_signals_;
  const Settings& settings_;
  const Values& values_;
};

}  // namespace ergon::dist
