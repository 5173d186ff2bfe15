// How a process begins.
#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/process/measuring.h>
#include <ergon/node/process/pending_wait.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/spawning/dedicated_dispatchers.h>
#include <ergon/node/spawning/lineage.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {

// A process's copy of the mailbox that its options choose.
struct KeptMailbox {
  gen::Mailbox mailbox;  // empty until OpenMailbox if there are no functions of the user's in it
  std::unique_ptr<gen::MailboxQueue> queue;  // null: it has none of its own
};
namespace {

// On the stack of its parent's, but an Init that spawns in turn, and so on, would use that up. So it
// gets half of a stack at least.
bool HasStackForInit() {
  const core::Fiber* const fiber = core::Worker::CurrentFiber();
  return fiber == nullptr || fiber->StackLeft() >= fiber->stack_bytes() / 2;
}

// Copies and calls functions of the user's, while the slot is free still.
gen::Result<void> KeepMailbox(const gen::Mailbox& mailbox, KeptMailbox& kept) {
  if (!mailbox.HasQueue()) return {};
  try {
    kept.mailbox = mailbox;
    kept.queue = mailbox.MakeQueue();
  } catch (...) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("mailbox: its factory threw {}", core::ThrownText()));
  }
  if (kept.queue == nullptr) {
    return gen::Error(gen::ErrorCode::kIncorrect, "mailbox: its factory returned null");
  }
  return {};
}

// A child that has been begun elsewhere. Unless its Init is known to have ended, nobody may ever know of it: then it is
// killed, which is heeded when a handler that blocks its thread is over.
class UnknownChild {
 public:
  // `parent`: null if the two are not linked.
  UnknownChild(const Rooms& rooms, ProcessSlot* parent, gen::PID pid)
      : rooms_(rooms), parent_(parent), pid_(pid) {}
  UnknownChild(const UnknownChild&) = delete;
  UnknownChild& operator=(const UnknownChild&) = delete;
  ~UnknownChild() {
    if (!is_unknown_) return;
    // Its Init may just have ended well: as a link, its end would end the parent, which gets an error already.
    if (parent_ != nullptr) (void)rooms_.relations.Unlink(*parent_, pid_);
    (void)rooms_.exit_signals.Kill(pid_);
  }
  void Answered() { is_unknown_ = false; }

 private:
  const Rooms& rooms_;
  ProcessSlot* const parent_;
  const gen::PID pid_;
  bool is_unknown_ = true;
};

}  // namespace

gen::Result<void> ProcessRunner::Open(const SpawnRequest& request,
                                      std::unique_ptr<gen::ProcessBehavior> behavior) {
  KeptMailbox mailbox;
  auto possible = KeepMailbox(request.options.mailbox, mailbox);
  if (!possible) return possible;
  behavior_ = std::move(behavior);
  dispatcher_ = &rooms_.dispatcher;
  const auto give_up = [this]() noexcept {
    behavior_.reset();
    if (dispatcher_ != &rooms_.dispatcher) rooms_.dedicated_dispatchers.Give(*dispatcher_);
  };
  try {
    possible = Equip(request, mailbox);
  } catch (...) {
    give_up();
    throw;
  }
  if (!possible) give_up();
  return possible;
}

gen::Result<void> ProcessRunner::Equip(const SpawnRequest& request, KeptMailbox& mailbox) {
  ForgetFormer();
  UseMarks(request.options.send_priority);
  Inherit(request);
  if (rooms_.latency != nullptr) Measuring::Begin(*this, *rooms_.latency);
  yield_on_send_ = request.options.yield_on_send;
  heir_ = request.heir;
  if (heir_) due_ |= kPaceIsNoted;
  announce_ = request.announce;
  detached_ = request.options.detached;
  if (request.args.size() != 0) GetTransition().args = request.args;
  if (request.options.init_timeout != gen::kDefaultInitTimeout) {
    GetTransition().timeout = request.options.init_timeout;
  }
  started_at_ = rooms_.MayBeCoarse(request.options.init_timeout) ? MachineTime::CoarseNow()
                                                                 : rooms_.clock.Now();
  if (detached_ && rooms_.dispatcher.HasThreads()) {
    auto own = rooms_.dedicated_dispatchers.TakeFree(rooms_.dispatcher.options());
    if (!own) return std::move(own.error());
    dispatcher_ = *own;
  }
  if (!request.options.fallback.name.empty()) {
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    cold.fallback = request.options.fallback;
  }
  // Releases the fields above to those who look at them under the lock of cold_.
  end_step_.store(EndStep::kNone, std::memory_order_release);
  OpenMailbox(request.options, mailbox);
  return {};
}

