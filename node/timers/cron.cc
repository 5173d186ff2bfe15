#include <ergon/node/timers/cron.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

using std::chrono::minutes;
using std::chrono::sys_seconds;

constexpr std::size_t kMostRuns = 10'000;
constexpr std::chrono::seconds kLatest = std::chrono::days(7);

gen::Error UnknownJob(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, "no cron job " + name.ToString());
}

// A process that runs a function, and is done.
class FunctionRun final : public gen::ProcessBehavior {
 public:
  FunctionRun(const gen::CronAction::Function& function, const gen::CronRun& run)
      : function_(function), run_(run) {}
  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args&) override {
    function_(host, run_);
    return gen::Stop(gen::Reason::Normal());
  }
  gen::Status ProcessMessage(core::Envelope&) override { return gen::Continue(); }
  void ProcessTerminate(const gen::Reason&) override {}

 private:
  const gen::CronAction::Function function_;
  const gen::CronRun run_;
};

bool IsEmpty(const gen::CronAction& action) {
  if (const auto* sending = std::get_if<gen::CronAction::Sending>(&action.what())) {
    return !sending->make;
  }
  if (const auto* spawning = std::get_if<gen::CronAction::Spawning>(&action.what())) {
    return !spawning->factory;
  }
  const auto* function = std::get_if<gen::CronAction::Function>(&action.what());
  return function == nullptr || !*function;
}

}  // namespace

gen::Result<void> Cron::Add(const gen::CronJob& job) {
  if (job.name.empty()) return Incorrect("name: must not be empty");
  auto schedule = gen::CronSchedule::Parse(job.spec);
  if (!schedule) return std::move(schedule.error());
  std::string problem = job.zone.Validate();
  if (!problem.empty()) return Incorrect(std::move(problem));
  if (IsEmpty(job.action)) return Incorrect("action: is empty");
  if (job.may_be_late < std::chrono::seconds(0) || job.may_be_late > kLatest) {
    return Incorrect(fmt::format("may_be_late: {} s is outside 0..{}", job.may_be_late.count(),
                                 kLatest.count()));
  }
  std::call_once(watches_clock_, [this] { WatchClock(); });
  if (needs_.addresses.IsStopped()) return gen::ErrNodeTerminated;
  const WallTime now = needs_.wall_clock.Now();
  Job entry{.job = job,  // what is the user's is copied, and goes, without the lock
            .action = std::make_shared<const gen::CronAction>(job.action),
            .schedule = *schedule};
  entry.job.action = {};
  std::lock_guard lock(mutex_);
  seen_ = std::max(seen_, now);  // who sets it back then is told what the job waits for
  entry.number = ++last_number_;
  if (job.enabled) {
    auto known = SetNext(entry, now);
    if (!known) return known;
  }
  if (!jobs_.try_emplace(job.name.Text(), std::move(entry)).second) {
    return gen::Error(gen::ErrorCode::kTaken, "cron job " + job.name.ToString());
  }
  Rearm(now);
  return {};
}

gen::Result<void> Cron::Remove(gen::Atom name) {
  decltype(jobs_)::node_type removed;  // goes, with what is the user's, after the lock
  std::lock_guard lock(mutex_);
  removed = jobs_.extract(name.Text());
  if (removed.empty()) return UnknownJob(name);
  Rearm(needs_.wall_clock.Now());
  return {};
}

gen::Result<void> Cron::Enable(gen::Atom name, bool enabled) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name.Text());
  if (found == jobs_.end()) return UnknownJob(name);
  Job& job = found->second;
  if (std::exchange(job.job.enabled, enabled) == enabled) return {};
  const WallTime now = needs_.wall_clock.Now();
  seen_ = std::max(seen_, now);
  job.next = std::nullopt;
  job.is_lost = false;
  auto known = enabled ? SetNext(job, now) : gen::Result<void>();
  if (!known) {
    job.job.enabled = job.is_lost = false;
    return known;
  }
  Rearm(now);
  return {};
}

gen::Result<void> Cron::SetNext(Job& job, WallTime now) {
  try {
    job.next = job.schedule.Next(std::chrono::floor<std::chrono::seconds>(now), job.job.zone);
    job.is_lost = false;
    return {};
  } catch (...) {
    return Lose(job, now);
  }
}

gen::Error Cron::Lose(Job& job, WallTime at) {
  job.next = std::nullopt;
  job.is_lost = true;
  job.lost_at = at;
  return Incorrect(
      fmt::format("zone: the rules of {} threw: {}", job.job.zone.name(), core::ThrownText()));
}

gen::CronJobInfo Cron::InfoOf(const Job& job) {
  return {.name = job.job.name,
          .spec = job.job.spec,
          .zone = job.job.zone.name(),
          .enabled = job.job.enabled,
          .runs = job.runs,
          .missed = job.missed,
          .failed = job.failed,
          .last_run = job.last_run,
          .last_error = job.last_error,
          .next_run = job.next};
}

