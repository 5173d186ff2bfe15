// Links, monitors and exit signals between processes of this node and of others.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// Any thread. The functions and their errors are those of node::Transport.
class LinkSender {
 public:
  LinkSender(node::Addresses& addresses, node::Relations& relations,
             node::ExitSignals& exit_signals, Connections& connections)
      : addresses_(addresses),
        relations_(relations),
        exit_signals_(exit_signals),
        connections_(connections) {}

  void Link(gen::PID local, gen::PID remote);
  void Unlink(gen::PID local, gen::PID remote);
  void Exit(gen::PID local, gen::PID remote, const gen::Reason& reason);
  gen::Result<void> LinkByName(gen::PID local, gen::PID remote, gen::Ref ref);
  void ExitByName(gen::PID local, gen::PID remote, gen::Ref ref, const gen::Reason& reason);
  void EndLinkOf(gen::PID maker, gen::Ref ref);
  gen::Result<void> ExitRequest(gen::PID local, gen::PID remote, const gen::Reason& reason,
                                gen::TraceId trace);
  void Monitor(gen::PID local, gen::PID remote, gen::Ref ref);
  void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref);
  // Sends the notice that a process which `remote` monitors has ended.
  gen::Result<void> SendDown(gen::PID remote, const core::Envelope& notice);

 private:
  [[nodiscard]] std::string Reference(std::uint64_t id) const;

  node::Addresses& addresses_;
  node::Relations& relations_;
  node::ExitSignals& exit_signals_;
  Connections& connections_;
};

}  // namespace ergon::dist
