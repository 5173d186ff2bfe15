// Applications: processes that are started and ended together, and what else has to run for that.
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

// What the end of one of an application's processes means that nobody has asked for.
enum class ApplicationMode : std::uint8_t {
  kTemporary,  // nothing; with its last process the application ends
  kTransient,  // nothing after normal and shutdown; a failure ends the application and the node
  kPermanent,  // it ends the application and the node
};

enum class ApplicationState : std::uint8_t { kLoaded, kStarting, kRunning, kStopping };
// As in "running".
[[nodiscard]] std::string_view ToString(ApplicationState state);

// One process of an application: often a supervisor.
struct ApplicationProcess {
  Atom name = {};               // it is registered by it; empty: it is not
  ProcessFactory factory = {};  // required
  Args args = {};
  ProcessOptions options = {};
  // How long it may take to handle what it has queued and to end; then it is killed. 0: it is killed
  // at once; kInfinite: as long as it likes.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
};

struct ApplicationSpec {
  Atom name = {};                  // required
  std::string description = {};    // for people
  std::vector<Atom> depends = {};  // applications that have to run before; they are started first
  // For its processes, which inherit it (see Process::Env).
  Environment environment = {};
  // At least one. Started in this order, each after the Init of the one before, and ended in
  // reverse order.
  std::vector<ApplicationProcess> processes = {};
  ApplicationMode mode = ApplicationMode::kTemporary;
  // Of those of its processes that name none, and of what they spawn; none: the node's.
  std::optional<LogLevel> log_level = std::nullopt;
  // Called when all its processes run, before StartApplication returns. What it throws ends them again and is the
  // error of StartApplication. It and the next one run in a process of the application's own: functions of the node
  // that block their thread return kNotAllowed there.
  std::function<void(Node&)> when_started = {};
  // Called when the application that has run ends, why ever: its processes have ended, or have been killed. What it
  // throws is logged.
  std::function<void(Node&, const Reason&)> when_ended = {};

  // Empty, or what is wrong: as in "processes[0].factory: is empty".
  [[nodiscard]] std::string Validate() const;
};

// What is different from the ApplicationSpec, for one start.
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
  std::chrono::nanoseconds uptime{0};  // since it runs
  std::vector<PID> processes;          // those that are alive, of its own
  std::optional<LogLevel> log_level;   // none: the node's
  std::optional<Reason> last_end;      // why it has ended the last time; none: it has not yet
};

}  // namespace ergon::gen
