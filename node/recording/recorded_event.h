// What is recorded of processes, and how it looks in the trace-event format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

struct RecordedEvent {
  enum class Kind : std::uint8_t {
    kThread,   // there is a thread; `label` is its name
    kProcess,  // there is a process; `label` is what its log lines begin with
    kTurn,
    kHandles,
    kAwaitsAnswer,
    kWaits,     // for something else
    kGivesWay,  // or blocks, on another thread
    kSends,     // moments, at `begin`: a message, or a request
    kCalls,
  };

  // Returns whether it has no length.
  [[nodiscard]] bool IsMoment() const noexcept {
    return kind == Kind::kSends || kind == Kind::kCalls;
  }

  Kind kind;
  std::int64_t begin = 0;  // SteadyNow
  std::int64_t end = 0;
  int thread = 0;             // the kernel's number
  std::uint32_t process = 0;  // a number of its own in each recording
  std::shared_ptr<const std::string> label = nullptr;
  const core::TypeDescriptor* type = nullptr;  // null: not known, or a signal
  gen::PID to = {};
  gen::TraceId trace = 0;
};

// Returns a JSON object in one line; `origin` is the time 0.
[[nodiscard]] std::string TraceEventJson(const RecordedEvent& event, std::int64_t origin);
// Returns the JSON that names one of the two groups of tracks.
[[nodiscard]] std::string GroupJson(bool of_processes, const std::string& name);

}  // namespace ergon::node
