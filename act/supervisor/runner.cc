#include <ergon/act/supervisor/runner.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/act/supervisor/inspection.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/child_end.h>
#include <ergon/gen/host/start_error.h>

namespace ergon::act {
namespace {

constexpr int kMostFailures = 1'000'000;  // that are counted

std::string Child(gen::Atom name) { return fmt::format("child '{}'", name); }

}  // namespace

SupervisorRunner::SupervisorRunner(gen::ProcessHost& host, SupervisorBehavior& callbacks,
                                   SupervisorSpec spec)
    : host_(host),
      callbacks_(callbacks),
      spec_(std::move(spec)),
      strategy_(spec_.type, spec_.restart, spec_.auto_shutdown),
      commands_(spec_, strategy_, children_) {}

// -- start and commands --

gen::Status SupervisorRunner::Start() {
  for (const SupervisorChildSpec& child : spec_.children) (void)commands_.Enter(child, false);
  for (const SupervisorChildSpec& child : spec_.children) {
    const auto key = children_.FindName(child.name);
    if (!key) continue;  // a template
    (void)strategy_.Start(*key);
    auto pid = StartNow(*key);
    if (pid) continue;
    StopStarted();
    return gen::Stop(gen::Reason::Error(
        fmt::format("{}: {}", Child(child.name), gen::StartErrorText(pid.error()))));
  }
  try {
    return Settle();
  } catch (...) {  // HandleChildStart threw, and there will be no Terminate
    StopStarted();
    throw;
  }
}

void SupervisorRunner::StopStarted() {
  const auto& all = children_.all();
  for (auto last = all.rbegin(); last != all.rend(); ++last) {
    const SupervisorChildren::Entry& entry = last->second;
    if (entry.pid)
      gen::EndChildAndWait(host_, entry.pid, entry.spec->name, entry.spec->shutdown_timeout);
  }
}

gen::Result<gen::PID> SupervisorRunner::StartNow(Key key) {
  start_now_ = key;
  start_error_.reset();
  CarryOutActions();
  start_now_ = 0;
  if (start_error_) return *std::exchange(start_error_, std::nullopt);
  const SupervisorChildren::Entry* entry = children_.Find(key);
  return entry == nullptr ? gen::PID() : entry->pid;
}

gen::Result<gen::PID> SupervisorRunner::FinishStart(const gen::Result<Key>& key) {
  if (!key) return key.error();
  const SupervisorChildren::Entry* const entry = children_.Find(*key);
  const gen::Atom name = entry == nullptr ? gen::Atom() : entry->spec->name;
  auto pid = StartNow(*key);
  return pid ? pid : gen::StartErrorOf(Child(name), pid.error());
}

gen::Result<void> SupervisorRunner::Finish(const gen::Result<Key>& key) {
  if (!key) return key.error();
  CarryOutActions();
  return {};
}

// -- what arrives --

gen::Status SupervisorRunner::OnEnvelope(core::Envelope& envelope, bool trap_exit) {
  if (static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kInspect) {
    Answer(envelope);  // maybe while a callback waits, which goes on with the rest
    return gen::Continue();
  }
  const gen::Status status = OnOwn(envelope, trap_exit);
  if (status.stops()) strategy_.End(status.reason());
  return Settle();
}

gen::Status SupervisorRunner::OnOwn(core::Envelope& envelope, bool trap_exit) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kOwnTimer:
      if (const auto* late = envelope.ValueAs<gen::ChildTimeout>()) KillLate(late->child);
      if (const auto* start = envelope.ValueAs<StartTimer>()) StartPostponed(*start);
      return gen::Continue();
    case gen::EnvelopeKind::kExit:
      return OnExit(envelope, trap_exit);
    case gen::EnvelopeKind::kDown:
      return OnDown(envelope);
    case gen::EnvelopeKind::kStarted:
      if (const auto* started = envelope.ValueAs<gen::MessageStarted>()) {
        if (const auto key = children_.FindProcess(started->pid)) Started(*key);
      }
      return gen::Continue();
    case gen::EnvelopeKind::kRequest:
      return OnRequest(envelope) ? gen::Continue() : DispatchToUser(host_, callbacks_, envelope);
    default:
      return DispatchToUser(host_, callbacks_, envelope);
  }
}

