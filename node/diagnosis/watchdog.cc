#include <ergon/node/diagnosis/watchdog.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <pthread.h>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>

namespace ergon::node {
namespace {

constexpr std::int64_t kLooks = 8;                // within the time that a turn may take
constexpr std::int64_t kMaxPeriod = 250'000'000;  // also between two trims of the reserve

}  // namespace

std::string Describe(std::string_view process, const gen::BusyProcess& busy) {
  return fmt::format("{} has been in a handler{}{} for {:.3f} s", process,
                     busy.message.empty() ? "" : " of ", busy.message,
                     std::chrono::duration<double>(busy.running_for).count());
}

Watchdog::Watchdog(const Addresses& addresses, const Inspection& inspection, gen::LogSink& log,
                   core::Dispatcher& dispatcher, std::chrono::nanoseconds after)
    : addresses_(addresses),
      inspection_(inspection),
      log_(log),
      dispatcher_(dispatcher),
      after_(after.count()),
      period_(std::min(after_ / kLooks, kMaxPeriod)) {
  dispatcher_.SetWatch([this] {
    calls_.fetch_add(1, std::memory_order_release);
    core::FutexWake(calls_, 1);
  });
}

void Watchdog::Start() {
  seen_.resize(static_cast<std::size_t>(dispatcher_.workers()));
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "ergon-watchdog");
}

void Watchdog::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  calls_.fetch_add(1, std::memory_order_release);
  core::FutexWake(calls_, 1);
  thread_.join();
  reserve_.Close();
}

void Watchdog::Run() {
  for (;;) {
    // acquire pairs with the releases above; read first, so that no call is missed
    const std::uint32_t calls = calls_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    Look();
    reserve_.Open();
    const bool is_memory_reserved = reserve_.Trim();
    if (dispatcher_.WatchWhileAwake()) {
      (void)core::FutexWait(calls_, calls, period_);
      continue;
    }
    // A turn that was seen running may have ended since: its end is reported before the thread sleeps.
    Look();
    if (is_memory_reserved && !reserve_.CloseUnlessLast()) {
      (void)core::FutexWait(calls_, calls, kMaxPeriod);
    } else {
      reserve_.Close();  // nobody would trim it while the thread sleeps
      (void)core::FutexWait(calls_, calls);
    }
  }
}

void Watchdog::Look() {
  const std::int64_t now = core::SteadyNow();  // not the node's: this is about the machine
  LookAtAll(now);
  // Without the lock: who receives them may ask for Busy.
  for (const std::string& line : lines_) log_.Warning("{}", line);
  lines_.clear();
}

void Watchdog::LookAtAll(std::int64_t now) {
  std::lock_guard lock(mutex_);
  for (Seen& seen : seen_) seen.running = false;
  dispatcher_.VisitRunning([&](const core::RunningTurn& turn) {
    const auto worker = static_cast<std::size_t>(turn.worker);
    if (worker < seen_.size()) LookAt(seen_[worker], turn, now);
  });
  for (Seen& seen : seen_) {
    if (seen.running) continue;
    if (seen.reported) ReportEnd(seen, now);
    seen.number = 0;  // no turn has it: the next one begins when it is seen
  }
}

void Watchdog::LookAt(Seen& seen, const core::RunningTurn& turn, std::int64_t now) {
  if (seen.number != turn.number) {
    if (seen.reported) ReportEnd(seen, now);
    seen.number = turn.number;
    seen.since = now;
  }
  seen.running = true;
  if (seen.reported) {
    seen.report.running_for = std::chrono::nanoseconds(now - seen.since);
  } else if (now - seen.since >= after_) {
    Report(seen, turn, now);
  }
}

void Watchdog::Report(Seen& seen, const core::RunningTurn& turn, std::int64_t now) {
  const auto& process = static_cast<const ProcessSlot&>(*turn.schedulable);
  const core::TypeDescriptor* const type = process.activity().type();
  const gen::PID pid = addresses_.PidOf(process.Id());
  auto info = inspection_.ProcessInfo(pid, 0);  // its lists may be long, and are not shown
  if (!info) return;                            // it ends just now
  seen.reported = true;
  seen.report = {.pid = pid,
                 .name = info->name,
                 .behavior = std::move(info->behavior),
                 .message = type == nullptr ? std::string() : TypeForPeople(type),
                 .running_for = std::chrono::nanoseconds(now - seen.since)};
  seen.process = AsInItsLines(addresses_, pid);
  lines_.push_back(Describe(seen.process, seen.report) + ", without suspending itself");
}

void Watchdog::ReportEnd(Seen& seen, std::int64_t now) {
  seen.reported = false;
  seen.report.running_for = std::chrono::nanoseconds(now - seen.since);
  lines_.push_back(Describe(seen.process, seen.report) + "; that turn is over");
}

std::vector<gen::BusyProcess> Watchdog::Busy() const {
  std::vector<gen::BusyProcess> busy;
  {
    std::lock_guard lock(mutex_);
    for (const Seen& seen : seen_) {
      if (seen.reported) busy.push_back(seen.report);
    }
  }
  std::sort(busy.begin(), busy.end(), [](const auto& left, const auto& right) {
    return left.running_for > right.running_for;
  });
  return busy;
}

}  // namespace ergon::node
