// The part of a process that few messages touch: names, relations, and open requests, also those it has made.
//
// It belongs to a slot, not to a process: made when first needed, emptied when a process ends,
// never freed while the node lives. So any thread may lock it at any time; what it finds there is
// only valid if the slot still has the generation it came for and `closed` is false.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include <ergon/core/foundations/keyed_list.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/event.h>
#include <ergon/gen/metrics.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/relation_options.h>
#include <ergon/gen/status.h>
#include <ergon/gen/target.h>
#include <ergon/node/process_state/awaited_responses.h>
#include <ergon/node/process_state/behavior_times.h>
#include <ergon/node/process_state/passed_over.h>
#include <ergon/node/process_state/queue_lane.h>
#include <ergon/node/process_state/rare_counts.h>
#include <ergon/node/process_state/waiting_senders.h>
#include <ergon/node/process_state/watcher_list.h>

namespace ergon::node {

// How far a process got with an event to which it had subscribed before.
struct EventMark {
  std::uint64_t event = 0;  // which one of those that had the name; 0: none
  std::uint64_t seen =
      0;  // how many of its values were sent to the process, returned, or too old for that
  std::uint32_t creation = 0;  // of the event's node, if that is another one
};

// How far a process got with an event of another node. The process keeps it for its next subscription, and the way to
// that node has it, too, and writes it as values come; guarded by a lock of the latter.
struct EventProgress {
  EventMark mark;
  bool has_come =
      false;  // some values, which may wait in the mailbox, or the answer to a subscription
};

struct ProcessCold {
  ~ProcessCold() {
    delete queue_lane.load(std::memory_order_relaxed);
    delete waiting_senders.load(std::memory_order_relaxed);
  }

  core::SpinLock lock;

  // -- guarded by `lock` --
  // The processes that get an exit signal when this process ends. An entry leaves when the other side's signal has been
  // handled or Unlink was called: a signal without an entry is stale.
  struct Link {
    gen::PID pid;
    gen::NoticeOrder order = gen::NoticeOrder::kUsual;  // of the signal to this process
  };
  struct ByPid {
    gen::PID operator()(const auto& entry) const noexcept { return entry.pid; }
  };
  using Links = core::KeyedList<Link, ByPid>;
  Links links;
  struct ByRef {  // the key of most of the others
    std::uint64_t operator()(const auto& entry) const noexcept { return entry.ref.id; }
  };
  using Watcher = node::Watcher;
  using Watchers = WatcherList<>;
  Watchers watchers;
  struct Monitor {  // a process that this process monitors
    gen::PID pid;
    gen::Ref ref;
    gen::NoticeOrder order = gen::NoticeOrder::kUsual;
  };
  using Monitors = core::KeyedList<Monitor, ByRef>;
  Monitors monitors;
  // A link by a name or an alias; or a former link by the PID whose connection was lost, which the process has not
  // handled yet.
  struct NamedLink {
    gen::PID pid;
    gen::Ref ref;
    gen::Target what;
    gen::NoticeOrder order = gen::NoticeOrder::kUsual;
  };
  using NamedLinks = core::KeyedList<NamedLink, ByRef>;
  NamedLinks named_links;
  struct ById {
    std::uint64_t operator()(const auto& entry) const noexcept { return entry.id; }
  };
  core::KeyedList<gen::Alias, ById> aliases;
  gen::Atom name;
  std::vector<gen::Atom> events;  // produced
  struct EventSubscription {
    gen::Event event;  // with its node
    std::uint64_t id;  // that of its notice: one without an entry is stale
    bool link;         // LinkEvent, not MonitorEvent
  };
  using Subscriptions = core::KeyedList<EventSubscription, ById>;
  Subscriptions subscriptions;
  struct GroupNotes {
    struct Note {
      gen::Atom group;
      std::uint64_t id;
    };
    // In the order of joining; the id is the membership's number in its group.
    std::vector<Note> memberships;
    std::vector<Note> monitors;  // the id is that of its notices: one without an entry is stale
  };
  std::unique_ptr<GroupNotes> groups;  // null: it has joined and monitored none
  bool joins_no_group = false;         // it is ending, and has left its groups
  // Of the slot's last process whose link its parent's exit signal, or a failed Init, has taken.
  std::uint32_t ends_with_parent = 0;
  bool periodic_sends = false;        // there may be some (see PeriodicSends)
  std::vector<core::Event*> waiters;  // threads in WaitProcess
  struct WaitingProcess {             // in AwaitEnd
    gen::PID pid;
    std::uint64_t id;  // of its wait
  };
  std::vector<WaitingProcess> waiting_processes;
  gen::ProcessFallback fallback;
  gen::Overflow overflow =
      gen::Overflow::kReject;  // of a bounded mailbox without a queue of its own
  gen::Mailbox mailbox;        // as it was asked for

  // -- without a lock --
  RareCounts counts;
  // The slot's; made when first needed. Partner: ProcessRunner::OpenMailbox.
  std::atomic<QueueLane*> queue_lane{nullptr};
  // The slot's; made when first needed. Partner: BackPressure.
  std::atomic<WaitingSenders*> waiting_senders{nullptr};

  // The behaviour and generation of the slot's last process that left messages behind.
  const std::type_info* former_behavior = nullptr;
  std::uint32_t former_generation = 0;

  // -- with a lock of its own --
  AwaitedResponses awaited;

  // -- the process's own --
  // Of a worker of a pool that is a worker itself: the processes that inherit from it when that pool has ended, the
  // nearest first (ids).
  std::vector<std::uint64_t> further_heirs;
  std::vector<core::EnvelopePtr> left_to_heir;  // see PoolHost::LeaveToHeir
  std::vector<core::EnvelopePtr> stash;
  std::size_t stash_limit = 0;  // 0: none
  std::unique_ptr<PassedOver> passed_over;
  std::function<gen::Status()> next;  // see ProcessHost::SetNext
  // Of its behaviour; they stay as long as the node. Null: nothing is measured. Any thread.
  std::atomic<BehaviorTimes*> times{nullptr};
  // Clock ns at which its handler has got a message; 0: none runs, or it is not measured.
  std::int64_t handling_since = 0;
  gen::Histogram* called = nullptr;  // for the call that it makes, if that is measured
  std::uint64_t trace = 0;           // of what it handles, if OutgoingMarks says so
  struct OpenRequest {               // the handler gave no answer yet
    gen::PID from;
    std::uint64_t order;  // of arrival
  };
  std::unordered_map<gen::Ref, OpenRequest> open_requests;
  // Of this node, to which it has subscribed once.
  std::unordered_map<gen::Atom, EventMark> past_events;
  // Events that have ended are looked for when there are more.
  static constexpr std::size_t kPastEventsLimit = 64;
  std::size_t past_events_limit = kPastEventsLimit;
  // The same of other nodes; the one that it has subscribed to last is the last one.
  struct PastEventElsewhere {
    gen::Event event;
    std::shared_ptr<EventProgress> progress;
  };
  std::vector<PastEventElsewhere> past_events_elsewhere;
  // Nobody tells which of them are no more: when there are so many, the first one is forgotten.
  static constexpr std::size_t kPastEventsElsewhereLimit = 1024;
  std::uint64_t open_requests_seen = 0;
  // Expired requests are looked for when there are more.
  static constexpr std::size_t kOpenRequestsLimit = 64;
  std::size_t open_requests_limit = kOpenRequestsLimit;
};

}  // namespace ergon::node
