#include <ergon/node/diagnosis/for_people.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/node/slots/activity.h>

namespace ergon::node {

std::string ForPeople(std::int64_t nanoseconds) {
  const std::int64_t milliseconds = std::max<std::int64_t>(nanoseconds, 0) / 1'000'000;
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  return fmt::format("{}.{} s", milliseconds / 1000, milliseconds / 100 % 10);
}

std::string TypeForPeople(const core::TypeDescriptor* type) {
  if (type == nullptr) return "a signal";
  return type == core::TypeOf<Continuation>() ? "a continuation" : type->Name();
}

// The coarse clock that `since` is read from never runs ahead.
std::int64_t HandlingTime(std::uint32_t since, std::int64_t now) {
  return std::int64_t{Activity::Milliseconds(now) - since} * 1'000'000;
}

}  // namespace ergon::node
