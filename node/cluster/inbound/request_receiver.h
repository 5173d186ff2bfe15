// Requests of other nodes on their way to processes: gen_server:call/2, and what else asks in that form.
#pragma once

#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/inbound/message_target.h>
#include <ergon/node/cluster/inbound/system_request_receiver.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/links/exit_signals.h>

namespace ergon::dist {

// The thread of the network.
class RequestReceiver {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::ExitSignals& exit_signals;
    node::MessageTotals& totals;
    gen::LogSink& log;
    const Settings& settings;
    const Values& values;
    RemoteCode& code;
    FalseClaims& claims;
  };
  explicit RequestReceiver(const Needs& needs)
      : needs_(needs),
        system_(needs.addresses, needs.delivery, needs.exit_signals, needs.settings, needs.values) {
  }

  // Handles {'$gen_call', {Caller, Tag}, Request} and {system, {Caller, Tag}, Request}. Returns false if the caller is
  // not well formed, or not a process of the peer.
  bool Handle(Connection& connection, const Signal& signal, const MessageTarget& to);

 private:
  // Notes that the caller is a process of another node than the peer: the answer would not go there.
  void NoteCallerOfAnother(Connection& connection, std::string_view payload);
  void Deliver(Connection& connection, PeerState::Request request, std::string_view term,
               const MessageTarget& to);
  // Answers a request to a name that nobody has here as Erlang's own process of that name would.
  void HandleToNobody(Connection& connection, const PeerState::Request& request,
                      std::string_view term, std::string_view name);
  void Answer(Connection& connection, const PeerState::Request& request,
              std::string_view answer) const;

  const Needs needs_;
  SystemRequestReceiver system_;
  gen::LogLimit unfit_lines_;
};

}  // namespace ergon::dist
