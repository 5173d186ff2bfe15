#include <ergon/gen/application.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::gen {

std::string_view ToString(ApplicationState state) {
  switch (state) {
    case ApplicationState::kLoaded:
      return "loaded";
    case ApplicationState::kStarting:
      return "starting";
    case ApplicationState::kRunning:
      return "running";
    case ApplicationState::kStopping:
      return "stopping";
  }
  return "unknown";
}

std::string ApplicationSpec::Validate() const {
  if (name.empty()) return "name: must not be empty";
  if (mode > ApplicationMode::kPermanent) {
    return fmt::format("mode: {}, must be an ApplicationMode", static_cast<int>(mode));
  }
  if (log_level && *log_level > LogLevel::kOff) {
    return fmt::format("log_level: {}, must be a LogLevel", static_cast<int>(*log_level));
  }
  if (std::any_of(depends.begin(), depends.end(), [](Atom other) { return other.empty(); })) {
    return "depends: must not have an empty name";
  }
  if (processes.empty()) return "processes: must not be empty";
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (!processes[i].factory) return fmt::format("processes[{}].factory: is empty", i);
    if (processes[i].shutdown_timeout < std::chrono::nanoseconds::zero()) {
      return fmt::format("processes[{}].shutdown_timeout: {}, must not be negative", i,
                         core::ExactTime(processes[i].shutdown_timeout));
    }
  }
  return {};
}

}  // namespace ergon::gen
