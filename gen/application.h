// Applications: processes that are started and ended together, and the applications that they need.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/reason.h>

namespace ergon::gen {

class Node;

// What it means if a process of an application ends without having been asked to.
enum class ApplicationMode : std::uint8_t {
  kTemporary,  // nothing; with its last process the application ends, with the first failure as its reason, if any
  kTransient,  // nothing after normal and shutdown; a failure ends the application and the node
  kPermanent,  // it ends the application and the node
};

enum class ApplicationState : std::uint8_t { kLoaded, kStarting, kRunning, kStopping };
// As in "running".
[[nodiscard]] std::string_view ToString(ApplicationState state);

// One process of an application: often a supervisor.
struct ApplicationProcess {
  Atom name = {};               // the name it is registered by; empty: none
  ProcessFactory factory = {};  // required
  Args args = {};
  ProcessOptions options = {};
  // How long the process may take to handle the messages in its mailbox and to end; then it is killed. 0: it is killed
  // at once; kInfinite: without limit. When the node stops, NodeOptions::shutdown_timeout is a limit for all together.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
};

struct ApplicationSpec {
  Atom name = {};                // required
  std::string description = {};  // for people
  std::vector<Atom> depends =
      {};  // applications that have to run first; they are started before this one
  // The environment that its processes inherit (see Process::Env).
  Environment environment = {};
  // At least one. The processes are started in this order, each after the Init of the one before, and ended in reverse
  // order.
  std::vector<ApplicationProcess> processes = {};
  ApplicationMode mode = ApplicationMode::kTemporary;
  // The log level of its processes that name none, and of the processes that those spawn; none: the node's.
  std::optional<LogLevel> log_level = std::nullopt;
  // Called when all its processes run, before StartApplication returns. If it throws, the processes are ended again,
  // and StartApplication returns the error. It and when_ended run in a process of the application's own: functions of
  // the node that block their thread return kNotAllowed there.
  std::function<void(Node&)> when_started = {};
  // Called when an application that has run ends, for any reason: its processes have ended, or have been killed. An
  // exception is logged.
  std::function<void(Node&, const Reason&)> when_ended = {};

  // Returns an empty text, or what is wrong, as in "processes[0].factory: is empty".
  [[nodiscard]] std::string Validate() const;
};

// What differs from the ApplicationSpec, for one start.
struct ApplicationStartOptions {
  std::optional<ApplicationMode> mode = std::nullopt;
  Environment environment = {};  // beyond that of the ApplicationSpec, which it overrides
  std::optional<LogLevel> log_level = std::nullopt;
};

// A moment's view of an application. While it runs, environment, mode and log_level are those of its start.
struct ApplicationInfo {
  Atom name;
  std::string description;
  std::vector<Atom> depends;
  Environment environment;
  ApplicationMode mode = ApplicationMode::kTemporary;
  ApplicationState state = ApplicationState::kLoaded;
  std::chrono::nanoseconds uptime{0};  // since its start
  std::vector<PID> processes;          // its own processes that are alive
  std::optional<LogLevel> log_level;   // none: the node's
  std::optional<Reason> last_end;      // why it ended the last time; none: it has not ended yet
};

}  // namespace ergon::gen
