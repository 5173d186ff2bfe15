// Links and monitors: which process learns of the end of which other one.
//
// A link stands in both processes' lists, a monitor in the watcher's and the watched one's. Two lists change under two
// locks, taken one after the other or in the order of their addresses. A process that ends closes its own lists first
// and then sends a signal or a notice to each process in them; a process that comes later finds them closed and is told
// at once. So every monitor and every link is told of exactly once.
//
// A link by a name or an alias stands among the watchers of the process that has it, and among the named links of its
// maker. When the maker ends first, the link becomes one of PIDs, and ends as such.
//
// A notice may be on its way while its receiver unlinks or demonitors. Therefore the receiver
// handles a notice only if it takes the entry from its own list.
#pragma once

#include <cstdint>
#include <optional>
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

  // Links the two. `self` belongs to the caller's turn; `other` is any process.
  gen::Result<void> Link(ProcessSlot& self, gen::PID other, gen::NoticeOrder order);
  // Removes all links with `other`, also those by its names.
  gen::Result<void> Unlink(ProcessSlot& self, gen::PID other);
  // The same with the parent, for a process whose Init has failed: the parent is told otherwise.
  void UnlinkUnbegun(ProcessSlot& self, gen::PID parent);
  // Links by a name or an alias that `other` has, or stands for if it is on another node. Returns kUnsupported if that
  // node does not run Ergon.
  gen::Result<void> LinkByName(ProcessSlot& self, const gen::Target& target, gen::PID other,
                               gen::NoticeOrder order);
  // Returns false if there was no such link.
  bool UnlinkByName(ProcessSlot& self, const gen::Target& target);
  // Links a child that no other process knows yet with its parent. Returns false if the parent is ending.
  bool LinkChild(ProcessSlot& child, gen::PID parent);

  // Makes a monitor. `pid` is what `target` means now; empty if there is no such process.
  gen::Ref Monitor(ProcessSlot& self, const gen::Target& target, gen::PID pid,
                   gen::NoticeOrder order);
  gen::Result<void> Demonitor(ProcessSlot& self, gen::Ref ref);

  // -- processes of other nodes --

  // Notes at `local` that `remote` links itself with it. Returns false if there is no such process.
  bool LinkFromAfar(gen::PID local, gen::PID remote);
  void UnlinkFromAfar(gen::PID local, gen::PID remote);
  // Notes that `local` monitors `remote` with `ref`, which that node knows already. Returns false if there is no such
  // process.
  bool NoteMonitor(gen::PID local, gen::PID remote, gen::Ref ref);
  // Forgets that monitor, and a link of the two.
  void ForgetSpawned(gen::PID local, gen::PID remote, gen::Ref ref);
  // Ends the link of the two because the connection is lost; maybe neither has ended. Returns the exit signal for
  // `local`, null if there is no link. It has the reason noconnection, and is of this link only: another link may be
  // made before the signal is handled. Takes no lock but that of the process.
  [[nodiscard]] core::EnvelopePtr TakeLostLink(gen::PID local, gen::PID remote, bool in_order);
  // Ends the link `ref` that `local` has made by a name or an alias there: with an exit signal or, if the other process
  // has unlinked itself, without (ForgetLinkByName).
  void LoseLinkByName(gen::PID local, gen::Ref ref, const gen::Reason& reason);
  void ForgetLinkByName(gen::PID local, gen::Ref ref);
  // Ends the link `ref` of a maker on another node by a name or an alias of `local`: the maker has ended, or the
  // connection is lost.
  void EndOfMaker(gen::PID local, gen::Ref ref, gen::PID maker, const gen::Reason& reason);
  void LoseMaker(gen::PID local, gen::Ref ref, gen::PID maker);
  // Adds a watcher, which will get one notice of the end of `pid`, or of its name. Returns false if there is no such
  // process, and adds nothing. Also used for watchers of this node.
  bool AddWatcher(const ProcessCold::Watcher& watcher, gen::PID pid);
  // Removes a monitor; `by` is the watcher.
  void RemoveWatcher(gen::PID by, gen::PID pid, gen::Ref ref);
  // Sends the notice to a watcher. `in_order`: behind what was sent before (core::Envelope::kFlagInOrder), unless the
  // watcher has asked for another order.
  void TellWatcher(const ProcessCold::Watcher& watcher, const gen::Reason& reason,
                   bool in_order = false);

  // Returns whether the receiver handles a notice behind the messages that wait: it has asked for that, or the notice
  // is marked so and it has not asked for another order.
  [[nodiscard]] static bool IsInOrder(ProcessSlot& self, const core::Envelope& notice);
  // Remove the entry that a notice belongs to. Return false if the notice is stale.
  bool TakeLinkOf(ProcessSlot& self, const core::Envelope& exit);
  static bool TakeMonitor(ProcessSlot& self, std::uint64_t ref);
  static bool TakeSubscription(ProcessSlot& self, std::uint64_t id);

  enum class ParentLink {
    kNone,
    kIsThere,  // it ends as its parent ends
    kEnding    // the process is ending: by its parent's exit signal, or by itself
  };
  // Returns which one the process `pid` of that slot has, and sets `parent` to its parent. Any thread.
  [[nodiscard]] ParentLink LinkWithParent(ProcessSlot& process, gen::PID pid,
                                          gen::PID& parent) const;

  // Sends the notices to those that monitor by an alias of `self`, which is gone while the process lives.
  void ReleaseTarget(ProcessSlot& self, gen::PID pid, const gen::Target& target);
  // Tells those that have watched a process by a name or an alias that this is gone.
  void TellUnregistered(const std::vector<ProcessCold::Watcher>& watchers);

  // The lists of a process that ends, for its last notices and signals.
  struct ClosedLists {
    ProcessCold::Links links;
    ProcessCold::Watchers watchers;
    ProcessCold::Monitors monitors;
    ProcessCold::NamedLinks named_links;
  };
  // Closes the lists of `self`, which ends. Returns none if there never were any.
  [[nodiscard]] static std::optional<ClosedLists> Close(ProcessSlot& self);
  // Sends the notices of monitors.
  void TellWatchers(const ClosedLists& closed, const gen::Reason& reason);
  // Sends the exit signals.
  void TellLinks(const ClosedLists& closed, gen::PID pid, gen::PID parent,
                 const gen::Reason& reason);

 private:
  // Turns a link by a name, which `other` knows by `ref` and whose maker ends, into a link of `other` with the maker's
  // PID. Returns false if `other` has ended, too, or will not learn of the maker's end.
  bool TurnIntoLink(gen::PID other, gen::Ref ref, gen::PID maker);

  const Addresses& addresses_;
  Delivery& delivery_;
  ExitSignals& exit_signals_;
};

}  // namespace ergon::node
