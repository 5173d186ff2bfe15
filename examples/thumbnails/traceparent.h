// The header "traceparent" of W3C Trace Context (https://www.w3.org/TR/trace-context/), by which services know what
// belongs together: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/trace.h>

namespace thumbnails {

// The trace that a request belongs to.
struct TraceParent {
  std::string trace_id;  // 32 hexadecimal digits
  std::string flags;     // two; 01: its sender has recorded the request

  // The trace id of this program's messages, of 64 bits: the right half of `trace_id`, or the left one if that is 0.
  [[nodiscard]] ergon::gen::TraceId Trace() const;
  // As a header of the answer, with this service's own span.
  [[nodiscard]] std::string HeaderOf(ergon::gen::TraceId span) const;
};

// Returns what the header says. Nothing: it is none, and has to be ignored. Of versions to come the part that is known
// is read.
[[nodiscard]] std::optional<TraceParent> ParseTraceParent(std::string_view header);
// Begins a trace, for a request that has no header, or a wrong one. Nobody records it.
[[nodiscard]] TraceParent NewTraceParent();

}  // namespace thumbnails
