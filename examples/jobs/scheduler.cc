#include "scheduler.h"

#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/gen/node.h>

namespace jobs {

using namespace ergon;

namespace {

constexpr const char* kRunning = "running";  // the group of the jobs that run

class Scheduler {
 public:
  Scheduler(gen::Process& self, Run& run) : self_(self), run_(run), jobs_(run.jobs) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      missing_.push_back(jobs_[i].after.size());
      if (missing_[i] == 0) ready_.insert(i);
    }
  }

  void Work() {
    for (StartSome(); !running_.empty(); StartSome()) {
      auto next = self_.Receive<gen::SentBy<Trying>, gen::MessageDownPID, Stop>();
      if (!next) break;
      if (const auto* trying = std::get_if<gen::SentBy<Trying>>(&*next)) {
        ++jobs_[running_.at(trying->from).first].tries;
      } else if (const auto* down = std::get_if<gen::MessageDownPID>(&*next)) {
        HandleEnd(down->pid, down->reason);
      } else {
        is_stopping_ = true;
        (void)self_.SendToGroup(kRunning, Stop{});
      }
    }
  }

 private:
  void StartSome() {
    while (!is_stopping_ && running_.size() < run_.at_once && !ready_.empty()) {
      const std::size_t i = ready_.extract(ready_.begin()).value();
      const auto work = [job = jobs_[i], printer = run_.printer, grace = run_.grace](
                            gen::Process& process) { return RunJob(process, job, printer, grace); };
      const gen::PID job = self_.SpawnRegister(jobs_[i].name, work).value();
      running_.emplace(job, std::pair(i, self_.Now()));
      self_.Monitor(job).value();
      (void)self_.Node().JoinGroup(kRunning, job);  // it may have ended already
    }
  }

  void HandleEnd(gen::PID job, const gen::Reason& reason) {
    const auto [i, started] = running_.extract(job).mapped();
    jobs_[i].seconds = double(self_.Now() - started) / 1e9;
    jobs_[i].state = reason.IsNormal() ? "succeeded" : reason.IsFailure() ? "failed" : "stopped";
    if (reason.IsFailure()) Skip(i);
    if (!reason.IsNormal()) return;
    for (const std::size_t next : jobs_[i].next) {
      if (--missing_[next] == 0) ready_.insert(next);
    }
  }

  // Without recursion: a process has a small stack, and jobs may come after each other in a long row.
  void Skip(std::size_t failed) {
    std::vector<std::size_t> reached{failed};
    while (!reached.empty()) {
      const std::size_t i = reached.back();
      reached.pop_back();
      for (const std::size_t next : jobs_[i].next) {
        if (std::exchange(jobs_[next].state, "skipped") != "skipped") reached.push_back(next);
      }
    }
  }

  gen::Process& self_;
  const Run& run_;
  std::vector<Job>& jobs_;
  std::vector<std::size_t> missing_;  // how many have to succeed before each
  std::set<std::size_t> ready_;       // those that come first in the list start first
  std::map<gen::PID, std::pair<std::size_t, std::int64_t>> running_;  // which, and since when
  bool is_stopping_ = false;
};

}  // namespace

void Schedule(gen::Process& self) {
  auto asked = self.Receive<gen::Asked<Run>>();
  if (!asked) return;
  Scheduler(self, asked->value).Work();
  (void)self.Reply(*asked, std::move(asked->value.jobs));
}

}  // namespace jobs