gen::Result<gen::CronJobInfo> Cron::Info(gen::Atom name) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name.Text());
  if (found == jobs_.end()) return UnknownJob(name);
  return InfoOf(found->second);
}

std::vector<gen::CronJobInfo> Cron::List() const {
  std::lock_guard lock(mutex_);
  std::vector<gen::CronJobInfo> list;
  list.reserve(jobs_.size());
  for (const auto& [name, job] : jobs_) list.push_back(InfoOf(job));
  return list;
}

std::vector<gen::CronRun> Cron::Runs(sys_seconds since, std::chrono::seconds duration) const {
  using std::chrono::seconds;
  if (duration <= seconds(0)) return {};
  const sys_seconds end =
      since > sys_seconds::max() - duration ? sys_seconds::max() : since + duration;
  const sys_seconds before = since == sys_seconds::min() ? since : since - seconds(1);
  struct Plan {
    gen::Atom job;
    gen::CronSchedule schedule;
    gen::CronZone zone;
  };
  std::vector<Plan> plans;  // the lock is not for as long as thousands of years take
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, job] : jobs_) {
      if (job.job.enabled) plans.push_back({job.job.name, job.schedule, job.job.zone});
    }
  }
  std::vector<gen::CronRun> runs;
  for (const Plan& plan : plans) {
    std::size_t count = 0;
    try {
      auto next = plan.schedule.Next(before, plan.zone);
      for (; next && *next < end && count < kMostRuns; ++count) {
        runs.push_back({plan.job, *next});
        next = plan.schedule.Next(*next, plan.zone);
      }
    } catch (...) {
      gen::Log(needs_.log)
          .Warning("cron job '{}': later runs are not listed: the rules of {} threw: {}", plan.job,
                   plan.zone.name(), core::ThrownText());
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& left, const auto& right) { return left.time < right.time; });
  if (runs.size() > kMostRuns) runs.resize(kMostRuns);
  return runs;
}

// ---- time

void Cron::WatchClock() {
  // Also with a wall clock of the user's, which mostly is the machine's with something added.
  if (needs_.io == nullptr) return;
  const auto warn = [this](const gen::Error& why) {
    gen::Log(needs_.log)
        .Warning("cron jobs notice up to a minute late that the machine's clock was set: {}",
                 why.detail());
  };
  auto watched = needs_.io->WatchClock([this] { Look(); }, warn);
  if (!watched && watched.error() != gen::ErrNodeTerminated) warn(watched.error());
}

void Cron::Fire(void* context, std::uint64_t) {
  auto& cron = *static_cast<Cron*>(context);
  {
    std::lock_guard lock(cron.mutex_);
    cron.armed_ = false;
  }
  cron.Look();
}

void Cron::Look() {
  std::vector<Due> due;
  Lost lost;
  Told told;
  {
    std::lock_guard lock(mutex_);
    if (needs_.addresses.IsStopped()) return;
    const WallTime now = needs_.wall_clock.Now();
    CheckSetBack(now, told);
    due = TakeDue(now, lost, told);
    Rearm(now);
  }
  for (const std::string& line : told) gen::Log(needs_.log).Warning("{}", line);
  for (const auto& [name, number, error] : lost) Failed(name, number, error);
  for (const Due& one : due) Start(one);
}

void Cron::CheckSetBack(WallTime now, Told& told) {
  const auto back = seen_ - std::min(now, seen_);
  if (now > seen_) seen_ = now;
  if (back < minutes(1) || is_set_back_) {
    is_set_back_ = back >= minutes(1);
    return;
  }
  is_set_back_ = true;
  told.push_back(fmt::format(
      "the clock was set back by {} s: cron jobs wait until it shows times that it has not shown "
      "yet, or until they are disabled and enabled",
      std::chrono::floor<std::chrono::seconds>(back).count()));
}

gen::Result<void> Cron::Pass(Job& job, WallTime now, Passed& passed) {
  // Nothing is on time to the nanosecond: less than a second is not late.
  const auto allowed = std::max(job.job.may_be_late, std::chrono::seconds(1));
  const auto too_late = std::chrono::ceil<std::chrono::seconds>(now - allowed);
  if (job.next && *job.next < too_late) {
    auto known = PassMissed(job, too_late, passed);
    if (!known) return known;
  }
  // Those of seven days at most.
  while (job.next && *job.next <= now) {
    if (passed.last) ++passed.missed;
    passed.last = job.next;
    auto known = SetNext(job, *job.next);
    if (!known) return known;
  }
  return {};
}

