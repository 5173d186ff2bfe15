// How a process begins and ends.
#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <utility>

#include <ergon/core/turns/worker.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {

Process::~Process() {
  delete cold_.load(std::memory_order_relaxed);
  delete pool_.load(std::memory_order_relaxed);
  delete call_edge_.load(std::memory_order_relaxed);
}

gen::Result<void> Process::Open(const SpawnRequest& request,
                                std::unique_ptr<gen::ProcessBehavior> behavior) {
  auto queue = MakeQueue(request.options.mailbox);
  if (!queue) return std::move(queue.error());
  behavior_ = std::move(behavior);
  parent_id_.store(request.parent.id, std::memory_order_relaxed);
  const std::uint64_t leader = runtime_->LeaderOf(request);
  leader_id_.store(leader != 0 ? leader : Self().id, std::memory_order_relaxed);
  SharedEnvironment inherited = runtime_->InheritedBy(request);
  environment_ =
      inherited == nullptr ? nullptr : std::make_unique<SharedEnvironment>(std::move(inherited));
  started_ = ending_ = answered_ = hold_main_ = current_failed_ = has_queue_ = false;
  important_delivery_ = false;
  suspended_.store(false, std::memory_order_relaxed);
  if (PoolSlot* pool = pool_.load(std::memory_order_relaxed)) pool->Reset();
  yielded_ = false;
  pace_ = {};
  yield_on_send_ = request.options.yield_on_send;
  heir_ = request.heir;
  announce_ = request.announce;
  detached_ = request.options.detached;
  others_begin_ = false;
  current_ = nullptr;
  parked_ = nullptr;
  end_reason_ = nullptr;
  send_priority_ = request.options.send_priority;
  init_ = nullptr;
  trap_exit_.store(false, std::memory_order_relaxed);
  heeds_exits_.store(false, std::memory_order_relaxed);
  log_level_.store(request.options.log_level ? static_cast<std::uint8_t>(*request.options.log_level)
                                             : kNodeLogLevel,
                   std::memory_order_relaxed);
  state_.store(static_cast<std::uint8_t>(gen::ProcessState::kStarting), std::memory_order_relaxed);
  counts_.Reset();
  if (ProcessCold* cold = ColdIfAny()) {
    cold->counts.Reset();
    cold->further_heirs.clear();
  }
  current_routed_.store(false, std::memory_order_relaxed);
  routed_handled_.Reset();
  current_type_.store(nullptr, std::memory_order_relaxed);
  duty_.store(gen::WorkerDuty::kNone, std::memory_order_relaxed);
  started_at_ = Now();
  if (request.args.size() != 0) GetInit().args = request.args;
  if (request.options.init_timeout != gen::kDefaultInitTimeout) {
    GetInit().timeout = request.options.init_timeout;
  }
  if (detached_ && runtime_->HasThreads()) {
    auto dispatcher = runtime_->TakeOwnDispatcher();
    if (!dispatcher) return std::move(dispatcher.error());
    dispatcher_ = *dispatcher;
  } else {
    dispatcher_ = &runtime_->dispatcher();
  }
  if (!request.options.fallback.name.empty()) {
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    cold.fallback = request.options.fallback;
  }
  // Releases the fields above to those who look at them under the lock of cold_.
  relations_closed_.store(false, std::memory_order_seq_cst);
  OpenMailbox(request.options, std::move(*queue));
  return {};
}

bool Process::ReportStarted() {
  const gen::PID self = Self();
  if (init_ != nullptr && init_->ref != 0) {
    const bool told =
        runtime_->Respond(Parent(), init_->ref, gen::detail::MakeResponse(self)).has_value();
    // Nobody waits any more: it was too late, and is being killed.
    init_->late = !told && Now() >= DeadlineAfter(started_at_, InitTimeout());
    if (init_->late) return false;
  } else if (announce_) {
    auto started = core::MakeEnvelope<gen::MessageStarted>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kStarted), core::Lane::kUrgent,
        gen::MessageStarted{self});
    started->from = self.ToAddress();
    (void)runtime_->Deliver(Parent(), started);
  }
  init_ = nullptr;
  return true;
}

