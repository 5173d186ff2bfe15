#include <ergon/node/process/runner.h>

#include <mutex>

#include <fmt/core.h>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/diagnosis/descriptions.h>
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
  std::string line = fmt::format("{} ", Self());
  if (!name.empty()) line += fmt::format("'{}' ", name);
  line += behavior;
  if (heir_) line += OfPool(rooms_.addresses, Parent());
  // Other threads may write lines of this process, too: they handle nothing.
  const gen::TraceId trace = IsInOwnTurn() ? marks_.trace(*this) : 0;
  if (trace != 0) line += fmt::format(" [trace {}]", gen::TraceText(trace));
  rooms_.log.WriteLine(level, fmt::format("{}: {}", line, text));
}

void ProcessRunner::Expire(core::Envelope& request, bool withdrawn) {
  CountExpired();
  answered_ = true;
  // First: who is told finds it counted.
  rooms_.drops.Note(request, Self(), gen::DropReason::kExpired,
                    withdrawn ? gen::ErrDeadlock : gen::ErrTimeout);
  rooms_.delivery.ExpireWaitFor(request);
}

}  // namespace ergon::node
