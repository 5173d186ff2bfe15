// A slot for processes: what any thread may ask of the process that lives in it now.
//
// Slots are recycled, never freed. A PID is a slot's index and generation; the generation changes
// when the process ends, so a late sender finds out by one comparison, without a reference count.
//
// All public functions may be called from any thread, unless they say otherwise. Protected members belong to the thread
// with the right to run the process: the one that has moved it out of idle (core/messages/dispatch_state.h) or out of
// parked (core/messages/await_state.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ergon/core/dispatcher.h>
#include <ergon/core/messages/await_state.h>
#include <ergon/core/messages/mailbox.h>
#include <ergon/core/schedulable.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/result.h>
#include <ergon/node/process_state/activity.h>
#include <ergon/node/process_state/call_edge.h>
#include <ergon/node/process_state/cold.h>
#include <ergon/node/process_state/end_requests.h>
#include <ergon/node/process_state/environments.h>
#include <ergon/node/process_state/extras.h>
#include <ergon/node/process_state/message_counts.h>
#include <ergon/node/process_state/pool_slot.h>
#include <ergon/node/process_state/queue_lane.h>
#include <ergon/node/process_state/routed_work.h>

namespace ergon::node {

struct SpawnRequest;

// Returns the generation of its slot that a PID means.
inline std::uint32_t GenerationOf(gen::PID pid) noexcept {
  return static_cast<std::uint32_t>(pid.id >> 32);
}

class alignas(64) ProcessSlot : public core::Schedulable {
 public:
  ProcessSlot(const ProcessSlot&) = delete;
  ProcessSlot& operator=(const ProcessSlot&) = delete;