void ProcessRunner::ForgetFormer() noexcept {
  must_begin_ = true;
  started_ = answered_ = false;
  last_look_ = 0;
  hold_main_ = current_failed_ = others_begin_ = yielded_ = false;
  unusual_ = true;
  taking_ = {};
  suspended_.store(false, std::memory_order_relaxed);
  marks_ = {};
  due_ = 0;
  pace_ = {};
  current_ = nullptr;
  parked_ = nullptr;
  transition_ = nullptr;
  end_requests_.Begin(Generation());
  if (PoolSlot* pool = pool_.load(std::memory_order_relaxed)) pool->Reset();
  activity_.SetState(gen::ProcessState::kStarting);
  activity_.SetInInit(true);
  activity_.NoteNoMessage();
  counts_.Reset();
  if (ProcessCold* cold = ColdIfAny()) {
    cold->counts.Reset();
    cold->further_heirs.clear();
  }
  routed_work_.Reset();
}

void ProcessRunner::Inherit(const SpawnRequest& request) {
  parent_id_.store(request.parent.id, std::memory_order_relaxed);
  // Its turn: nobody changes it meanwhile.
  const auto* const parent =
      static_cast<const ProcessRunner*>(rooms_.addresses.Find(request.parent));
  const std::uint64_t leader = Lineage::LeaderOf(request, parent);
  leader_id_.store(leader != 0 ? leader : Id(), std::memory_order_relaxed);
  if (rooms_.lineage.HasEnvironments(request)) {
    SharedEnvironment inherited = rooms_.lineage.EnvironmentOf(request, parent);
    if (inherited != nullptr || ExtrasIfAny() != nullptr) {
      Extras().environment = std::move(inherited);
    }
  }
  const gen::TraceId trace = parent == nullptr ? request.trace : parent->marks_.trace(*parent);
  if (trace != 0) BeginTrace(trace);
  std::uint8_t level =
      parent == nullptr ? kNodeLogLevel : parent->log_level_.load(std::memory_order_relaxed);
  if (request.options.log_level) level = static_cast<std::uint8_t>(*request.options.log_level);
  log_level_.store(level, std::memory_order_relaxed);
}

// No later than a spawner that waits gives up. So a child that was too late knows it, and its failure is the spawner's
// error, and no exit signal.
std::int64_t ProcessRunner::InitDeadline() const noexcept {
  return core::DeadlineAfter(started_at_, InitTimeoutOf(transition_.get()));
}

bool ProcessRunner::ReportStarted() {
  const gen::PID self = Self();
  if (transition_ != nullptr && transition_->ref != 0) {
    const bool told =
        rooms_.delivery.Respond(Parent(), transition_->ref, gen::detail::MakeResponse(self))
            .has_value();
    // Nobody waits any more: it was too late, and is being killed.
    transition_->late = !told && rooms_.clock.Now() >= InitDeadline();
    if (transition_->late) return false;
  } else if (announce_) {
    auto started = core::MakeEnvelope<gen::MessageStarted>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kStarted), core::Lane::kUrgent,
        gen::MessageStarted{self});
    started->from = self.ToAddress();
    (void)rooms_.delivery.Deliver(Parent(), started);
  }
  transition_ = nullptr;
  return true;
}

void ProcessRunner::ReportFailedInit(const gen::Reason& reason) {
  if (transition_ != nullptr && transition_->ref != 0) {
    (void)rooms_.delivery.Respond(
        Parent(), transition_->ref,
        gen::detail::MakeErrorResponse(InitErrorOf(transition_.get(), reason)));
  }
  transition_ = nullptr;
}

void ProcessRunner::Abandon() { Finish(gen::Reason::Normal()); }

Transition& ProcessRunner::GetTransition() {
  if (transition_ == nullptr) transition_ = std::make_unique<Transition>();
  return *transition_;
}

void ProcessRunner::OpenMailbox(const gen::ProcessOptions& options, KeptMailbox& kept) {
  const gen::Mailbox& mailbox = options.mailbox;
  const bool is_special =
      mailbox.bound() != 0 || mailbox.HasQueue() || mailbox.overflow() != gen::Overflow::kReject;
  if (is_special || options.stash_size != 0) {
    if (kept.queue == nullptr) kept.mailbox = mailbox;  // without functions
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    std::swap(cold.mailbox, kept.mailbox);
    cold.overflow = mailbox.overflow();
    cold.stash_limit = static_cast<std::size_t>(options.stash_size);
  }
  if (kept.queue == nullptr) {
    // A pool says itself what its workers' mailboxes take.
    const bool is_chosen = options.mailbox_size != 0 || mailbox.IsChosen() || heir_;
    const int bound = options.mailbox_size != 0 ? options.mailbox_size : mailbox.bound();
    mailbox_.Open(is_chosen ? static_cast<std::uint32_t>(bound)
                            : rooms_.mailbox_size.load(std::memory_order_relaxed));
    return;
  }
  taking_.UseQueue(true);
  QueueLane* lane = GetQueueLane();
  if (lane == nullptr) {
    lane = new QueueLane;
    Cold().queue_lane.store(lane, std::memory_order_release);  // partner: GetQueueLane
  }
  lane->Open(generation_.load(std::memory_order_relaxed), std::move(kept.queue),
             static_cast<std::size_t>(mailbox.bound()));
  mailbox_.OpenQueued();
}

