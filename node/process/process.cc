// What a process can do: the functions of gen::Process and gen::ProcessHost.
#include <ergon/node/process/process.h>

#include <algorithm>
#include <mutex>

#include <fmt/core.h>

#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/relations/relations.h>

namespace ergon::node {

Process* Process::Current() noexcept { return CurrentProcess(); }

gen::PID Process::Self() const {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  return {generation << 32 | index_, runtime_->Name(), runtime_->creation()};
}

gen::PID Process::Parent() const {
  return {parent_id_.load(std::memory_order_relaxed), runtime_->Name(), runtime_->creation()};
}

gen::PID Process::ReceiverOf(const core::Envelope& envelope) const {
  const std::uint64_t generation = envelope.generation;
  return {generation << 32 | index_, runtime_->Name(), runtime_->creation()};
}

gen::PID Process::Leader() const {
  return {leader_id_.load(std::memory_order_relaxed), runtime_->Name(), runtime_->creation()};
}

gen::Node& Process::Node() const { return *runtime_; }

gen::Atom Process::Name() const {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return {};
  std::lock_guard lock(cold->lock);
  return cold->name;
}

std::int64_t Process::Now() const { return runtime_->clock().Now(); }

gen::Ref Process::MakeRef() { return runtime_->MakeRef(); }

// ---- sending

gen::Result<gen::PID> Process::Resolve(const gen::Target& target) const {
  return runtime_->Resolve(target);
}

gen::Result<void> Process::SendEnvelope(gen::PID to, core::EnvelopePtr envelope) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Send");
  // A function of its own makes its result where the caller wants it, and moves nothing.
  return [&] {
    ++sends_;
    envelope->from = Self().ToAddress();
    MarkImportant(*envelope);
    auto sent = runtime_->Deliver(to, envelope);
    if (sent) counts_.Sent();
    MaybeYield();
    return sent;
  }();
}

gen::Result<void> Process::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                                core::EnvelopePtr response) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendResponse");
  ++sends_;
  if (current_ != nullptr && current_->ref == ref.id && IsOpenQuestion()) {
    answered_ = true;
  } else if (ProcessCold* cold = ColdIfAny()) {
    cold->open_requests.erase(ref);
  }
  response->from = Self().ToAddress();
  return runtime_->Respond(from, ref.id, std::move(response));
}

gen::Result<gen::TimerHandle> Process::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr envelope,
                                                         std::chrono::nanoseconds delay) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendAfter");
  envelope->from = Self().ToAddress();
  return runtime_->SendAfterFrom(to, std::move(envelope), delay);
}

gen::Result<gen::TimerHandle> Process::SendEnvelopesEvery(const gen::Target& to,
                                                          std::function<core::EnvelopePtr()> make,
                                                          std::chrono::nanoseconds period) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendEvery");
  {
    std::lock_guard lock(Cold().lock);
    Cold().periodic_sends = true;
  }
  return runtime_->periodic_sends().Start(Self(), to, std::move(make), period);
}

gen::Result<void> Process::SendExit(const gen::Target& to, gen::Reason reason) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendExit");
  ++sends_;
  return runtime_->SendExitFrom(Self(), to, reason);
}

// ---- children

gen::Result<gen::PID> Process::Spawn(const gen::ProcessFactory& factory,
                                     const gen::ProcessOptions& options, const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = options.link_parent || options.link_child});
}

gen::Result<gen::PID> Process::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                             const gen::ProcessOptions& options,
                                             const gen::Args& args) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "name: must not be empty");
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .name = name,
                     .link = options.link_parent || options.link_child});
}

gen::Result<gen::PID> Process::SpawnAsync(const gen::ProcessFactory& factory,
                                          const gen::ProcessOptions& options,
                                          const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = true,
                     .heir = true,
                     .announce = true});
}

gen::Result<gen::PID> Process::SpawnChildAsync(gen::Atom name, const gen::ProcessFactory& factory,
                                               const gen::ProcessOptions& options,
                                               const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .name = name,
                     .link = true,
                     .announce = true});
}

gen::Result<gen::PID> Process::SpawnWorker(const gen::ProcessFactory& factory,
                                           const gen::ProcessOptions& options,
                                           const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = true,
                     .heir = true});
}

// ---- names

gen::Result<void> Process::RegisterName(gen::Atom name) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("RegisterName");
  return runtime_->RegisterName(name, Self());
}