void Process::ReportFailedInit(const gen::Reason& reason) {
  if (init_ != nullptr && init_->ref != 0) {
    (void)runtime_->Respond(Parent(), init_->ref,
                            gen::detail::MakeErrorResponse(InitError(reason)));
  }
  init_ = nullptr;
}

void Process::Finish(const gen::Reason& reason) {
  const gen::PID self = Self();
  const bool was_started = started_;
  core::Envelope* const current = current_;
  const bool current_open = IsOpenQuestion();
  const bool holds_current = current != nullptr && current_routed_.load(std::memory_order_relaxed);
  state_.store(static_cast<std::uint8_t>(gen::ProcessState::kTerminating),
               std::memory_order_relaxed);
  current_type_.store(nullptr, std::memory_order_relaxed);  // Terminate handles no message
  if (was_started) {
    try {
      behavior_->ProcessTerminate(reason);
    } catch (...) {
      Log().Error("Terminate threw: {}", PanicReason());
    }
  }
  if (reason.IsFailure()) Log().Debug("ended: {}", reason);
  // Again: Terminate may have waited for something. Partner: IsYetToEnd.
  state_.store(static_cast<std::uint8_t>(gen::ProcessState::kTerminating),
               std::memory_order_seq_cst);

  counts_.Check();
  // From here on nobody can send to it, and its names are free for others.
  std::vector<core::EnvelopePtr> waiting;
  core::Mailbox::Rest rest = CloseMailbox(waiting);
  if (ProcessCold* cold = ColdIfAny(); cold != nullptr && !cold->bequest.empty()) {
    auto bequest = std::exchange(cold->bequest, {});
    waiting.insert(waiting.begin(), std::make_move_iterator(bequest.begin()),
                   std::make_move_iterator(bequest.end()));
  }
  if (rest.main != nullptr || rest.express != nullptr || !waiting.empty()) {
    // For those who look at what was dropped.
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    const gen::ProcessBehavior& behavior = *behavior_;
    cold.former_behavior = &typeid(behavior);
    cold.former_generation = GenerationOf(self);
  }
  // A spawn that waits gets the failure as its error, not as an exit signal too.
  if (!was_started && !announce_) (void)Relations::Unlink(*runtime_, *this, Parent());
  // Closed first: nobody can give it a name after its names have been released.
  Relations::Ending ending(*this);
  runtime_->ReleaseNames(*this, reason);
  // Partner: IsYetToEnd.
  generation_.fetch_add(1, std::memory_order_seq_cst);
  behavior_.reset();
  environment_.reset();

  // Notices first, answers afterwards: a caller that learns of the end finds the others informed.
  gen::MessageInheritance inheritance{.pid = self,
                                      .reason = reason,
                                      .messages = std::move(waiting),
                                      .handled = routed_handled_.Read() + SettledByPool(),
                                      .holds_current = holds_current,
                                      .expired = Rare().routed_expired.Read()};
  // The heir, or a parent, may end as soon as it knows: whoever watches both learns of this end first.
  ending.TellWatchers(*runtime_, reason);
  DisposeRest(rest, self, inheritance);
  if (heir_) {
    auto message = core::MakeEnvelope<gen::MessageInheritance>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kInheritance), core::Lane::kUrgent,
        std::move(inheritance));
    message->from = self.ToAddress();
    if (!LeaveToHeir(message)) {
      // The heirs are gone as well.
      auto* left = message->ValueAs<gen::MessageInheritance>();
      for (auto& envelope : left->messages) {
        runtime_->DropEnvelope(std::move(envelope), self, gen::DropReason::kTerminated,
                               TerminatedError(reason));
      }
    }
  } else {
    for (auto& envelope : inheritance.messages) {
      runtime_->DropEnvelope(std::move(envelope), self, gen::DropReason::kTerminated,
                             TerminatedError(reason));
    }
  }
  ending.TellLinks(*runtime_, self, Parent(), reason);
  if (!was_started) ReportFailedInit(reason);

  const gen::Error error = TerminatedError(reason);
  if (current != nullptr) {
    if (current_open) {
      runtime_->RespondError(gen::PID::FromAddress(current->from), current->ref, error);
    }
    current_ = nullptr;
    core::DisposeEnvelope(current);
  }
  if (ProcessCold* cold = ColdIfAny()) {
    AnswerOpenRequests(*cold, error);
    cold->awaited.Clear(runtime_->timers());
  }
  runtime_->ProcessEnded(*this, self, reason);
}

