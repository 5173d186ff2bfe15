#include <ergon/node/process/runner.h>

#include <mutex>
#include <string>
#include <utility>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/diagnosis/node_log.h>

namespace ergon::node {
namespace {

// For another thread's line: the end of the process, which destroys the behaviour, waits for the lock.
std::string BehaviorNameElsewhere(const ProcessSlot& process, gen::PID pid) {
  ProcessCold& cold = process.Cold();
  std::lock_guard lock(cold.lock);
  return process.IsStill(pid) ? gen::BehaviorNameOf(process.behavior()) : "ended";
}

}  // namespace

gen::PID ProcessRunner::Self() const { return rooms_.addresses.PidOf(Id()); }

gen::PID ProcessRunner::Parent() const { return rooms_.addresses.PidOf(parent_id()); }

gen::Atom ProcessRunner::Name() const {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return {};
  std::lock_guard lock(cold->lock);
  return cold->name;
}

gen::LogLevel ProcessRunner::LineLevel() const { return LogLevelOr(rooms_.log.Level()); }

void ProcessRunner::WriteLine(gen::LogLevel level, std::string_view text) const {
  LogRecord record{.level = level, .text = text, .node = {}, .pid = Self(), .name = Name()};
  if (!IsInOwnTurn()) {
    record.behavior = BehaviorNameElsewhere(*this, record.pid);
  } else {
    record.behavior = behavior_ ? gen::BehaviorNameOf(*behavior_) : std::string("ended");
  }
  // A burst hides no panic.
  const bool is_panic = IsInOwnTurn() && current_failed_;
  if (!is_panic && !rooms_.log.Admits(record)) return;
  if (heir_) {
    record.pool = Parent();
    record.pool_name = NameOf(rooms_.addresses, record.pool);
  }
  // Other threads may write lines of this process, too: they handle nothing.
  if (IsInOwnTurn()) {
    record.trace = marks_.trace(*this);
    if (rooms_.log.TellsMessages() && activity_.type() != nullptr) {
      record.message = TypeForPeople(activity_.type());
    }
  }
  rooms_.log.WriteLine(std::move(record));
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
