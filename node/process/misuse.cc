// What a process's functions do where they must not be called: on a thread that is not in one of its
// handlers, or while a handler holds a lock.
#include <string>

#include <fmt/core.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

namespace {

std::string ForeignText(const std::string& process) {
  return fmt::format(
      "called for {} outside of its handlers; other threads use the node's functions, or send it a "
      "message",
      process);
}

}  // namespace

gen::Error ProcessRunner::NotInOwnTurn(const char* function) const {
  return gen::Error(
      gen::ErrorCode::kNotAllowed,
      fmt::format("{}: {}", function, ForeignText(rooms_.descriptions.Describe(Self()))));
}

void ProcessRunner::EndForMisuse(const char* function) const {
  core::Fatal(function, ForeignText(rooms_.descriptions.Describe(Self())).c_str());
}

std::string ProcessRunner::InHandler() const {
  const core::TypeDescriptor* type = activity_.type();
  const std::string process = fmt::format("{} ({})", Self(), gen::BehaviorNameOf(*behavior_));
  return type == nullptr ? process : fmt::format("{} of {}", process, TypeForPeople(type));
}

std::string ProcessRunner::HeldMutexText(const char* function) const {
  if (current_ != nullptr &&
      current_->kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kInspect) &&
      parked_ != nullptr) {
    return fmt::format("{} in HandleInspect, while a handler of {} waits: one wait at a time",
                       function, InHandler());
  }
  return fmt::format(
      "{} while a gen::Mutex is held, in the handler of {}: unlock the mutex first, or others who "
      "want it would block threads",
      function, InHandler());
}

}  // namespace ergon::node