gen::Result<void> Process::UnregisterName() {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnregisterName");
  const gen::Atom name = Name();
  if (name.empty()) return gen::Error(gen::ErrorCode::kProcessUnknown, "no name is registered");
  auto released = runtime_->UnregisterName(name);
  if (!released) return std::move(released.error());
  return {};
}

gen::Result<gen::Alias> Process::CreateAlias() {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("CreateAlias");
  return runtime_->CreateAlias(*this);
}

gen::Result<void> Process::DeleteAlias(gen::Alias alias) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("DeleteAlias");
  return runtime_->DeleteAlias(*this, alias);
}

// ---- relations

gen::Result<void> Process::Link(const gen::Target& to) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Link");
  auto pid = runtime_->Resolve(to);
  if (!pid) return std::move(pid.error());
  return Relations::Link(*runtime_, *this, *pid);
}

gen::Result<void> Process::Unlink(const gen::Target& to) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Unlink");
  auto pid = runtime_->Resolve(to);
  if (!pid) return std::move(pid.error());
  return Relations::Unlink(*runtime_, *this, *pid);
}

gen::Result<gen::Ref> Process::Monitor(const gen::Target& to) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Monitor");
  const auto kept = to.Kept();  // the notice will name it
  if (!kept) return kept.error();
  auto pid = runtime_->Resolve(*kept);
  return Relations::Monitor(*runtime_, *this, *kept, pid ? *pid : gen::PID());
}

gen::Result<void> Process::Demonitor(gen::Ref ref) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Demonitor");
  return Relations::Demonitor(*runtime_, *this, ref);
}

// ---- events

gen::Result<gen::Ref> Process::RegisterEvent(gen::Atom name, const gen::EventOptions& options) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("RegisterEvent");
  return runtime_->RegisterEvent(*this, name, options);
}

gen::Result<void> Process::UnregisterEvent(gen::Atom name) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnregisterEvent");
  return runtime_->UnregisterEvent(*this, name);
}

gen::Result<std::vector<gen::MessageEvent>> Process::MonitorEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("MonitorEvent");
  return runtime_->SubscribeEvent(*this, event, false);
}

gen::Result<void> Process::DemonitorEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("DemonitorEvent");
  return runtime_->UnsubscribeEvent(*this, event, false);
}

gen::Result<std::vector<gen::MessageEvent>> Process::LinkEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("LinkEvent");
  return runtime_->SubscribeEvent(*this, event, true);
}

gen::Result<void> Process::UnlinkEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnlinkEvent");
  return runtime_->UnsubscribeEvent(*this, event, true);
}

gen::Result<std::size_t> Process::PublishEnvelope(gen::Atom name, gen::Ref token,
                                                  core::EnvelopePtr value) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendEvent");
  return runtime_->PublishEvent(Self(), name, token, std::move(value));
}

// ---- environment

std::optional<std::string> Process::Env(std::string_view name) const {
  MustBeInOwnTurn("Env");
  const SharedEnvironment values = GetEnvironment();
  if (values == nullptr) return std::nullopt;
  const auto found = values->find(std::string(name));
  if (found == values->end()) return std::nullopt;
  return found->second;
}

gen::Environment Process::EnvList() const {
  MustBeInOwnTurn("EnvList");
  const SharedEnvironment values = GetEnvironment();
  return values == nullptr ? gen::Environment() : *values;
}

void Process::SetEnv(std::string_view name, std::optional<std::string> value) {
  MustBeInOwnTurn("SetEnv");
  runtime_->SetEnv(*this, name, std::move(value));
}

// ---- for behaviours

core::EnvelopePtr Process::Detach(core::Envelope& envelope) {
  if (IsTick(envelope)) runtime_->periodic_sends().WaitsAgain(envelope);
  return TakeOver(envelope);
}

core::EnvelopePtr Process::TakeOver(core::Envelope& envelope) {
  mailbox_.Detach(&envelope);
  if (IsMessage(envelope)) Hold(1);
  if (IsRequest(envelope)) runtime_->NoteTaken(envelope, CallEdge::Stage::kPassedOn);
  if (current_ == &envelope) current_ = nullptr;
  return core::EnvelopePtr(&envelope);
}

bool Process::Begin(const core::Envelope& request) {
  return request.deadline == 0 || runtime_->Begin(request);
}

