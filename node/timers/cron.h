// The cron jobs of a node.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/cron_job.h>
#include <ergon/gen/cron_schedule.h>
#include <ergon/gen/log.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/io/io_thread.h>
#include <ergon/node/spawning/spawning.h>
#include <ergon/node/timers/wall_clock.h>

namespace ergon::node {

// One timer for all jobs: armed for the next run, or for a minute, whichever is sooner, so that a change of a user's
// wall clock is noticed; not armed when no job is enabled. The machine's clock is watched from the first job on. Any
// thread.
class Cron {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Addresses& addresses;
    Delivery& delivery;
    Spawning& spawning;
    core::TimerQueue& timers;
    const core::Clock& clock;
    const WallClock& wall_clock;
    gen::LogSink& log;
    const std::unique_ptr<IoThread>& io;  // null before the start, and with a clock of the owner's
  };
  explicit Cron(const Needs& needs) : needs_(needs), timer_(&Cron::Fire, this) {}

  gen::Result<void> Add(const gen::CronJob& job);
  gen::Result<void> Remove(gen::Atom name);
  gen::Result<void> Enable(gen::Atom name, bool enabled);
  [[nodiscard]] gen::Result<gen::CronJobInfo> Info(gen::Atom name) const;
  [[nodiscard]] std::vector<gen::CronJobInfo> List() const;
  [[nodiscard]] std::vector<gen::CronRun> Runs(std::chrono::sys_seconds since,
                                               std::chrono::seconds duration) const;
  // Starts the jobs that are due by the wall clock, which may have been set.
  void Look();

 private:
  struct Job {
    gen::CronJob job;  // without its action
    std::shared_ptr<const gen::CronAction> action;
    gen::CronSchedule schedule;
    std::uint64_t number = 0;  // no other job has it, also none of the same name
    std::optional<std::chrono::sys_seconds> next = std::nullopt;  // none while disabled
    bool is_lost =
        false;  // its zone's rules threw: its next run, the first one after `lost_at`, is not known
    std::chrono::system_clock::time_point lost_at = {};
    std::uint64_t runs = 0;
    std::uint64_t missed = 0;
    std::uint64_t failed = 0;
    std::optional<std::chrono::sys_seconds> last_run = std::nullopt;
    std::string last_error = {};
  };
  using Jobs = std::map<std::string_view, Job>;  // by the texts of their names
  struct Due {
    std::shared_ptr<const gen::CronAction> action;
    gen::CronRun run;
    std::uint64_t number;  // of the job
  };

  using WallTime = std::chrono::system_clock::time_point;

  // Sets the next run. Returns kIncorrect if the rules of the job's zone threw.
  static gen::Result<void> SetNext(Job& job, WallTime now);
  // Inside of a catch (...): notes that the first run after `at` is not known, and returns the error.
  static gen::Error Lose(Job& job, WallTime at);
  // The runs that were due by `now`, without the next one. Errors as of SetNext.
  struct Passed {
    std::optional<std::chrono::sys_seconds> last;  // what runs
    std::uint64_t missed = 0;
  };
  static gen::Result<void> Pass(Job& job, WallTime now, Passed& passed);
  // The same of those before `too_late`, of which there is one.
  static gen::Result<void> PassMissed(Job& job, std::chrono::sys_seconds too_late, Passed& passed);
  static gen::CronJobInfo InfoOf(const Job& job);
  static void Fire(void* context, std::uint64_t);
  using Lost = std::vector<std::tuple<gen::Atom, std::uint64_t, gen::Error>>;  // name, number
  // Lines for the log, written without the lock, which a slow sink would keep.
  using Told = std::vector<std::string>;
  // Takes the jobs that are due, and sets when to look again. `lost`: jobs whose next run is not known any more. Under
  // the lock.
  std::vector<Due> TakeDue(WallTime now, Lost& lost, Told& told);
  void Rearm(WallTime now);
  void CheckSetBack(WallTime now, Told& told);

  // Outside of the lock.
  void WatchClock();
  void Start(const Due& due);
  gen::Result<void> TryStart(const Due& due);
  gen::Result<void> Send(const gen::CronAction::Sending& what, const gen::CronRun& run);
  gen::Result<void> Spawn(const gen::ProcessFactory& factory, const gen::ProcessOptions& options,
                          const gen::Args& args, gen::Atom name, const Due& due);
  // Logs the failure, and notes it for the job, unless that was removed. `number`: of the job.
  void Failed(gen::Atom name, std::uint64_t number, const gen::Error& error);

  const Needs needs_;
  mutable std::mutex mutex_;  // of what follows
  Jobs jobs_;
  std::uint64_t last_number_ = 0;
  core::Timer timer_;
  bool armed_ = false;
  bool is_set_back_ = false;
  WallTime seen_ = WallTime::min();  // the latest that the wall clock has shown
  std::once_flag watches_clock_;
};

}  // namespace ergon::node
