// The applications of a node: which are loaded, which run, and in which order they were started.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ergon/gen/application.h>
#include <ergon/gen/node.h>
#include <ergon/node/runtime/application_master.h>
#include <ergon/node/spawning/population.h>

namespace ergon::node {

// Any thread; Start and Stop block it. The functions are described at gen::Node.
class Applications final : private ApplicationObserver {
 public:
  // Both outlive this.
  Applications(gen::Node& node, Population& population) : node_(node), population_(population) {}

  gen::Result<void> Load(const gen::ApplicationSpec& spec);
  gen::Result<void> Unload(gen::Atom name);
  gen::Result<void> Start(gen::Atom name, const gen::ApplicationStartOptions& options);
  gen::Result<void> Stop(gen::Atom name, std::chrono::nanoseconds timeout);
  gen::Result<void> StopForce(gen::Atom name);
  [[nodiscard]] gen::Result<gen::ApplicationInfo> Info(gen::Atom name, std::int64_t now) const;
  [[nodiscard]] std::vector<gen::Atom> List() const;
  // Returns the application whose process `master` is; empty: none.
  [[nodiscard]] gen::Atom NameOf(gen::PID master) const;
  // Returns the processes of the running applications, the last one started first.
  [[nodiscard]] std::vector<gen::PID> MastersNewestFirst() const;

 private:
  void SetProcesses(gen::Atom name, gen::PID pid, bool alive) override;
  bool Starting(gen::Atom name, gen::PID master) override;
  void Running(gen::Atom name, std::int64_t now) override;
  void Stopping(gen::Atom name) override;
  void Ended(gen::Atom name, const gen::Reason& reason) override;
  [[nodiscard]] bool IsEndedByForce(gen::Atom name) const override;
  [[nodiscard]] bool NodeKillsAll() const override { return population_.gate().IsClosed(); }

  struct Entry {
    std::shared_ptr<const gen::ApplicationSpec> loaded;
    std::shared_ptr<const gen::ApplicationSpec>
        spec;  // with the options of its start; else the same
    gen::ApplicationState state = gen::ApplicationState::kLoaded;
    gen::PID master = {};
    std::vector<gen::PID> processes = {};
    std::int64_t started_at = 0;  // Clock ns
    std::uint64_t order = 0;      // of its start, among all
    bool ended_by_force = false;  // while it was starting
    bool has_begun_to_stop = false;
    int stoppers = 0;  // who have asked it to, or are about to
    std::optional<gen::Reason> last_end = std::nullopt;

    // Makes it as it was before its start. Who has used `spec` still has it: nothing of the user's goes with the lock.
    void Reset() noexcept {
      state = gen::ApplicationState::kLoaded;
      spec = loaded;
      master = gen::PID();
      processes.clear();
      ended_by_force = has_begun_to_stop = false;
      stoppers = 0;
    }
  };

  gen::Result<Entry*> Find(gen::Atom name);
  // Appends the applications that must be started for `name`, in order, and `name` itself; `path` leads to it.
  gen::Result<void> Plan(gen::Atom name, std::vector<gen::Atom>& path,
                         std::vector<gen::Atom>& order);
  // Starts one application by `spec`; null: by what was loaded.
  gen::Result<void> StartOne(gen::Atom name, std::shared_ptr<const gen::ApplicationSpec> spec);
  // Takes the start back: its master has not begun, or has ended already.
  void NotStarted(gen::Atom name) noexcept;
  // Returns an error if an application that this one needs does not run, unless it has ended by itself with normal.
  [[nodiscard]] gen::Result<void> CheckNeeded(gen::Atom name, const Entry& entry) const;
  // Returns whether the application is being started, by this master.
  [[nodiscard]] bool IsStartedBy(gen::Atom name, gen::PID master) const;
  // Returns when all children of a process that has ended have ended, too.
  void AwaitChildrenOf(gen::PID ended) const;
  // Returns the process behind an application that may be stopped now.
  gen::Result<gen::PID> MasterToStop(gen::Atom name);
  // Takes that back, unless the application has begun to stop: its master could not be asked.
  void TakeStopBack(gen::Atom name, gen::PID master);
  // Returns the master of an application that is being started, and notes that it has to end. std::nullopt: the
  // application is not being started; the empty PID: its master has not begun, and will end when it does.
  std::optional<gen::PID> StartingMasterToKill(gen::Atom name);

  gen::Node& node_;
  Population& population_;
  mutable std::mutex mutex_;
  std::map<gen::Atom, Entry> entries_;  // in the order of the names' creation
  std::uint64_t starts_ = 0;
};

}  // namespace ergon::node
