// What a process's functions do where they must not be called: on a thread that is not in one of its
// handlers, or while a handler holds a lock.
#include <string>

#include <fmt/core.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

std::string ForeignText(const std::string& process) {
  return fmt::format(
      "called for {} outside of its handlers; other threads use the node's functions, or send it a "
      "message",
      process);
}

}  // namespace

gen::Error Process::NotInOwnTurn(const char* function) const {
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("{}: {}", function, ForeignText(runtime_->Describe(Self()))));
}

void Process::EndForMisuse(const char* function) const {
  core::Fatal(function, ForeignText(runtime_->Describe(Self())).c_str());
}

std::string Process::InHandler() const {
  const core::TypeDescriptor* type = current_type_.load(std::memory_order_relaxed);
  return fmt::format("{} ({}) of {}", Self(), behavior_->BehaviorName(),
                     type == nullptr ? "no message" : type->Name());
}

std::string Process::HeldMutexText(const char* function) const {
  return fmt::format(
      "{} while a gen::Mutex is held, in the handler of {}: the process would be suspended with "
      "it, "
      "and whoever wants it would block a thread",
      function, InHandler());
}

}  // namespace ergon::node
