#include <ergon/node/cluster/extension/missed_values.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/connection/message_forms.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// Of a frame beside what it is about.
constexpr std::size_t kRestOfFrame = 4096;

gen::Error NoAnswer(const gen::Event& event, std::string_view what) {
  return gen::Error(gen::ErrorCode::kInternal,
                    fmt::format("{} has answered with {}", event.node, what));
}

}  // namespace

gen::Result<void> MissedValues::AppendAnswer(std::string& out, const Missed& missed,
                                             Connection& connection) const {
  TermWriter writer(out);
  writer.Tuple(missed.mark.event == 0 ? 2 : 4);
  writer.Atom("ok");
  writer.List(missed.values.size());
  for (const gen::MessageEvent& value : missed.values) {
    writer.Tuple(2);
    writer.Integer(value.timestamp());
    auto appended = AppendValue(out, value.Envelope(), connection);
    if (!appended) return appended;
    if (!CheckBytes(out.size())) return BufferTooLarge(missed.event);
  }
  // They count: not for what is not sent.
  AppendTokens(out, missed.values);
  if (!CheckBytes(out.size())) return BufferTooLarge(missed.event);
  if (missed.mark.event != 0) {
    writer.Unsigned(missed.mark.event);
    writer.Unsigned(missed.mark.seen);
  }
  return {};
}

gen::Result<void> MissedValues::AppendValue(std::string& out, const core::Envelope& value,
                                            Connection& connection) const {
  const Values::Writer* const how = values_.WriterOf(value);
  if (how == nullptr) return values_.WhyNoWriter(value);
  auto form = FormFor(*how, *connection.Lock());
  if (!form) return std::move(form.error());
  return values_.Append(out, value, *how, *form);
}

void MissedValues::AppendTokens(std::string& out,
                                const std::vector<gen::MessageEvent>& values) const {
  TermWriter writer(out);
  const bool has_any = std::ranges::any_of(
      values, [](const auto& value) { return gen::TraceOf(value.Envelope()) != 0; });
  if (has_any) writer.List(values.size());
  for (const gen::MessageEvent& value : values) {
    if (!has_any) break;
    const std::string token = traces_.Make(gen::TraceOf(value.Envelope()), addresses_.NodePid());
    token.empty() ? writer.Nil() : writer.Raw(token);
  }
  writer.Nil();
}

gen::Error MissedValues::BufferTooLarge(gen::Atom event) const {
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format("the buffer of event {} is too large for a frame of {} bytes, {} of which "
                  "are for other parts",
                  event, settings_.max_frame_bytes, kRestOfFrame));
}

gen::Result<void> MissedValues::CheckBytes(std::size_t bytes) const {
  return CheckFrame(bytes + kRestOfFrame, settings_.max_frame_bytes, settings_.node);
}

gen::Result<MissedValues::Answer> MissedValues::ReadAnswer(const gen::Event& event,
                                                           std::string_view answer) const {
  ControlReader reader(answer, Depth());
  std::size_t size = 0;
  std::string_view word;
  std::string_view list;
  if (!reader.ReadTuple(size) || (size != 2 && size != 4) || !reader.ReadAtom(word) ||
      word != "ok" || !reader.ReadTerm(list)) {
    return NoAnswer(event, "what is no list of values");
  }
  Answer read;
  if (size == 4 && (!reader.ReadNumber(read.mark.event) || read.mark.event == 0 ||
                    !reader.ReadNumber(read.mark.seen))) {
    return NoAnswer(event, "a mark that is none: " + reader.DescribeNext());
  }
  auto values = ReadList(event, list);
  if (!values) return std::move(values.error());
  read.values = std::move(*values);
  return read;
}

gen::Result<std::vector<gen::MessageEvent>> MissedValues::ReadList(const gen::Event& event,
                                                                   std::string_view list) const {
  ControlReader reader(list, Depth());
  std::size_t size = 0;
  if (!reader.ReadList(size) && !reader.ReadEmptyList()) {
    return NoAnswer(event, "what is no list of values");
  }
  struct Unread {
    std::int64_t time = 0;
    std::string_view term;
  };
  std::vector<Unread> read;
  for (; size != 0; --size) {
    std::size_t elements = 0;
    std::string_view time_term;
    Unread one;
    if (!reader.ReadTuple(elements) || elements != 2 || !reader.ReadTerm(time_term) ||
        !TermReader(time_term).ReadInteger(one.time) || !reader.ReadTerm(one.term)) {
      return NoAnswer(event, "what is no value");
    }
    read.push_back(one);
  }
  std::vector<gen::TraceId> traces(read.size());
  if (!ReadTokens(reader.rest(), traces)) return NoAnswer(event, "what is no trace token");
  std::vector<gen::MessageEvent> values;
  for (std::size_t i = 0; i < read.size(); ++i) {
    auto value = ReadValue(event, read[i].time, read[i].term, traces[i]);
    if (!value) return std::move(value.error());
    values.push_back(std::move(*value));
  }
  return values;
}

bool MissedValues::ReadTokens(std::string_view tail, std::vector<gen::TraceId>& traces) const {
  ControlReader reader(tail, Depth());
  std::size_t size = 0;
  if (!reader.ReadList(size)) return true;  // none has one
  if (size != traces.size()) return false;
  for (gen::TraceId& trace : traces) {
    if (reader.ReadEmptyList()) continue;
    std::string_view token;
    if (!reader.ReadTerm(token)) return false;
    trace = traces_.TakeToken(token);
    if (trace == 0) return false;
  }
  return true;
}

gen::Result<gen::MessageEvent> MissedValues::ReadValue(const gen::Event& event, std::int64_t time,
                                                       std::string_view term,
                                                       gen::TraceId trace) const {
  auto value = values_.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent));
  if (!value) return std::move(value.error());
  if (trace != 0) gen::MarkTraced(**value, trace);
  return gen::MessageEvent(
      event, time, std::shared_ptr<core::Envelope>(value->release(), core::EnvelopeDisposer()));
}

}  // namespace ergon::dist
