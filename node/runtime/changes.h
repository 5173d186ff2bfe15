// Changes of a node while it runs: from code, and from its options file.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <ergon/gen/log_level.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/node_options.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/runtime/level_changes.h>
#include <ergon/node/runtime/opened_transport.h>
#include <ergon/node/runtime/pool_changes.h>
#include <ergon/node/spawning/behavior_levels.h>
#include <ergon/node/spawning/node_environment.h>
#include <ergon/node/spawning/pool_settings.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {

// Returns kIncorrect for an option of the network, because the node has no network.
[[nodiscard]] gen::Error NoNetworkFor(const gen::NetworkOption& option);

// Any thread. The functions are described at gen::Node; each change is logged, whatever the level, unless
// that is off.
class Changes {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Addresses& addresses;
    BackPressure& back_pressure;
    NodeLog& log;
    const gen::NodeOptions& options;  // those of the start
    PoolSettings& pool_settings;
    BehaviorLevels& behavior_levels;
    Spawning& spawning;
    NodeEnvironment& environment;
    const OpenedTransport& transport;
  };
  explicit Changes(const Needs& needs)
      : needs_(needs),
        pools_(needs.addresses, needs.pool_settings, needs.log),
        levels_(needs.addresses, needs.behavior_levels, needs.log),
        mailbox_size_(static_cast<std::uint32_t>(needs.options.mailbox_size)) {}

  // Returns the mailbox size of a process whose options give none; 0: no bound.
  [[nodiscard]] const std::atomic<std::uint32_t>& mailbox_size() const noexcept {
    return mailbox_size_;
  }

  gen::Result<void> Change(const gen::NodeChange& change);
  gen::Result<void> SetProcessLogLevel(const gen::Target& to, std::optional<gen::LogLevel> level);
  gen::Result<void> SetProcessMailboxSize(const gen::Target& to, int messages);
  // Reads the options file. `asks` waits for pools.
  gen::Result<void> Reload(gen::Messenger& asks);
  // Does what Reload does, at SIGHUP, in a process of its own, and logs an error.
  void ReloadAndTell();

 private:
  // Returns the options as they are now. With the lock.
  [[nodiscard]] gen::NodeOptions Now() const;
  void Apply(const gen::NodeOptions& options);  // valid ones
  gen::Result<ProcessSlot*> FindProcess(const gen::Target& to, gen::PID& pid) const;
  // Sets the bound, and returns the former one.
  gen::Result<std::uint32_t> SetBound(ProcessSlot& process, gen::PID pid, int messages) const;

  // Returns the options of the file, checked; those that the file does not give are as in `now`.
  [[nodiscard]] gen::Result<gen::NodeOptions> Read(const gen::NodeOptions& now) const;

  [[nodiscard]] gen::Result<std::function<void()>> PrepareNetwork(
      const std::vector<gen::NetworkOption>& options) const;

  const Needs needs_;
  PoolChanges pools_;
  LevelChanges levels_;
  std::atomic<bool> reloading_{false};  // acquire, release: one after the other
  std::atomic<std::uint32_t> mailbox_size_;
  std::mutex mutex_;  // one change of the node's options at a time
};

}  // namespace ergon::node
