// Work that a node does at certain times.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/cron_zone.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/message.h>
#include <ergon/gen/priority.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/target.h>

namespace ergon::gen {

class Process;

// One run of a job: the message that CronAction::Send sends if it has no value of its own.
struct MessageCron {
  Atom job;
  std::chrono::sys_seconds time;  // when it was due
};
using CronRun = MessageCron;

// What a job does. A value.
class CronAction {
 public:
  // Sends a MessageCron, from the node.
  static CronAction Send(Target to);
  // Sends a copy of `value`. The timers' thread makes the copy.
  template <class T>
  static CronAction Send(Target to, T value) {
    return CronAction(
        Sending{to, [to, value = StoredType<T>(std::move(value))](const MessageCron&) {
                  return Make<StoredType<T>>(to, value);
                }});
  }
  // Spawns a process, as Node::Spawn does, or if `name` is not empty, as Node::SpawnRegister does.
  static CronAction Spawn(ProcessFactory factory, ProcessOptions options = {}, Args args = {},
                          Atom name = {});
  // Runs a function in a process of its own, which ends when the function returns. If the function throws, the run has
  // failed. The function may do all that a process may, but Receive.
  static CronAction Run(std::function<void(Process& self, const MessageCron& run)> function);

  // Does nothing: not allowed in a job.
  CronAction() = default;

  // -- for the runtime --

  struct Sending {
    Target to;
    std::function<core::EnvelopePtr(const MessageCron&)> make;
  };
  struct Spawning {
    ProcessFactory factory;
    ProcessOptions options;
    Args args;
    Atom name;
  };
  using Function = std::function<void(Process& self, const MessageCron& run)>;
  using What = std::variant<std::monostate, Sending, Spawning, Function>;
  [[nodiscard]] const What& what() const noexcept { return what_; }

 private:
  explicit CronAction(What what) : what_(std::move(what)) {}
  template <class T>
  static core::EnvelopePtr Make(const Target& to, const T& value) {
    // The name may have become an atom since the job was made.
    return core::MakeEnvelopeWith<T>({.tag = to.Tag()},
                                     static_cast<std::uint8_t>(EnvelopeKind::kMessage),
                                     core::Lane::kMain, value);
  }

  What what_;
};

// A job runs at whole minutes of the node's wall clock (NodeOptions::wall_clock), as soon as the clock shows them. The
// node notices at once that the machine was suspended or its clock was set; changes of a wall clock of your own it
// notices within a minute, or at Node::CheckCronJobs. Of the runs that were due by then, the last one is made up if it
// is late by at most `may_be_late`; the others are missed, which is counted and logged. A clock that is set back makes
// no job run again: the job waits until the clock shows times that it has not shown yet, or until it is disabled and
// enabled.
struct CronJob {
  Atom name = {};          // required
  std::string spec = {};   // required; see gen::CronSchedule
  CronZone zone = {};      // the zone of the times in `spec`
  CronAction action = {};  // required
  bool enabled = true;
  std::chrono::seconds may_be_late = std::chrono::minutes(1);  // 0 s to 7 days; 0 s counts as 1 s
};

// A moment's view of a job.
struct CronJobInfo {
  Atom name;
  std::string spec;
  std::string zone;
  bool enabled = true;
  std::uint64_t runs = 0;
  std::uint64_t missed = 0;  // runs that would have been too late, or before one that was made up
  // Of `runs`: the message was not sent, the process did not start, ...; and how often the next
  // run became unknown because the zone's rules threw.
  std::uint64_t failed = 0;
  std::optional<std::chrono::sys_seconds> last_run = std::nullopt;
  std::string last_error;                                           // of the last run that failed
  std::optional<std::chrono::sys_seconds> next_run = std::nullopt;  // none while disabled
};

}  // namespace ergon::gen
