// Changes of several pools, all or nothing.
#pragma once

#include <string>
#include <vector>

#include <ergon/gen/messenger.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/pool_change.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/spawning/pool_settings.h>

namespace ergon::node {

class PoolChanges {
 public:
  // All of them outlive this.
  PoolChanges(const Addresses& addresses, PoolSettings& settings, NodeLog& log)
      : addresses_(addresses), settings_(settings), log_(log) {}

  // Asks all pools whether they can be changed, and then changes them. If one refuses after all, the others get their
  // former values back. Pools that start from now on have the new values, too. `asks` waits for the pools. The error
  // names the pool, the field and the value. One caller at a time.
  gen::Result<void> Apply(gen::Messenger& asks, const PoolSettings::Changes& changes);

 private:
  struct Step {
    const std::string& name;
    const gen::PoolChange& change;
    gen::PID pool;  // the empty PID: no process has the name
    gen::PoolChange before;
  };

  // Returns the pool with this name; the empty PID if no process has the name.
  gen::Result<gen::PID> Find(const std::string& name) const;
  // Returns whether the pool has ended: a pool that follows it has the new values.
  [[nodiscard]] bool HasGone(gen::PID pool, const gen::Error& error) const;
  gen::Result<void> Check(gen::Messenger& asks, Step& step) const;
  // Changes the first `count` pools back.
  void ChangeBack(gen::Messenger& asks, const std::vector<Step>& steps, std::size_t count);

  const Addresses& addresses_;
  PoolSettings& settings_;
  NodeLog& log_;
};

}  // namespace ergon::node