  // -- who lives here --

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  // Returns the id in the PID of the process that lives here now; it changes when that process ends.
  [[nodiscard]] std::uint64_t Id() const noexcept {
    return std::uint64_t{generation_.load(std::memory_order_relaxed)} << 32 | index_;
  }
  // Returns whether the process with this PID lives here. Acquire; partner: ProcessRunner::Finish.
  [[nodiscard]] bool HasProcess(gen::PID pid) const noexcept {
    return generation_.load(std::memory_order_acquire) == GenerationOf(pid);
  }
  [[nodiscard]] bool HadProcess(gen::PID pid) const noexcept {
    return GenerationOf(pid) != 0 &&
           generation_.load(std::memory_order_relaxed) > GenerationOf(pid);
  }
  // Returns whether the process with this PID lives here and has not ended. Only under the lock of Cold().
  [[nodiscard]] bool IsStill(gen::PID pid) const noexcept {
    return generation_.load(std::memory_order_relaxed) == GenerationOf(pid) &&
           end_step_.load(std::memory_order_seq_cst) == EndStep::kNone;
  }
  // Returns whether the process with this PID lives here, or its end is not complete: what it left behind is still
  // being answered and counted. False is certain; true only under the lock of Cold(), where the end waits.
  [[nodiscard]] bool IsYetToEnd(gen::PID pid) const noexcept;
  // Return ids; that of the node itself for a process without parent.
  [[nodiscard]] std::uint64_t parent_id() const noexcept {
    return parent_id_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t leader_id() const noexcept {
    return leader_id_.load(std::memory_order_relaxed);
  }
  // Returns the id of the parent of the process with this PID; 0 if that process has ended.
  [[nodiscard]] std::uint64_t ParentIdOf(gen::PID pid) const noexcept;
  [[nodiscard]] std::uint64_t sequence() const noexcept {  // the order of spawning
    return sequence_.load(std::memory_order_relaxed);
  }
  void SetSequence(std::uint64_t sequence) noexcept {
    sequence_.store(sequence, std::memory_order_relaxed);
  }
  // The next five only under the lock of Cold(), while IsStill. Fixed from spawn to end, which waits for that lock.
  [[nodiscard]] const gen::ProcessBehavior& behavior() const noexcept { return *behavior_; }
  [[nodiscard]] bool detached() const noexcept { return detached_; }
  [[nodiscard]] bool is_worker() const noexcept { return heir_; }  // of a pool, its parent
  [[nodiscard]] std::int64_t started_at() const noexcept { return started_at_; }  // Clock ns
  [[nodiscard]] SharedEnvironment environment() const {  // in its own turns without the lock
    const ProcessExtras* extras = ExtrasIfAny();
    return extras == nullptr ? nullptr : extras->environment;
  }
  static constexpr std::uint8_t kNodeLogLevel = 0xff;  // the process has no level of its own
  // The process's own level. Written under the lock of Cold(), while IsStill, or by the process itself.
  [[nodiscard]] std::atomic<std::uint8_t>& own_log_level() noexcept { return log_level_; }
  [[nodiscard]] gen::LogLevel LogLevelOr(gen::LogLevel of_node) const noexcept;
  [[nodiscard]] virtual gen::LogLevel LineLevel() const = 0;
  virtual void WriteLine(gen::LogLevel level, std::string_view text) const = 0;

  // -- its parts --

  [[nodiscard]] core::Mailbox& mailbox() noexcept { return mailbox_; }
  [[nodiscard]] const core::Mailbox& mailbox() const noexcept { return mailbox_; }
  [[nodiscard]] core::AwaitState& await() noexcept { return await_; }
  [[nodiscard]] const core::AwaitState& await() const noexcept { return await_; }
  [[nodiscard]] EndRequests& end_requests() noexcept { return end_requests_; }
  [[nodiscard]] const EndRequests& end_requests() const noexcept { return end_requests_; }
  [[nodiscard]] const Activity& activity() const noexcept { return activity_; }
  [[nodiscard]] gen::ProcessState State() const noexcept;  // its activity's, or kReady
  [[nodiscard]] const MessageCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] RoutedWork& routed_work() noexcept { return routed_work_; }
  [[nodiscard]] const RoutedWork& routed_work() const noexcept { return routed_work_; }
  // The part that few messages touch.
  ProcessCold& Cold() const;  // makes it
  [[nodiscard]] ProcessCold* ColdIfAny() const noexcept {
    return cold_.load(std::memory_order_acquire);  // partner: Cold
  }
  // The part that only some processes need.
  ProcessExtras& Extras() const;  // makes it
  [[nodiscard]] ProcessExtras* ExtrasIfAny() const noexcept {
    return extras_.load(std::memory_order_acquire);  // partner: Extras
  }
  // Returns the rare counts, for reading.
  [[nodiscard]] const RareCounts& Rare() const noexcept;
  // Returns the part that makes the slot the address of a pool, or null.
  [[nodiscard]] PoolSlot* pool() const noexcept {
    return pool_.load(std::memory_order_acquire);  // partner: GetPoolSlot
  }
  PoolSlot& GetPoolSlot();  // makes it; the process itself
  // Returns whether the process has workers, alive or not.
  [[nodiscard]] bool IsPool() const noexcept {
    const PoolSlot* slot = pool();
    return slot != nullptr && slot->rotation.size() != 0;
  }
  // Returns the Main lane of a mailbox with an order of its own: the slot's, or null.
  [[nodiscard]] QueueLane* GetQueueLane() const noexcept {
    const ProcessCold* cold = ColdIfAny();
    // Acquire; partner: ProcessRunner::OpenMailbox.
    return cold == nullptr ? nullptr : cold->queue_lane.load(std::memory_order_acquire);
  }

  // -- its messages --