gen::Result<void> Process::Forward(gen::PID to, core::EnvelopePtr& envelope, bool routed) {
  ++sends_;
  if (routed) {
    MarkRouted(*envelope, Self().id);
  } else {
    UnmarkRouted(*envelope);
  }
  const bool is_message = IsMessage(*envelope);
  auto sent = runtime_->Deliver(to, envelope);
  if (sent && is_message) Hold(-1);
  // A pool that is a worker of another: to that it has handled the message.
  if (sent && routed && duty_.load(std::memory_order_relaxed) == gen::WorkerDuty::kReport) {
    ReportProgress();
  }
  return sent;
}

gen::Result<void> Process::ForwardMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) {
  ++sends_;
  MarkRouted(*envelope, Self().id);
  const bool is_message = IsMessage(*envelope);
  auto sent = runtime_->DeliverMakingRoom(worker, envelope);
  if (sent && is_message) Hold(-1);
  return sent;
}

void Process::Adopt(core::Envelope& envelope) {
  if (!IsMessage(envelope)) return;
  counts_.Sent();
  Hold(1);
}

void Process::Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) {
  if (IsMessage(*envelope)) Hold(-1);
  runtime_->DropEnvelope(std::move(envelope), Self(), reason, error);
}

bool Process::Bequeath(core::EnvelopePtr& envelope) {
  if (!heir_) return false;
  if (IsMessage(*envelope)) Hold(-1);
  Cold().bequest.push_back(std::move(envelope));
  return true;
}

gen::Result<void> Process::StopAfterQueue(gen::PID pid, const gen::Reason& reason) {
  return runtime_->StopAfterQueue(pid, reason);
}

gen::Result<void> Process::Kill(gen::PID pid) { return runtime_->Kill(pid); }

gen::WorkerProgress Process::Progress(gen::PID worker) const {
  gen::WorkerProgress progress;
  const Process* process = runtime_->Find(worker);
  if (process == nullptr) {
    progress.ended = true;
    return progress;
  }
  // Messages move on while this looks: from the queue to the handler, and to what is handled. In
  // this order none is counted twice; it is looked at again when one may have been missed, so that
  // a worker that seems to be at rest is.
  for (int tries = 0; tries < 3; ++tries) {
    progress.handled = process->routed_handled_.Acquire();
    progress.current = process->current_routed_.load(std::memory_order_acquire);
    const std::uint32_t taken = process->mailbox_.TakenApprox();
    progress.dropped = process->Rare().routed_unstashed.Read();
    progress.queued = process->MainMessagesApprox() + process->AsideApprox();
    const auto state =
        static_cast<gen::ProcessState>(process->state_.load(std::memory_order_acquire));
    progress.busy = state == gen::ProcessState::kRunning || state == gen::ProcessState::kWaiting;
    if (process->mailbox_.TakenApprox() == taken) break;
    progress.busy = true;
  }
  progress.passed = progress.handled;
  progress.handled += process->SettledByPool();
  const PoolSlot* pool = process->pool_.load(std::memory_order_acquire);  // partner: GetPoolSlot
  if (pool != nullptr) AddWorkersOf(*pool, progress);
  progress.expired = process->Rare().routed_expired.Read();
  progress.aside = process->AsideApprox();
  progress.mean_handling =
      std::chrono::nanoseconds(process->Rare().mean_handling.load(std::memory_order_relaxed));
  return progress;
}

void Process::AddWorkersOf(const PoolSlot& pool, gen::WorkerProgress& progress) const {
  progress.passed += pool.rotation.Given() + pool.never_given.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < pool.rotation.size(); ++i) {
    const gen::WorkerProgress worker =
        Progress({pool.rotation.At(i), runtime_->Name(), runtime_->creation()});
    progress.handled += worker.handled;
    progress.queued += worker.queued + (worker.current ? 1 : 0);
    progress.busy = progress.busy || worker.busy;
  }
}

void Process::SetSettled(std::uint64_t settled, std::uint64_t never_given) {
  PoolSlot& slot = GetPoolSlot();
  slot.settled.store(settled, std::memory_order_relaxed);
  const bool told = slot.never_given.load(std::memory_order_relaxed) == never_given;
  slot.never_given.store(never_given, std::memory_order_relaxed);
  // The outer pool need not wait for what was given to nobody.
  if (!told && duty_.load(std::memory_order_relaxed) == gen::WorkerDuty::kReport) ReportProgress();
}

bool Process::TryRedirectMain() {
  if (!mailbox_.TryRedirect()) return false;
  // Release: what the pool has forwarded before comes before what senders forward from now on.
  // Partner: Runtime::Route. Those who come too early leave their message here.
  GetPoolSlot().open.store(true, std::memory_order_release);
  return true;
}

