#include <ergon/node/process_state/slot.h>

#include <algorithm>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

ProcessSlot::~ProcessSlot() {
  delete cold_.load(std::memory_order_relaxed);
  delete pool_.load(std::memory_order_relaxed);
  delete extras_.load(std::memory_order_relaxed);
}

// Sequentially consistent, as is making the cold part; partner: ProcessRunner::Finish, then Population::Leave, which
// looks at the cold part afterwards.
bool ProcessSlot::IsYetToEnd(gen::PID pid) const noexcept {
  const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
  const EndStep step = end_step_.load(std::memory_order_seq_cst);
  const bool is_terminating = activity_.IsTerminating();
  if (generation == GenerationOf(pid)) return step == EndStep::kNone || is_terminating;
  // With another step it is the slot's next process that is terminating; for an instant it may be that with this one.
  return generation == GenerationOf(pid) + 1 && step == EndStep::kPidGone && is_terminating;
}

bool ProcessSlot::HasRoomForMore() const noexcept {
  return mailbox_.capacity() == 0 && GetQueueLane() == nullptr;
}

gen::ProcessState ProcessSlot::State() const noexcept {
  const gen::ProcessState state = activity_.state();
  const bool is_ready = state == gen::ProcessState::kIdle
                            ? !mailbox_.IsIdle()
                            : state == gen::ProcessState::kWaiting && await_.HasOutcome();
  return is_ready ? gen::ProcessState::kReady : state;
}

const RareCounts& ProcessSlot::Rare() const noexcept {
  static const RareCounts none;
  const ProcessCold* cold = ColdIfAny();
  return cold == nullptr ? none : cold->counts;
}

std::uint64_t ProcessSlot::MainMessagesApprox() const noexcept {
  const std::int64_t own = Rare().own_in_main.load(std::memory_order_acquire);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(mailbox_.MainDepthApprox() - own, 0));
}

std::uint64_t ProcessSlot::ExpressQueuedApprox() const noexcept {
  return static_cast<std::uint64_t>(
      std::max(express_queued_.load(std::memory_order_relaxed), std::int32_t{0}));
}

std::uint64_t ProcessSlot::AsideApprox() const noexcept {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(Rare().held.load(std::memory_order_relaxed), 0));
}

std::uint64_t ProcessSlot::ParentIdOf(gen::PID pid) const noexcept {
  const std::uint64_t parent = parent_id_.load(std::memory_order_acquire);
  return generation_.load(std::memory_order_relaxed) == GenerationOf(pid) ? parent : 0;
}

std::uint64_t ProcessSlot::starting_child() const noexcept {
  const ProcessExtras* extras = extras_.load(std::memory_order_seq_cst);
  return extras == nullptr ? 0 : extras->starting_child.load(std::memory_order_seq_cst);
}

bool ProcessSlot::NoteBegun(std::uint64_t id) {
  if (!IsRequestId(id)) return await_.NoteBegun(id);
  ProcessCold* cold = ColdIfAny();
  return cold != nullptr && cold->awaited.NoteBegun(id);
}

bool ProcessSlot::Awaits(std::uint64_t id) const {
  if (!IsRequestId(id)) return await_.WaitingFor() == id;
  const ProcessCold* cold = ColdIfAny();
  return cold != nullptr && cold->awaited.Contains(id);
}

void ProcessSlot::ExpireWait(std::uint64_t id) {
  if (await_.Expire(id) == core::CompleteOutcome::kMustSchedule) Schedule();
}

ProcessCold& ProcessSlot::Cold() const {
  ProcessCold* cold = cold_.load(std::memory_order_acquire);
  if (cold != nullptr) return *cold;
  auto fresh = std::make_unique<ProcessCold>();
  // Sequentially consistent; partner: CloseRelations, which sets a flag and then looks here.
  if (cold_.compare_exchange_strong(cold, fresh.get(), std::memory_order_seq_cst)) {
    return *fresh.release();
  }
  return *cold;
}

ProcessExtras& ProcessSlot::Extras() const {
  ProcessExtras* extras = extras_.load(std::memory_order_acquire);
  if (extras != nullptr) return *extras;
  auto fresh = std::make_unique<ProcessExtras>(*this);
  // Sequentially consistent; partners: Waited, starting_child.
  if (extras_.compare_exchange_strong(extras, fresh.get(), std::memory_order_seq_cst)) {
    return *fresh.release();
  }
  return *extras;
}

PoolSlot& ProcessSlot::GetPoolSlot() {
  PoolSlot* pool = pool_.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    pool = new PoolSlot;
    pool_.store(pool, std::memory_order_release);  // partner: pool
  }
  return *pool;
}

gen::LogLevel ProcessSlot::LogLevelOr(gen::LogLevel of_node) const noexcept {
  const std::uint8_t level = log_level_.load(std::memory_order_relaxed);
  return level == kNodeLogLevel ? of_node : static_cast<gen::LogLevel>(level);
}

gen::LogLevel SlotLog::Level() const { return slot_.LineLevel(); }

void SlotLog::Write(gen::LogLevel level, std::string_view text) { slot_.WriteLine(level, text); }

}  // namespace ergon::node
