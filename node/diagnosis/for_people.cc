#include <ergon/node/diagnosis/for_people.h>

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/process_info.h>

namespace ergon::node {

std::string ForPeople(std::int64_t nanoseconds) {
  const std::int64_t milliseconds = std::max<std::int64_t>(nanoseconds, 0) / 1'000'000;
  if (milliseconds == 0) {
    return core::RoundTime(std::chrono::nanoseconds(std::max<std::int64_t>(nanoseconds, 0)));
  }
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
  // A clock may have been read a while before; all other differences are times that have passed.
  constexpr std::uint32_t kAhead = 3'600'000;
  const std::uint32_t lasted = Activity::Milliseconds(now) - since;
  const bool is_ahead = lasted >= 0 - kAhead;
  return is_ahead ? 0 : std::int64_t{lasted} * 1'000'000;
}

std::string HandledFor(const Activity& activity, const core::Clock& clock) {
  std::string handled = HandledForPeople(activity);
  // A signal, and Init, note no time.
  if (handled.empty() || !activity.IsInHandler() || activity.type() == nullptr) return handled;
  const std::uint32_t since = activity.since();  // before the clock
  return fmt::format("{} for {}", handled, ForPeople(HandlingTime(since, clock.Now())));
}

}  // namespace ergon::node
