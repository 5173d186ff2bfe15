// The trace tokens of Erlang's module seq_trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>

namespace ergon::dist {

// The tuple {Flags, Label, Serial, From, Previous}, where From is the process that has sent the token.
struct TraceToken {
  // Erlang's processes do not count further. A larger number is read as 0.
  static constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 59) - 1;
  // What a system tracer learns of a trace: sends, receives, and the texts of seq_trace:print.
  static constexpr std::uint64_t kSend = 1;
  static constexpr std::uint64_t kReceive = 2;
  static constexpr std::uint64_t kPrint = 4;

  std::uint64_t flags = 0;
  std::string_view label{};  // a term
  std::uint64_t serial = 0;
  std::uint64_t previous = 0;  // the serial of the message that its sender has handled
};

// Reads a checked term. Returns false if it is not a token.
[[nodiscard]] bool ReadTraceToken(std::string_view term, std::size_t max_depth, TraceToken& token);
void AppendTraceToken(std::string& out, const TraceToken& token, gen::PID from);

// Returns the trace id that a label, a checked term, stands for on each node of Ergon. An integer from 1 to 2^64 - 1 is
// the trace id itself; for any other term the id is made of the bytes of the term. Never returns 0.
[[nodiscard]] gen::TraceId TraceIdOf(std::string_view label) noexcept;

}  // namespace ergon::dist
