// Links, monitors and exit signals of other nodes.
#pragma once

#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class LinkReceiver {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    node::ExitSignals& exit_signals;
    const Settings& settings;
    const Values& values;
    ProcessGroups& groups;
    RemoteCode& code;
  };
  explicit LinkReceiver(const Needs& needs) : needs_(needs) {}

  void HandleMonitor(Connection& connection, const Signal& signal);
  void HandleDemonitor(Connection& connection, const Signal& signal);
  void HandleDown(Connection& connection, const Signal& signal);
  void HandleLink(Connection& connection, const Signal& signal);
  void HandleUnlink(Connection& connection, const Signal& signal);
  void HandleUnlinkAck(Connection& connection, const Signal& signal);
  void HandleExit(Connection& connection, const Signal& signal);
  void HandleExitRequest(Connection& connection, const Signal& signal);

 private:
  // Returns the process that has a name here, or an empty PID.
  [[nodiscard]] gen::PID FindName(std::string_view name) const;

  const Needs needs_;
};

}  // namespace ergon::dist
