#include <ergon/node/process/runner.h>

#include <mutex>

#include <fmt/core.h>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/diagnosis/node_log.h>

namespace ergon::node {

gen::PID ProcessRunner::Self() const { return rooms_.addresses.PidOf(Id()); }

gen::PID ProcessRunner::Parent() const { return rooms_.addresses.PidOf(parent_id()); }

gen::Atom ProcessRunner::Name() const {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return {};
  std::lock_guard lock(cold->lock);
  return cold->name;
}

gen::LogLevel ProcessRunner::Level() const { return LogLevelOr(rooms_.log.Level()); }

void ProcessRunner::Write(gen::LogLevel level, std::string_view text) {
  const gen::Atom name = Name();
  const std::string behavior = behavior_ ? behavior_->BehaviorName() : std::string("ended");
  rooms_.log.WriteLine(level, name.empty()
                                  ? fmt::format("{} {}: {}", Self(), behavior, text)
                                  : fmt::format("{} '{}' {}: {}", Self(), name, behavior, text));
}

}  // namespace ergon::node
