// The traces that come from other nodes and go there: trace ids of this node as trace tokens of Erlang's seq_trace, and
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>

namespace ergon::dist {

// Knows what came with the traces that were used last: their flags, labels and serials. For seq_trace this node counts
// as one process of each trace. A trace that has been forgotten has the same trace id when it comes again; what goes on
// then has that id as its label. Any thread.
class TraceTokens {
 public:
  static constexpr std::size_t kUsualMost = 4096;
  // A longer label is not kept, as if it had been forgotten. Nor is a label that contains a map, a function or a list
  // other than text, or that has tuples nested more than kMostLabelDepth deep: a label goes to nodes that have not sent
  // it, and they may refuse such terms.
  static constexpr std::size_t kMostLabelBytes = 256;
  static constexpr std::size_t kMostLabelDepth = 4;
  // The next serial is not made from a serial above this: the nodes behind this one count on, too, and must not reach
  // the end.
  static constexpr std::uint64_t kMostSerial = std::uint64_t{1} << 58;

  explicit TraceTokens(std::size_t most = kUsualMost) : most_(most) {}

  // Returns the trace id that a token stands for, which is a checked term, as in Signal::token.
  [[nodiscard]] gen::TraceId TakeToken(std::string_view token);
  // Returns the token with which a signal of `from` goes on, or nothing if `trace` is 0 or nobody has sent it. A trace
  // that began here has the flags send, receive and print.
  [[nodiscard]] std::string Make(gen::TraceId trace, gen::PID from);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Trace {
    gen::TraceId id = 0;
    std::uint64_t flags = 0;
    std::string label = {};      // a term
    std::uint64_t serial = 0;    // the highest so far
    std::uint64_t previous = 0;  // of the token that came last
  };

  // With the lock. The trace is the one that was used last then.
  Trace& Find(gen::TraceId id);

  const std::size_t most_;
  mutable std::mutex mutex_;  // of what follows
  std::list<Trace> traces_;   // the one that was used last is the first one
  // Ordered: others choose the ids.
  std::map<gen::TraceId, std::list<Trace>::iterator> by_id_;
};

}  // namespace ergon::dist
