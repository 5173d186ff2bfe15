// Names and aliases of processes.
#pragma once

#include <vector>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread, but for a slot only in the turns of its process.
class Registry {
 public:
  Registry(Addresses& addresses, Relations& relations)
      : addresses_(addresses), relations_(relations) {}

  gen::Result<void> RegisterName(gen::Atom name, gen::PID pid);
  gen::Result<gen::PID> UnregisterName(gen::Atom name);
  // Of a process, whatever its name is then: another thread may be giving that name to another process.
  gen::Result<void> UnregisterName(ProcessSlot& slot);
  gen::Result<gen::Alias> CreateAlias(ProcessSlot& slot);
  gen::Result<void> DeleteAlias(ProcessSlot& slot, gen::Alias alias);
  // The process ends: they are free for others. Under the lock of its cold part.
  void Release(gen::PID pid, ProcessCold& cold);

 private:
  [[nodiscard]] std::vector<ProcessCold::Watcher> TakeWatchersOf(gen::Atom name,
                                                                 ProcessCold& cold) const;

  Addresses& addresses_;
  Relations& relations_;
};

}  // namespace ergon::node