void Process::SetDuty(gen::PID worker, gen::WorkerDuty duty) {
  // Relaxed: the worker meets it with the first message that it was given afterwards.
  if (Process* process = runtime_->Find(worker)) {
    process->duty_.store(duty, std::memory_order_relaxed);
  }
}

void Process::SetSenderRules(const gen::SenderRules& rules) {
  PoolSlot& slot = GetPoolSlot();
  slot.choice.store(rules.choice, std::memory_order_relaxed);
  slot.seed.store(rules.seed, std::memory_order_relaxed);
  slot.admission_limit.store(rules.admission_limit.count(), std::memory_order_relaxed);
  // Relaxed: senders come here by the redirection of the Main lane, which follows.
  slot.has_rules.store(
      rules.choice != gen::SenderChoice::kRotation || rules.admission_limit.count() != 0,
      std::memory_order_relaxed);
}

std::uint64_t Process::FirstChoice() const {
  return runtime_->FirstChoice(*pool_.load(std::memory_order_relaxed));
}

std::uint64_t Process::OverloadedCount() const {
  const PoolSlot* slot = pool_.load(std::memory_order_relaxed);
  return slot == nullptr ? 0 : slot->overloaded.load(std::memory_order_relaxed);
}

void Process::NoteShortage() { runtime_->NoteShortage(GetPoolSlot(), Self()); }

std::uint64_t Process::OverflowedCount() const {
  const PoolSlot* slot = pool_.load(std::memory_order_relaxed);
  return slot == nullptr ? 0 : slot->overflowed.load(std::memory_order_relaxed);
}

bool Process::TryCloseMain(std::chrono::nanoseconds retry_after) {
  GetPoolSlot().retry_after.store(retry_after.count(), std::memory_order_relaxed);
  return mailbox_.IsRedirected() || mailbox_.TryRedirect();
}

void Process::AcceptMain() {
  // Relaxed: a sender that meets a worker that is published later sees it with that (Rotation).
  GetPoolSlot().open.store(false, std::memory_order_relaxed);
  if (mailbox_.IsRedirected()) mailbox_.AcceptMain();
}

std::uint64_t Process::ReturningMessages() {
  // Acquire; partner: ReturnToPool. Not below 0, whatever a former pool in this slot has left.
  const std::int64_t late = GetPoolSlot().late.load(std::memory_order_acquire);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(late, 0));
}

bool Process::TryRefuseMain() {
  PoolSlot& pool = GetPoolSlot();
  pool.refuses.store(true, std::memory_order_seq_cst);
  if (mailbox_.IsRedirected() || mailbox_.TryRedirect()) return true;
  pool.refuses.store(false, std::memory_order_relaxed);
  return false;
}

ProcessCold& Process::Cold() const {
  ProcessCold* cold = cold_.load(std::memory_order_acquire);
  if (cold != nullptr) return *cold;
  auto fresh = std::make_unique<ProcessCold>();
  // Sequentially consistent; partner: Relations::Ending, which sets a flag and then looks here.
  if (cold_.compare_exchange_strong(cold, fresh.get(), std::memory_order_seq_cst)) {
    return *fresh.release();
  }
  return *cold;
}

CallEdge& Process::GetCallEdge() {
  CallEdge* edge = call_edge_.load(std::memory_order_relaxed);
  if (edge == nullptr) {
    edge = new CallEdge;
    call_edge_.store(edge, std::memory_order_seq_cst);  // partner: Waited
  }
  return *edge;
}

PoolSlot& Process::GetPoolSlot() {
  PoolSlot* pool = pool_.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    pool = new PoolSlot;
    pool_.store(pool, std::memory_order_release);  // partner: Runtime::Route
  }
  return *pool;
}

// ---- logging

gen::LogLevel Process::Level() const {
  const std::uint8_t level = log_level_.load(std::memory_order_relaxed);
  return level == kNodeLogLevel ? runtime_->log_level() : static_cast<gen::LogLevel>(level);
}

void Process::Write(gen::LogLevel level, std::string_view text) {
  const gen::Atom name = Name();
  const std::string behavior = behavior_ ? behavior_->BehaviorName() : std::string("ended");
  runtime_->WriteLog(level, name.empty()
                                ? fmt::format("{} {}: {}", Self(), behavior, text)
                                : fmt::format("{} '{}' {}: {}", Self(), name, behavior, text));
}

}  // namespace ergon::node