void Process::AnswerOpenRequests(ProcessCold& cold, const gen::Error& error) {
  const auto requests = std::exchange(cold.open_requests, {});
  cold.open_requests_limit = ProcessCold::kOpenRequestsLimit;
  std::vector<const std::pair<const gen::Ref, ProcessCold::OpenRequest>*> in_order;
  in_order.reserve(requests.size());
  for (const auto& request : requests) in_order.push_back(&request);
  std::sort(in_order.begin(), in_order.end(), [](const auto* left, const auto* right) {
    return left->second.order < right->second.order;
  });
  for (const auto* request : in_order) {
    runtime_->RespondError(request->second.from, request->first.id, error);
  }
}

void Process::DisposeRest(core::Mailbox::Rest& rest, gen::PID self,
                          gen::MessageInheritance& inheritance) {
  const auto generation = GenerationOf(self);
  while (rest.main != nullptr) {
    core::EnvelopePtr envelope(rest.main);
    rest.main = rest.main->next;
    const auto kind = static_cast<gen::EnvelopeKind>(envelope->kind);
    if (kind == gen::EnvelopeKind::kStopAfterThis) continue;
    if (envelope->generation != generation) {
      DisposeLate(std::move(envelope));
    } else {
      inheritance.messages.push_back(std::move(envelope));
    }
  }
  while (rest.express != nullptr) {
    core::EnvelopePtr envelope(rest.express);
    rest.express = rest.express->next;
    // Of a worker that has ended just before.
    if (static_cast<gen::EnvelopeKind>(envelope->kind) == gen::EnvelopeKind::kInheritance &&
        heir_) {
      auto* left = envelope->ValueAs<gen::MessageInheritance>();
      left->indirect = true;
      left->late = false;  // it is counted where it was on its way to
      if (LeaveToHeir(envelope)) continue;
    }
    CountTaken(*envelope);
    runtime_->DropEnvelope(std::move(envelope), self, gen::DropReason::kTerminated,
                           TerminatedError(inheritance.reason));
  }
}

bool Process::LeaveToHeir(core::EnvelopePtr& inheritance) {
  if (runtime_->Deliver(Parent(), inheritance)) return true;
  const ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return false;
  inheritance->ValueAs<gen::MessageInheritance>()->indirect = true;
  return std::any_of(cold->further_heirs.begin(), cold->further_heirs.end(), [&](std::uint64_t id) {
    return runtime_->Deliver({id, runtime_->Name(), runtime_->creation()}, inheritance).has_value();
  });
}

void Process::DisposeLate(core::EnvelopePtr envelope) {
  if (ReturnToPool(envelope)) return;
  const gen::PID to = ReceiverOf(*envelope);
  runtime_->DropEnvelope(std::move(envelope), to, gen::DropReason::kUnknown,
                         gen::ErrProcessUnknown);
}