gen::Status SupervisorRunner::OnExit(core::Envelope& envelope, bool trap_exit) {
  const auto* exit = envelope.ValueAs<gen::MessageExitPID>();
  const gen::Reason* reason = ReasonOfExit(envelope);
  if (reason == nullptr) return gen::Continue();
  const bool from_link = envelope.ref != gen::kExplicitExit;
  if (exit != nullptr && from_link) {
    if (const auto key = children_.FindProcess(exit->pid)) {
      Gone(*key, exit->reason);
      return gen::Continue();
    }
  }
  if (trap_exit) return DispatchToUser(host_, callbacks_, envelope);
  // As the runtime does for processes that do not trap exits.
  if (reason->IsNormal() && from_link) return gen::Continue();
  return gen::Stop(*reason);
}

gen::Status SupervisorRunner::OnDown(core::Envelope& envelope) {
  const auto* down = envelope.ValueAs<gen::MessageDownPID>();
  const auto key = down == nullptr ? std::nullopt : children_.FindProcess(down->pid);
  if (!key || children_.Find(*key)->monitor != down->ref)
    return DispatchToUser(host_, callbacks_, envelope);
  if (gen::IsExitToCome(host_, *down)) return gen::Continue();
  Gone(*key, down->reason);
  return gen::Continue();
}

bool SupervisorRunner::OnRequest(core::Envelope& envelope) {
  if (envelope.ValueAs<ChildrenRequest>() != nullptr) {
    (void)host_.SendResponse(SenderOf(envelope), RefOf(envelope), Children());
    return true;
  }
  const auto outcome = commands_.Request(envelope);
  if (outcome) AnswerLater(envelope, *outcome);
  return outcome.has_value();
}

void SupervisorRunner::AnswerLater(const core::Envelope& envelope,
                                   const SupervisorCommands::Outcome& outcome) {
  const auto& [key, until_started, template_name] = outcome;
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  // Whether somebody still waits does not matter to the one who answers.
  if (!key) {
    (void)host_.SendResponseError(from, ref, key.error());
  } else if (*key != 0) {
    children_.Find(*key)->waiters.push_back({from, ref, until_started});
  } else if (!template_name.empty() && children_.AwaitEndOfAll(template_name, from, ref)) {
    // Answered by the last of them.
  } else if (until_started) {
    (void)host_.SendResponse(from, ref, gen::PID());
  } else {
    (void)host_.SendResponse(from, ref, true);
  }
}

void SupervisorRunner::Answer(core::Envelope& envelope) {
  const auto* question = envelope.ValueAs<gen::InspectRequest>();
  if (question == nullptr) return;
  gen::Inspection added = callbacks_.HandleInspect(SenderOf(envelope), question->items);
  AnswerInspection(host_, envelope,
                   InspectSupervisor({.spec = spec_,
                                      .recent_restarts = strategy_.RecentRestarts(host_.Now()),
                                      .ending = strategy_.ending(),
                                      .children = Children()},
                                     std::move(added), question->items));
}

// -- children --

void SupervisorRunner::CarryOutActions() {
  using Kind = SupervisionStrategy::ActionKind;
  for (auto actions = strategy_.TakeActions(); !actions.empty();
       actions = strategy_.TakeActions()) {
    for (const auto& [kind, key] : actions) {
      switch (kind) {
        case Kind::kStart:
          (key != start_now_ && children_.Find(key)->failed_starts != 0) ? PostponeStart(key)
                                                                         : StartProcess(key);
          break;
        case Kind::kStop:
          StopProcess(key);
          break;
        case Kind::kKill:
          if (CancelStart(key)) break;
          if (const auto* entry = children_.Find(key); entry->pid) (void)host_.Kill(entry->pid);
          break;
        case Kind::kForget:
          children_.Erase(key);
          break;
        case Kind::kEnd:
          done_ = true;
          break;
      }
    }
  }
}