gen::Result<void> Cron::PassMissed(Job& job, sys_seconds too_late, Passed& passed) {
  passed.missed = 1;  // whatever the rules of its zone do
  try {
    passed.missed = job.schedule.Count(*job.next, too_late, job.job.zone);
  } catch (...) {
    return Lose(job, *job.next);
  }
  return SetNext(job, too_late - std::chrono::seconds(1));
}

std::vector<Cron::Due> Cron::TakeDue(WallTime now, Lost& lost, Told& told) {
  std::vector<Due> due;
  for (auto& [name, job] : jobs_) {
    if (job.is_lost) (void)SetNext(job, job.lost_at);  // what was due meanwhile is not forgotten
    if (!job.next || *job.next > now) continue;
    const sys_seconds first = *job.next;
    Passed passed;
    auto known = Pass(job, now, passed);
    if (!known) lost.emplace_back(job.job.name, job.number, std::move(known.error()));
    if (passed.last) {
      due.push_back({job.action, {job.job.name, *passed.last}, job.number});
      ++job.runs;
      job.last_run = passed.last;
    }
    if (passed.missed == 0) continue;
    job.missed += passed.missed;
    told.push_back(
        fmt::format("cron job '{}' has missed {} of its runs, the first {} s ago: the clock was "
                    "set, the machine slept, or the rules of its zone threw",
                    job.job.name, passed.missed,
                    std::chrono::floor<std::chrono::seconds>(now - first).count()));
  }
  std::stable_sort(due.begin(), due.end(), [](const Due& left, const Due& right) {
    return left.run.time < right.run.time;
  });
  return due;
}

void Cron::Rearm(WallTime now) {
  std::optional<sys_seconds> next;
  for (const auto& [name, job] : jobs_) {
    if (job.next && (!next || *job.next < *next)) next = job.next;
    // To ask its zone again.
    const auto later = std::chrono::ceil<std::chrono::seconds>(now + minutes(1));
    if (job.is_lost && (!next || later < *next)) next = later;
  }
  if (armed_) {
    if (!needs_.timers.Disarm(timer_)) return;  // it fires just now, and sees to it itself
    armed_ = false;
  }
  if (!next) return;
  using std::chrono::nanoseconds;
  const auto wait = std::clamp<nanoseconds>(*next - now, nanoseconds(0), minutes(1));
  needs_.timers.Arm(timer_, core::DeadlineAfter(needs_.clock.Now(), wait));
  armed_ = true;
  // As for a delayed send: armed after the last firing it would never go.
  if (needs_.addresses.IsStopped() && needs_.timers.Disarm(timer_)) armed_ = false;
}

// ---- what jobs do

void Cron::Start(const Due& due) {
  gen::Result<void> started;
  try {
    started = TryStart(due);
  } catch (...) {  // a copy of what is the user's
    started = gen::Error(gen::ErrorCode::kApplication,
                         fmt::format("its action threw: {}", core::ThrownText()));
  }
  if (!started) Failed(due.run.job, due.number, started.error());
}

gen::Result<void> Cron::TryStart(const Due& due) {
  const gen::CronAction::What& what = due.action->what();
  if (const auto* sending = std::get_if<gen::CronAction::Sending>(&what)) {
    return Send(*sending, due.run);
  }
  if (const auto* spawning = std::get_if<gen::CronAction::Spawning>(&what)) {
    return Spawn(spawning->factory, spawning->options, spawning->args, spawning->name, due);
  }
  const auto& function = std::get<gen::CronAction::Function>(what);
  // It runs in Init, and may take its time.
  return Spawn(gen::Factory<FunctionRun>(function, due.run), {.init_timeout = gen::kInfinite}, {},
               {}, due);
}

gen::Result<void> Cron::Send(const gen::CronAction::Sending& what, const gen::CronRun& run) {
  core::EnvelopePtr message = what.make(run);
  auto pid = needs_.addresses.Resolve(what.to);
  if (!pid) return std::move(pid.error());
  return needs_.delivery.DeliverFromNode(*pid, message);
}

gen::Result<void> Cron::Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args,
                              gen::Atom name, const Due& due) {
  auto spawned = needs_.spawning.StartInBackground(
      {.factory = factory,
       .options = options,
       .args = args,
       .parent = needs_.addresses.NodePid(),
       .name = name},
      [this, job = due.run.job, number = due.number](gen::Result<void> done) {
        // A process that ends well in its Init has done its work.
        const bool is_done = done || done.error().detail() == gen::Reason::Normal().ToString();
        if (!is_done) Failed(job, number, done.error());
      });
  return spawned ? gen::Result<void>() : std::move(spawned.error());
}

void Cron::Failed(gen::Atom name, std::uint64_t number, const gen::Error& error) {
  gen::Log(needs_.log).Warning("cron job '{}' has failed: {}", name, error);
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(name.Text());
  if (found == jobs_.end() || found->second.number != number) return;
  ++found->second.failed;
  found->second.last_error = error.ToString();
}

}  // namespace ergon::node
