// Links and monitors: who hears of whose end.
//
// A link stands in both processes' lists, a monitor in the watcher's and the watched one's. Two
// lists change under two locks, taken one after the other or in the order of their addresses. A
// process that ends closes its own lists first and then tells everybody that stood there; one who
// comes later finds them closed and is told at once. So every monitor and every link is told of
// exactly once.
//
// A notice may be on its way while its receiver unlinks or demonitors. Therefore the receiver
// handles a notice only if it takes the entry from its own list.
#pragma once

#include <cstdint>

#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>

namespace ergon::node {

class Process;
class Runtime;

class Relations {
 public:
  // `self` belongs to the caller's turn; `other` is anybody.
  static gen::Result<void> Link(Runtime& runtime, Process& self, gen::PID other);
  static gen::Result<void> Unlink(Runtime& runtime, Process& self, gen::PID other);
  // Links a child that nobody knows yet with its parent; false when the parent is ending.
  static bool LinkChild(Process& child, Process& parent, gen::PID parent_pid);

  // `pid` is what `target` means now; empty when there is no such process.
  static gen::Ref Monitor(Runtime& runtime, Process& self, const gen::Target& target, gen::PID pid);
  static gen::Result<void> Demonitor(Runtime& runtime, Process& self, gen::Ref ref);

  // Whether a signal comes from a link that is gone.
  [[nodiscard]] static bool IsStale(Process& self, const core::Envelope& signal);
  // Takes the entry that a notice belongs to; false: the notice is stale.
  static bool TakeLink(Process& self, gen::PID other);
  static bool TakeMonitor(Process& self, std::uint64_t ref);
  static bool TakeSubscription(Process& self, std::uint64_t id);

  // A name or an alias of `self` is gone while the process lives: tells those who monitor by it.
  static void ReleaseTarget(Runtime& runtime, Process& self, gen::PID pid,
                            const gen::Target& target);

  // `self` ends: closes its lists and tells everybody.
  class Ending {
   public:
    // Closes the lists.
    explicit Ending(Process& self);
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    // Sends the notices of monitors.
    void TellWatchers(Runtime& runtime, const gen::Reason& reason);
    // Sends the exit signals.
    void TellLinks(Runtime& runtime, gen::PID pid, gen::PID parent, const gen::Reason& reason);

   private:
    struct Lists;
    Lists* lists_;
  };
};

}  // namespace ergon::node
