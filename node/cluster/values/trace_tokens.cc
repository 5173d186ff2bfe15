#include <ergon/node/cluster/values/trace_tokens.h>

#include <algorithm>
#include <limits>

#include <ergon/node/cluster/signals/trace_token.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

bool IsPlain(const Term& term, std::size_t depth) {
  constexpr char kTextTag = 107;  // STRING
  switch (term.kind()) {
    case Term::Kind::kMap:
    case Term::Kind::kFunction:
      return false;
    case Term::Kind::kList:
      return term.size() == 0 || term.raw().front() == kTextTag;
    case Term::Kind::kTuple:
      return depth != 0 && std::ranges::all_of(term.Elements(), [depth](const Term& element) {
               return IsPlain(element, depth - 1);
             });
    default:
      return true;
  }
}

bool MayGoOn(std::string_view label) {
  return label.size() <= TraceTokens::kMostLabelBytes &&
         IsPlain(Term::FromChecked(std::string(label)), TraceTokens::kMostLabelDepth);
}

}  // namespace

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

gen::TraceId TraceTokens::TakeToken(std::string_view token) {
  // It has been read once, with the limit of its connection.
  constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();
  TraceToken read;
  if (!ReadTraceToken(token, kAnyDepth, read)) return 0;
  const gen::TraceId id = TraceIdOf(read.label);
  std::lock_guard lock(mutex_);
  Trace& trace = Find(id);
  trace.flags = read.flags;
  if (MayGoOn(read.label)) trace.label = read.label;
  if (read.serial <= kMostSerial) {
    trace.serial = std::max(trace.serial, read.serial);
    trace.previous = read.serial;
  }
  return id;
}

std::string TraceTokens::Make(gen::TraceId trace, gen::PID from) {
  std::string token;
  if (trace == 0 || from.node.empty()) return token;
  std::lock_guard lock(mutex_);
  Trace& known = Find(trace);
  if (known.serial < kMostSerial) ++known.serial;
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