void SupervisorRunner::StartProcess(Key key) {
  const SupervisorChildren::Entry& entry = *children_.Find(key);
  const SupervisorChildSpec& spec = *entry.spec;
  const gen::Atom name = entry.template_name.empty() ? spec.name : gen::Atom();
  gen::ProcessOptions options = spec.options;
  options.link_parent = true;
  const bool waits = key == start_now_;
  auto pid = !waits         ? host_.SpawnChildAsync(name, spec.factory, options, entry.args)
             : name.empty() ? host_.Spawn(spec.factory, options, entry.args)
                            : host_.SpawnRegister(name, spec.factory, options, entry.args);
  if (!pid) {
    if (waits) start_error_ = pid.error();
    const gen::Error error = gen::StartErrorOf(Child(spec.name), pid.error());
    Gone(key, gen::Reason::Error(gen::StartErrorText(pid.error())), &error);
    return;
  }
  // Tells of its end, too, should it cut the link.
  auto monitor = host_.Monitor(*pid);
  children_.SetProcess(key, *pid, monitor ? *monitor : gen::Ref());
  if (waits) Started(key);
}

void SupervisorRunner::PostponeStart(Key key) {
  SupervisorChildren::Entry& entry = *children_.Find(key);
  entry.postponed = ++last_postponed_;
  const StartTimer timer{key, entry.postponed};
  const std::chrono::nanoseconds most = spec_.restart.backoff_max;
  std::chrono::nanoseconds delay = spec_.restart.backoff_min;
  for (int i = 1; i < entry.failed_starts && delay.count() != 0 && delay < most; ++i) {
    delay = delay > most / 2 ? most : 2 * delay;
  }
  if (delay.count() != 0) {
    entry.starter = host_.SendSelfAfter(timer, delay);
  } else {
    host_.EnqueueOwn(core::MakeEnvelope<StartTimer>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer), core::Lane::kMain, timer));
  }
}

void SupervisorRunner::StartPostponed(const StartTimer& timer) {
  SupervisorChildren::Entry* entry = children_.Find(timer.key);
  if (entry == nullptr || entry->postponed != timer.number) return;  // it is not wanted any more
  if (strategy_.ending()) return;  // CancelStart comes when it is this child's turn to end
  entry->postponed = 0;
  StartProcess(timer.key);
}

bool SupervisorRunner::CancelStart(Key key) {
  SupervisorChildren::Entry& entry = *children_.Find(key);
  if (std::exchange(entry.postponed, 0) == 0) return false;
  (void)entry.starter.Cancel();
  Gone(key, gen::Reason::Kill());
  return true;
}

void SupervisorRunner::StopProcess(Key key) {
  SupervisorChildren::Entry& entry = *children_.Find(key);
  entry.killer = gen::EndChild(host_, entry.pid, entry.spec->shutdown_timeout);
}

void SupervisorRunner::KillLate(gen::PID child) {
  const auto key = children_.FindProcess(child);
  if (!key) return;  // it has ended meanwhile
  const SupervisorChildren::Entry& entry = *children_.Find(*key);
  gen::KillLateChild(host_, child, entry.spec->name, entry.spec->shutdown_timeout);
}

void SupervisorRunner::Started(Key key) {
  // Too late, it is being killed.
  if (strategy_.Find(key)->state != SupervisionStrategy::State::kStarting) return;
  SupervisorChildren::Entry& entry = *children_.Find(key);
  entry.started = true;
  entry.failed_starts = 0;
  notices_.push_back({true, entry.spec->name, entry.pid, {}});
  strategy_.Started(key);
  std::erase_if(entry.waiters, [&](const SupervisorChildren::Waiter& waiter) {
    if (waiter.until_started) (void)host_.SendResponse(waiter.from, waiter.ref, entry.pid);
    return waiter.until_started;
  });
}

