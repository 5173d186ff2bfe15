#include <ergon/node/cluster/signals/trace_token.h>

#include <ergon/core/foundations/mix.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

bool IsInteger(std::string_view term) {
  constexpr std::string_view kTags(
      "\x61\x62\x6e\x6f");  // SMALL_INTEGER, INTEGER, SMALL_BIG, LARGE_BIG
  return !term.empty() && kTags.find(term.front()) != std::string_view::npos;
}

// A process of Erlang whose count has come to its end goes on with numbers below zero, which are read as 0: that is no
// reason to lose the connection.
bool ReadCount(ControlReader& reader, std::uint64_t& number) {
  std::string_view term;
  if (!reader.ReadTerm(term) || !IsInteger(term)) return false;
  if (!ControlReader(term, 1).ReadNumber(number) || number > TraceToken::kMostNumber) number = 0;
  return true;
}

// Of a checked integer: it has no other terms in it.
bool ReadTraceId(std::string_view label, gen::TraceId& trace) noexcept {
  return ControlReader(label, 1).ReadNumber(trace) && trace != 0;
}

}  // namespace

bool ReadTraceToken(std::string_view term, std::size_t max_depth, TraceToken& token) {
  ControlReader reader(term, max_depth);
  std::size_t size = 0;
  std::string_view from;  // Erlang has ports there, too
  return reader.ReadTuple(size) && size == 5 && ReadCount(reader, token.flags) &&
         reader.ReadTerm(token.label) && ReadCount(reader, token.serial) && reader.ReadTerm(from) &&
         ReadCount(reader, token.previous);
}

void AppendTraceToken(std::string& out, const TraceToken& token, gen::PID from) {
  TermWriter writer(out);
  writer.Tuple(5);
  writer.Unsigned(token.flags);
  writer.Raw(token.label);
  writer.Unsigned(token.serial);
  writer.Pid(from);
  writer.Unsigned(token.previous);
}

gen::TraceId TraceIdOf(std::string_view label) noexcept {
  gen::TraceId trace = 0;
  if (ReadTraceId(label, trace)) return trace;
  for (const char byte : label) trace = core::Mix(trace ^ static_cast<std::uint8_t>(byte));
  return trace != 0 ? trace : 1;
}

}  // namespace ergon::dist
