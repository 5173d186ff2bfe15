// Times as people read them.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/clock.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/node/process_state/activity.h>

namespace ergon::node {

// Returns a time as in "4.9 s", "120 ms" or "30 us"; a negative one is "0 ms".
[[nodiscard]] std::string ForPeople(std::int64_t nanoseconds);
// Returns Activity::type as text: "a signal" for null, "a continuation" (gen::Status::Next), "an inspection", or the
// name of a message's type.
[[nodiscard]] std::string TypeForPeople(const core::TypeDescriptor* type);
// Returns what a process does now: the type of the message that it handles, "Init", "Terminate", "Init or a signal"
// where that is not known; empty: nothing.
[[nodiscard]] std::string HandledForPeople(const Activity& activity);
// Returns how long a process has been handling something, in ns: `since` is Activity::since, and `now` a time of the
// node's clock. 0 if that is before `since`: the process goes on, and may have begun after the clock was read.
[[nodiscard]] std::int64_t HandlingTime(std::uint32_t since, std::int64_t now);

// Returns HandledForPeople, and for how long where that is known, as in "Job for 1.2 s".
[[nodiscard]] std::string HandledFor(const Activity& activity, const core::Clock& clock);

}  // namespace ergon::node