bool Process::ReturnToPool(core::EnvelopePtr& envelope) {
  if ((envelope->flags & core::Envelope::kFlagRouted) == 0 || IsRequest(*envelope)) return false;
  const gen::PID pid{envelope->ref, runtime_->Name(), runtime_->creation()};
  Process* pool = runtime_->Find(pid);
  if (pool == nullptr) return false;
  PoolSlot* slot = pool->pool_.load(std::memory_order_acquire);  // partner: GetPoolSlot
  if (slot == nullptr) return false;
  gen::MessageInheritance inheritance;
  inheritance.late = true;
  inheritance.messages.push_back(std::move(envelope));
  auto message = core::MakeEnvelope<gen::MessageInheritance>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kInheritance), core::Lane::kUrgent,
      std::move(inheritance));
  slot->late.fetch_add(1, std::memory_order_release);  // partner: ReturningMessages
  if (runtime_->Deliver(pid, message)) return true;
  slot->late.fetch_sub(1, std::memory_order_relaxed);
  envelope = std::move(message->ValueAs<gen::MessageInheritance>()->messages.front());
  return false;
}

gen::Error Process::TerminatedError(const gen::Reason& reason) {
  return gen::Error(gen::ErrorCode::kProcessTerminated, reason.ToString());
}

// On the stack of its parent's, but an Init that spawns in turn, and so on, would use that up. So it
// gets half of a stack at least.
bool Process::HasStackForInit() {
  const core::Fiber* const fiber = core::Worker::CurrentFiber();
  return fiber == nullptr || fiber->StackLeft() >= fiber->stack_bytes() / 2;
}

gen::Result<gen::PID> Process::SpawnChild(const SpawnRequest& request) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Spawn");
  if (!request.announce) CheckMaySuspend("Spawn");
  auto opened = runtime_->OpenProcess(request);
  if (!opened) return std::move(opened.error());
  Process& child = **opened;
  const gen::PID pid = child.Self();
  if (request.heir && heir_) {
    std::vector<std::uint64_t> heirs{parent_id_.load(std::memory_order_relaxed)};
    if (const ProcessCold* cold = ColdIfAny()) {
      heirs.insert(heirs.end(), cold->further_heirs.begin(), cold->further_heirs.end());
    }
    child.Cold().further_heirs = std::move(heirs);
  }
  if (request.announce) {
    child.dispatcher_->Schedule(child);
    return pid;
  }
  if (child.dispatcher_ == dispatcher_ && HasStackForInit()) {
    // Init runs here and now. Should it wait, this fiber waits with it, and this process too.
    // Sequentially consistent, and the look at the signals too; partner: Runtime::Interrupt.
    starting_child_.store(pid.id, std::memory_order_seq_cst);
    if (IsInterrupted()) (void)runtime_->Kill(pid);
    gen::Error failure = gen::ErrProcessTerminated;
    const bool ready = child.RunInitInline(failure);
    starting_child_.store(0, std::memory_order_relaxed);
    if (ready) return pid;
    return failure;
  }
  const std::uint64_t id = NextUniqueId();
  const gen::ProcessBehavior& behavior = *child.behavior_;
  const std::type_info& behavior_type = typeid(behavior);  // the child may end at any time
  child.GetInit().ref = id;
  await_.Begin(id);
  child.dispatcher_->Schedule(child);
  core::Envelope* response = nullptr;
  const auto timeout = request.options.init_timeout;
  auto outcome = Wait(id, timeout == gen::kInfinite ? 0 : DeadlineAfter(Now(), timeout), response);
  core::EnvelopePtr answer(response);
  if (!outcome) {
    (void)runtime_->Kill(pid);  // nobody will know of it
    return std::move(outcome.error());
  }
  if (*outcome == core::AwaitOutcome::kExpired) {
    // Its Init blocks its thread: it is ended when that is over.
    gen::Error error = Runtime::InitTimeoutError(pid, behavior_type, timeout);
    (void)runtime_->Kill(pid);
    return error;
  }
  if (auto* error = answer->ValueAs<gen::Error>()) return std::move(*error);
  return pid;
}

}  // namespace ergon::node
