#include <ergon/node/diagnosis/for_people.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/gen/process_info.h>

namespace ergon::node {

std::string ForPeople(std::int64_t nanoseconds) {
  const std::int64_t milliseconds = std::max<std::int64_t>(nanoseconds, 0) / 1'000'000;
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  return fmt::format("{}.{} s", milliseconds / 1000, milliseconds / 100 % 10);
}

std::string TypeForPeople(const core::TypeDescriptor* type) {
  if (type == nullptr) return "a signal";
  if (core::IsType<gen::InspectRequest>(type)) return "an inspection";
  return type == core::TypeOf<Continuation>() ? "a continuation" : type->TagOrName();
}

std::string HandledForPeople(const Activity& activity) {
  switch (activity.state()) {
    case gen::ProcessState::kStarting:
      return "Init";
    case gen::ProcessState::kIdle:
    case gen::ProcessState::kReady:
      return "";
    case gen::ProcessState::kTerminating:
      return "Terminate";
    case gen::ProcessState::kRunning:
    case gen::ProcessState::kWaiting:
      break;
  }
  return activity.type() == nullptr ? "Init or a signal" : TypeForPeople(activity.type());
}

std::int64_t HandlingTime(std::uint32_t since, std::int64_t now) {
  const auto lasted = static_cast<std::int32_t>(Activity::Milliseconds(now) - since);
  return std::int64_t{std::max(lasted, 0)} * 1'000'000;
}

}  // namespace ergon::node