  [[nodiscard]] bool HasRoomForMore() const noexcept final;  // false: there is a bound, or may be
  // Schedules the process, for the thread that got the right to run it. noexcept: nobody could run it any more.
  void Schedule() noexcept { dispatcher_->Schedule(*this); }
  [[nodiscard]] bool IsHeld() const noexcept { return suspended_.load(std::memory_order_seq_cst); }
  // Counts a message of high priority, before it is pushed: its receiver may count it as taken right afterwards.
  void NoteExpressSent() noexcept { express_queued_.fetch_add(1, std::memory_order_relaxed); }
  // Notes that such a message could not be pushed, or has left the mailbox.
  void NoteExpressGone() noexcept { express_queued_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t ExpressQueuedApprox() const noexcept;
  // Returns how many messages wait in the Main lane, without what the behaviour has put there itself.
  [[nodiscard]] std::uint64_t MainMessagesApprox() const noexcept;
  // Returns how many messages the behaviour has stashed, or holds otherwise.
  [[nodiscard]] std::uint64_t AsideApprox() const noexcept;
  // Returns how many messages the process has to handle, including the one that it handles.
  [[nodiscard]] std::uint64_t LoadApprox() const noexcept {
    return MainMessagesApprox() + AsideApprox() + (activity_.IsInHandler() ? 1 : 0);
  }

  // -- what it waits for --

  // Returns the slot's edge, or null if there is none, because no process has made a Call in this slot so far.
  [[nodiscard]] CallEdge* call_edge() const noexcept {
    ProcessExtras* extras = ExtrasIfAny();
    return extras == nullptr ? nullptr : &extras->edge;
  }
  // Returns what the process waits for in a Call. Sequentially consistent, as is the edge itself; partner: Extras.
  [[nodiscard]] CallEdge::View Waited() const noexcept {
    const ProcessExtras* extras = extras_.load(std::memory_order_seq_cst);
    return extras == nullptr ? CallEdge::View() : extras->edge.Read();
  }
  // Returns the id of that wait if it is certain, else 0.
  [[nodiscard]] std::uint64_t WaitedForCertain() const noexcept {
    const ProcessExtras* extras = extras_.load(std::memory_order_seq_cst);
    return extras == nullptr ? 0 : extras->edge.CertainId();
  }
  [[nodiscard]] std::uint64_t starting_child() const noexcept;  // see ProcessExtras
  // Notes the beginning of any request that a process in this slot waits for; see core::AwaitState::NoteBegun.
  [[nodiscard]] bool NoteBegun(std::uint64_t id);
  [[nodiscard]] bool Awaits(std::uint64_t id) const;
  // Ends the wait with this id, whose time is up. Slots outlive timers, and ids are unique: a late timer ends none.
  void ExpireWait(std::uint64_t id);

  // -- its end --

  // Makes IsStill false. Returns the cold part, or null: whoever makes it later sees the flag. Sequentially consistent;
  // partner: Cold.
  [[nodiscard]] ProcessCold* CloseRelations() noexcept {
    end_step_.store(EndStep::kRelationsClosed, std::memory_order_seq_cst);
    return cold_.load(std::memory_order_seq_cst);
  }
  // Returns the cold part, or null, when the process has said that it has ended: whoever makes it later sees that.
  [[nodiscard]] ProcessCold* ColdAfterEnd() const noexcept {
    return cold_.load(std::memory_order_seq_cst);  // partner: IsYetToEnd
  }

  // -- its beginning: for Spawning, with the right to run the process --

  // Fills a free slot. After an error it is free as before.
  virtual gen::Result<void> Open(const SpawnRequest& request,
                                 std::unique_ptr<gen::ProcessBehavior> behavior) = 0;
  // Ends the process, which has not begun.
  virtual void Abandon() = 0;
  // Notes that the parent waits for the outcome of Init, as the answer to the request with this id.
  virtual void AnswerAfterInit(std::uint64_t id) = 0;

 protected:
  explicit ProcessSlot(std::uint32_t index) : index_(index) {}
  ~ProcessSlot();

  [[nodiscard]] std::uint32_t Generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  // A line that is seldom written and read by senders and the process. The express stack of the mailbox ends it.
  std::atomic<std::uint32_t> generation_{1};
  const std::uint32_t index_;
  core::Dispatcher* dispatcher_ = nullptr;
  std::atomic<PoolSlot*> pool_{nullptr};
  mutable std::atomic<ProcessCold*> cold_{nullptr};
  mutable std::atomic<ProcessExtras*> extras_{nullptr};
  // A line that the process writes, then one that others write. Nothing on the latter is read for each plain message
  // that is handled: senders would wait for that line then. Small members fill the ends of the parts before them.
  core::Mailbox mailbox_;
  core::AwaitState await_;
  std::atomic<EndStep> end_step_{EndStep::kPidGone};
  std::atomic<bool> suspended_{false};
  // Belongs to the slot: what arrives late counts, too.
  std::atomic<std::int32_t> express_queued_{0};
  std::atomic<std::uint64_t> parent_id_{0};
  std::atomic<std::uint64_t> leader_id_{0};
  std::int64_t started_at_ = 0;
  std::atomic<std::uint64_t> sequence_{0};
  // The process's own.
  MessageCounts counts_;
  [[no_unique_address]] RoutedWork routed_work_;
  std::atomic<std::uint8_t> log_level_{0};
  bool detached_ : 1 = false;
  bool heir_ : 1 = false;  // the parent, a pool, inherits what is not handled
  [[no_unique_address]] EndRequests end_requests_;
  std::unique_ptr<gen::ProcessBehavior> behavior_;
  [[no_unique_address]] Activity activity_;  // the last one: its end is the runner's
};

}  // namespace ergon::node