bool ProcessRunner::RunInit(gen::Error& failure) {
  gen::Status status;
  const gen::Args args = transition_ == nullptr ? gen::Args() : std::move(transition_->args);
  try {
    // Killed before it has begun, such as one whose time for Init was over while no thread was free.
    status = IsKilled() ? gen::Status(gen::Stop(gen::Reason::Kill()))
                        : behavior_->ProcessInit(Host(), args);
    if (!status.stops() && !IsInitLate(transition_.get())) {
      const bool may_be_awaited = transition_ != nullptr || announce_;
      activity_.SetInInit(false);  // before anybody is told
      started_ = !may_be_awaited || ReportStarted();
    }
  } catch (...) {
    status = gen::Stop(PanicReason());
  }
  if (started_) {
    unusual_ = rooms_.latency != nullptr;
    must_begin_ = behavior_->Receives() || status.has_next();
    return true;
  }
  if (IsInitLate(transition_.get())) [[unlikely]] {  // whatever it has made of that
    const gen::ProcessBehavior& behavior = *behavior_;
    const gen::Error error =
        Descriptions::InitTimeoutError(Self(), typeid(behavior), InitTimeoutOf(transition_.get()));
    status = gen::Stop(gen::Reason::Error(std::string(error.detail())));
  }
  failure = InitErrorOf(transition_.get(), status.reason());
  Finish(status.reason());
  SetCurrentProcess(nullptr);
  return false;
}

bool ProcessRunner::RunInitInline(gen::Error& failure) {
  ProcessRunner* const parent = CurrentProcess();
  SetCurrentProcess(this);
  activity_.SetState(gen::ProcessState::kRunning);
  const bool ready = RunInit(failure);
  if (ready) {
    // The child's first messages are for its own turns.
    activity_.SetState(gen::ProcessState::kIdle);
    if (must_begin_ || !mailbox_.TryIdle(TakesMain())) Schedule();
  }
  SetCurrentProcess(parent);
  return ready;
}

gen::Result<gen::PID> ProcessRunner::MakeChild(const SpawnRequest& request) {
  if (!request.announce) CheckMaySuspend(FunctionThatSpawns(request));
  std::atomic<std::uint64_t>& starting_child = Extras().starting_child;
  auto opened = rooms_.spawning.Open(request);
  if (!opened) return std::move(opened.error());
  auto& child = static_cast<ProcessRunner&>(**opened);
  UnbegunProcess unbegun(child);
  const gen::PID pid = child.Self();
  if (request.heir && heir_) {
    std::vector<std::uint64_t> heirs{parent_id_.load(std::memory_order_relaxed)};
    if (const ProcessCold* cold = ColdIfAny()) {
      heirs.insert(heirs.end(), cold->further_heirs.begin(), cold->further_heirs.end());
    }
    child.Cold().further_heirs = std::move(heirs);
  }
  if (request.announce) {
    unbegun.LetGo();
    child.Schedule();
    return pid;
  }
  if (child.dispatcher_ == dispatcher_ && HasStackForInit()) {
    // Init runs here and now. Should it wait, this fiber waits with it, and this process too.
    starting_child.store(pid.id, std::memory_order_relaxed);  // see HeedParents
    gen::Error failure = gen::ErrProcessTerminated;
    unbegun.LetGo();
    const bool ready = child.RunInitInline(failure);
    starting_child.store(0, std::memory_order_relaxed);
    if (ready) return pid;
    return failure;
  }
  const gen::ProcessBehavior& behavior = *child.behavior_;
  const std::type_info& behavior_type = typeid(behavior);  // the child may end at any time
  PendingWait wait(*this);
  child.GetTransition().ref = wait.id();
  unbegun.LetGo();
  UnknownChild unknown(rooms_, request.link ? this : nullptr, pid);
  child.Schedule();
  const auto timeout = request.options.init_timeout;
  auto outcome =
      wait.Wait(timeout == gen::kInfinite ? 0 : core::DeadlineAfter(rooms_.clock.Now(), timeout));
  if (!outcome) return std::move(outcome.error());
  if (*outcome == core::AwaitOutcome::kExpired) {
    return Descriptions::InitTimeoutError(pid, behavior_type, timeout);
  }
  unknown.Answered();
  if (auto* error = wait.answer->ValueAs<gen::Error>()) return std::move(*error);
  return pid;
}

}  // namespace ergon::node
