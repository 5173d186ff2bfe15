// Links and monitors: who hears of whose end.
//
// A link stands in both processes' lists, a monitor in the watcher's and the watched one's. Two
// lists change under two locks, taken one after the other or in the order of their addresses. A
// process that ends closes its own lists first and then tells everybody that stood there; one who
// comes later finds them closed and is told at once. So every monitor and every link is told of
// exactly once.
//
// A link by a name or an alias stands among the watchers of the process that has it, and among the
// named links of the one that has made it. When that one ends first, it becomes a link of PIDs, and is told
// of as such.
//
// A notice may be on its way while its receiver unlinks or demonitors. Therefore the receiver
// handles a notice only if it takes the entry from its own list.
#pragma once

#include <cstdint>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

class Relations {
 public:
  Relations(const Addresses& addresses, Delivery& delivery, ExitSignals& exit_signals)
      : addresses_(addresses), delivery_(delivery), exit_signals_(exit_signals) {}

  // `self` belongs to the caller's turn; `other` is anybody.
  gen::Result<void> Link(ProcessSlot& self, gen::PID other, gen::NoticeOrder order);
  // All links with it, also those by its names.
  gen::Result<void> Unlink(ProcessSlot& self, gen::PID other);
  // By a name or an alias, which `other` has, or stands for if it is of another node: kUnsupported, that is none of Ergon.
  gen::Result<void> LinkByName(ProcessSlot& self, const gen::Target& target, gen::PID other,
                               gen::NoticeOrder order);
  // False: there was no such link.
  bool UnlinkByName(ProcessSlot& self, const gen::Target& target);
  // Links a child that nobody knows yet with its parent; false when the parent is ending.
  bool LinkChild(ProcessSlot& child, gen::PID parent);

  // `pid` is what `target` means now; empty when there is no such process.
  gen::Ref Monitor(ProcessSlot& self, const gen::Target& target, gen::PID pid,
                   gen::NoticeOrder order);
  gen::Result<void> Demonitor(ProcessSlot& self, gen::Ref ref);

  // -- processes of other nodes --

  // `remote` links itself with `local`, which notes it. False: there is no such process.
  bool LinkFromAfar(gen::PID local, gen::PID remote);
  void UnlinkFromAfar(gen::PID local, gen::PID remote);
  // `local` watches `remote` with `ref`, of which that one's node knows already. False: there is no such process.
  bool NoteMonitor(gen::PID local, gen::PID remote, gen::Ref ref);
  // Neither that monitor nor a link of the two is any more.
  void ForgetSpawned(gen::PID local, gen::PID remote, gen::Ref ref);
  // The connection between two that are linked is lost, and maybe neither has ended: the exit signal has the reason
  // noconnection, and is of this link only. Another one may be made before the signal is handled.
  void LoseLink(gen::PID local, gen::PID remote, bool in_order);
  // `local` has made the link `ref` by a name or an alias there: it ends, with an exit signal or, as the other one has
  // unlinked itself, without.
  void LoseLinkByName(gen::PID local, gen::Ref ref, const gen::Reason& reason);
  void ForgetLinkByName(gen::PID local, gen::Ref ref);
  // The process there that has made the link `ref` by a name or an alias of `local` has ended, or the connection is lost.
  void EndOfMaker(gen::PID local, gen::Ref ref, gen::PID maker, const gen::Reason& reason);
  void LoseMaker(gen::PID local, gen::Ref ref, gen::PID maker);
  // From now on `watcher` will be told of the end of `pid`, or of its name, once. False: there is no such process, and
  // nobody will be told. Also used for those of this node.
  bool AddWatcher(const ProcessCold::Watcher& watcher, gen::PID pid);
  // `by` is the watcher, a monitor.
  void RemoveWatcher(gen::PID by, gen::PID pid, gen::Ref ref);
  // `in_order`: behind what was sent before (core::Envelope::kFlagInOrder), if the watcher wants nothing else.
  void TellWatcher(const ProcessCold::Watcher& watcher, const gen::Reason& reason,
                   bool in_order = false);

  // Whether a signal comes from a link that is gone.
  [[nodiscard]] static bool IsStale(ProcessSlot& self, const core::Envelope& signal);
  // Whether the receiver handles a notice behind the messages that wait: it has asked for that, or the notice is marked
  // so and it has asked for nothing else.
  [[nodiscard]] static bool IsInOrder(ProcessSlot& self, const core::Envelope& notice);
  // Takes the entry that a notice belongs to; false: the notice is stale.
  static bool TakeLinkOf(ProcessSlot& self, const core::Envelope& exit);
  static bool TakeMonitor(ProcessSlot& self, std::uint64_t ref);
  static bool TakeSubscription(ProcessSlot& self, std::uint64_t id);

  // A name or an alias of `self` is gone while the process lives: tells those who monitor by it.
  void ReleaseTarget(ProcessSlot& self, gen::PID pid, const gen::Target& target);

  // What a process that ends leaves to be told.
  struct Farewell {
    ProcessCold::Links links;
    ProcessCold::Watchers watchers;
    ProcessCold::Monitors monitors;
    ProcessCold::NamedLinks named_links;
  };
  // `self` ends: closes its lists.
  [[nodiscard]] static Farewell Close(ProcessSlot& self);
  // Sends the notices of monitors.
  void TellWatchers(const Farewell& farewell, const gen::Reason& reason);
  // Sends the exit signals.
  void TellLinks(const Farewell& farewell, gen::PID pid, gen::PID parent,
                 const gen::Reason& reason);

 private:
  // The maker of a link by a name, which `other` knows by `ref`, ends: from now on `other` is linked with its PID. False:
  // that one has told of its end already, or will not hear of this one's.
  bool TurnIntoLink(gen::PID other, gen::Ref ref, gen::PID maker);

  const Addresses& addresses_;
  Delivery& delivery_;
  ExitSignals& exit_signals_;
};

}  // namespace ergon::node
