#include <ergon/node/cluster/values/trace_tokens.h>

#include <algorithm>
#include <limits>

#include <ergon/node/cluster/signals/trace_token.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

TraceTokens::Trace& TraceTokens::Find(gen::TraceId id) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    traces_.splice(traces_.begin(), traces_, found->second);
    return traces_.front();
  }
  if (traces_.size() == most_) {
    by_id_.erase(traces_.back().id);
    traces_.pop_back();
  }
  traces_.push_front(
      {.id = id, .flags = TraceToken::kSend | TraceToken::kReceive | TraceToken::kPrint});
  TermWriter(traces_.front().label).Unsigned(id);
  by_id_[id] = traces_.begin();
  return traces_.front();
}

gen::TraceId TraceTokens::Take(std::string_view token) {
  // It has been read once, with the limit of its connection.
  constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();
  TraceToken read;
  if (!ReadTraceToken(token, kAnyDepth, read)) return 0;
  const gen::TraceId id = TraceIdOf(read.label);
  std::lock_guard lock(mutex_);
  Trace& trace = Find(id);
  trace.flags = read.flags;
  if (read.label.size() <= kMostLabelBytes) trace.label = read.label;
  trace.serial = std::max(trace.serial, read.serial);
  trace.previous = read.serial;
  return id;
}

std::string TraceTokens::Make(gen::TraceId trace, gen::PID from) {
  std::string token;
  if (trace == 0 || from.node.empty()) return token;
  std::lock_guard lock(mutex_);
  Trace& known = Find(trace);
  if (known.serial < TraceToken::kMostNumber) ++known.serial;
  AppendTraceToken(token,
                   {.flags = known.flags,
                    .label = known.label,
                    .serial = known.serial,
                    .previous = known.previous},
                   from);
  return token;
}

std::size_t TraceTokens::size() const {
  std::lock_guard lock(mutex_);
  return traces_.size();
}

}  // namespace ergon::dist
