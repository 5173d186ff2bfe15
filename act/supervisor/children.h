// The children of a supervisor: their specs, their processes, and the callers that wait for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ergon/act/supervisor/strategy.h>
#include <ergon/act/supervisor_requests.h>
#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::act {

using SupervisorChildSpecPtr = std::shared_ptr<const SupervisorChildSpec>;

// Bookkeeping only: the strategy decides about a child.
class SupervisorChildren {
 public:
  using Key = SupervisionStrategy::Key;

  // A request that is answered when the child has started, or has ended.
  struct Waiter {
    gen::PID from;
    gen::Ref ref;
    bool until_started = true;
    // How many children have still to end before the request is answered, shared with their waiters; null:
    // only this child.
    std::shared_ptr<std::size_t> left = {};
  };
  struct Entry {
    SupervisorChildSpecPtr spec;
    gen::Args args;               // of the spec, and then of StartChild
    gen::PID pid = {};            // PID() if there is no process
    gen::Ref monitor = {};        // of pid
    bool started = false;         // the Init of pid is done
    gen::TimerHandle killer;      // runs while the child is being ended
    int failed_starts = 0;        // restarts in a row
    std::uint64_t postponed = 0;  // the number of a postponed start; 0: none
    gen::TimerHandle starter;     // runs until that start, if there is a back-off
    std::vector<Waiter> waiters;
    gen::Atom template_name = {};  // empty: registered by its name
  };
  struct Template {
    SupervisorChildSpecPtr spec;
    bool disabled = false;
    std::size_t children = 0;
  };

  // Adds a child with a name of its own.
  void Add(Key key, SupervisorChildSpecPtr spec);
  // Adds a child of a template.
  void AddChildOf(Template& origin, Key key, const gen::Args& args);
  void Erase(Key key);

  void AddTemplate(SupervisorChildSpecPtr spec);
  void EraseTemplate(gen::Atom name) { templates_.erase(name); }
  [[nodiscard]] Template* FindTemplate(gen::Atom name);
  [[nodiscard]] const std::map<gen::Atom, Template>& templates() const { return templates_; }

  [[nodiscard]] Entry* Find(Key key);
  [[nodiscard]] std::optional<Key> FindName(gen::Atom name) const;
  [[nodiscard]] std::optional<Key> FindProcess(gen::PID pid) const;
  [[nodiscard]] const std::map<Key, Entry>& all() const { return entries_; }

  // Notes the child's process.
  void SetProcess(Key key, gen::PID pid, gen::Ref monitor);
  // Notes that the child has no process any more.
  void ClearProcess(Entry& entry);

  // Adds a waiter until all children that the template has now have ended. Returns false if it has none.
  bool AwaitEndOfAll(gen::Atom template_name, gen::PID from, gen::Ref ref);

  [[nodiscard]] std::vector<SupervisorChild> List(const SupervisionStrategy& strategy) const;

 private:
  std::map<Key, Entry> entries_;
  std::unordered_map<gen::Atom, Key> by_name_;
  std::unordered_map<gen::PID, Key> by_process_;
  std::map<gen::Atom, Template> templates_;
};

}  // namespace ergon::act