void SupervisorRunner::Gone(Key key, const gen::Reason& reason, const gen::Error* error) {
  SupervisorChildren::Entry& entry = *children_.Find(key);
  const bool wanted = strategy_.Find(key)->state == SupervisionStrategy::State::kStopping;
  const bool failed = !wanted && !entry.started && strategy_.Find(key)->restarting;
  entry.failed_starts = failed ? std::min(entry.failed_starts + 1, kMostFailures) : 0;
  const gen::PID pid = entry.pid;
  const bool was_started = entry.started;
  if (entry.pid) {
    if (entry.started) notices_.push_back({false, entry.spec->name, entry.pid, reason});
    (void)host_.Demonitor(entry.monitor);
    (void)host_.Unlink(entry.pid);  // its exit signal may still be on its way: nobody knows it then
    children_.ClearProcess(entry);
  }
  const bool was_ending = strategy_.ending();
  strategy_.Ended(key, reason, host_.Now());
  if (!wanted) TellEnd(key, entry.spec->name, pid, was_started, reason);
  if (strategy_.gave_up() && !was_ending) host_.Log().Error("gives up: {}", strategy_.end_reason());
  const bool will_run = strategy_.WillRun(key);
  if (!will_run) entry.failed_starts = 0;  // its next start is a first one
  std::erase_if(entry.waiters, [&](const SupervisorChildren::Waiter& waiter) {
    if (!waiter.until_started) {
      const bool others_run = waiter.left != nullptr && --*waiter.left != 0;
      if (!others_run) (void)host_.SendResponse(waiter.from, waiter.ref, true);
    } else if (!will_run) {
      (void)host_.SendResponseError(
          waiter.from, waiter.ref,
          error != nullptr ? *error
                           : gen::Error(gen::ErrorCode::kProcessTerminated, reason.ToString()));
    }
    return !waiter.until_started || !will_run;
  });
}

void SupervisorRunner::TellEnd(Key key, gen::Atom name, gen::PID pid, bool started,
                               const gen::Reason& reason) {
  const bool is_failure = reason.IsFailure() || !started;
  const gen::LogLevel level = is_failure ? gen::LogLevel::kWarning : gen::LogLevel::kInfo;
  if (!host_.Log().IsEnabled(level)) return;
  const std::string what = fmt::format("{}{}has {}: {}", pid ? pid.ToString() : "", pid ? " " : "",
                                       started ? "ended" : "not started", reason);
  const auto is_restarted = [](const SupervisionStrategy::Child& child) {
    return child.restarting &&
           (child.must_start || child.state == SupervisionStrategy::State::kStarting);
  };
  const SupervisionStrategy::Child* const own = strategy_.Find(key);
  if (own == nullptr || !is_restarted(*own) || strategy_.ending()) {
    if (is_failure) host_.Log().Warning("child '{}' {}", name, what);
    return;
  }
  std::string others;
  const bool is_round =
      spec_.type == SupervisorType::kAllForOne || spec_.type == SupervisorType::kRestForOne;
  for (const auto& [other, child] : strategy_.children()) {
    if (!is_round) break;  // there may be very many
    if (other == key || !is_restarted(child)) continue;
    others += fmt::format("{} '{}'", others.empty() ? "" : ",", child.name);
  }
  if (!others.empty()) {
    others =
        (spec_.type == SupervisorType::kAllForOne ? ", and with it" : ", and after it") + others;
  }
  const std::string line = fmt::format(
      "restarting '{}' ({} of {} in {} s){}: {}", name, strategy_.RecentRestarts(host_.Now()),
      spec_.restart.intensity, spec_.restart.period_s, others, what);
  is_failure ? host_.Log().Warning("{}", line) : host_.Log().Info("{}", line);
}

// -- the end --

gen::Status SupervisorRunner::BeginStop(const gen::Reason& reason) {
  strategy_.End(reason);
  return Settle();
}

gen::Status SupervisorRunner::Settle() {
  CarryOutActions();
  while (!notices_.empty()) {
    const Notice notice = std::move(notices_.front());
    notices_.pop_front();
    const gen::Status status =
        notice.started ? callbacks_.HandleChildStart(notice.name, notice.pid)
                       : callbacks_.HandleChildTerminate(notice.name, notice.pid, notice.reason);
    if (status.stops()) strategy_.End(status.reason());
    CarryOutActions();
  }
  if (done_) return gen::Stop(strategy_.end_reason());
  return gen::Continue();
}

void SupervisorRunner::Terminate() {
  strategy_.End(gen::Reason::Kill());
  for (const auto& [key, entry] : children_.all()) {
    (void)entry.killer.Cancel();
    (void)entry.starter.Cancel();
    if (entry.pid) (void)host_.Kill(entry.pid);
  }
}

}  // namespace ergon::act
