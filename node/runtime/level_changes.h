// Log levels of behaviours, changed while the node runs.
#pragma once

#include <string>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/options/log_level_keys.h>
#include <ergon/node/spawning/behavior_levels.h>

namespace ergon::node {

class LevelChanges {
 public:
  // All of them outlive this.
  LevelChanges(const Addresses& addresses, BehaviorLevels& levels, NodeLog& log)
      : addresses_(addresses), levels_(levels), log_(log) {}

  // Applies valid levels to processes that run, and to those that are spawned from now on. Logs each change, with the
  // levels before. One caller at a time.
  void Apply(const BehaviorLogLevels& levels);

 private:
  const Addresses& addresses_;
  BehaviorLevels& levels_;
  NodeLog& log_;
};

}  // namespace ergon::node
