#include <ergon/node/cluster/tools/system_answers.h>

#include <string_view>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// The keys are binaries: a program may have any number of them, and atoms are kept for ever.
void AppendMap(TermWriter& writer, const gen::Inspection* inspection) {
  writer.Map(inspection == nullptr ? 0 : inspection->size());
  if (inspection == nullptr) return;
  for (const auto& [key, text] : *inspection) {
    writer.Binary(key);
    writer.Binary(text);
  }
}

// {{Year, Month, Day}, {Hour, Minute, Second}}
void AppendTime(TermWriter& writer, std::time_t time) {
  std::tm local{};
  ::localtime_r(&time, &local);
  writer.Tuple(2);
  writer.Tuple(3);
  writer.Integer(local.tm_year + 1900);
  writer.Integer(local.tm_mon + 1);
  writer.Integer(local.tm_mday);
  writer.Tuple(3);
  writer.Integer(local.tm_hour);
  writer.Integer(local.tm_min);
  writer.Integer(local.tm_sec);
}

}  // namespace

StatisticsRequest ReadStatisticsRequest(std::string_view term, std::size_t max_depth) {
  ControlReader reader(term, max_depth);
  std::size_t size = 0;
  std::string_view word;
  if (!reader.ReadTuple(size) || size != 2 || !reader.ReadAtom(word) || word != "debug" ||
      !reader.ReadTuple(size) || size != 2 || !reader.ReadAtom(word) || word != "statistics" ||
      !reader.ReadAtom(word)) {
    return StatisticsRequest::kNone;
  }
  if (word == "get") return StatisticsRequest::kGet;
  return word == "true" || word == "false" ? StatisticsRequest::kSwitch : StatisticsRequest::kNone;
}

void AppendStatistics(std::string& out, const SystemCounts& counts, std::time_t now) {
  TermWriter writer(out);
  const auto pair = [&](std::string_view key) {
    writer.Tuple(2);
    writer.Atom(key);
  };
  writer.Tuple(2);
  writer.Atom("ok");
  writer.List(5);
  pair("start_time");
  AppendTime(writer, now - std::chrono::duration_cast<std::chrono::seconds>(counts.uptime).count());
  pair("current_time");
  AppendTime(writer, now);
  pair("reductions");
  writer.Unsigned(counts.messages_in);
  pair("messages_in");
  writer.Unsigned(counts.messages_in);
  pair("messages_out");
  writer.Unsigned(counts.messages_out);
  writer.Nil();
}

void AppendSystemAnswer(std::string& out, const PeerState::Request& request,
                        const gen::Inspection* inspection) {
  TermWriter writer(out);
  switch (request.answer) {
    case PeerState::AnswerForm::kValue:
    case PeerState::AnswerForm::kOk:
      writer.Atom("ok");
      break;
    case PeerState::AnswerForm::kInspection:
    case PeerState::AnswerForm::kState:
      // As OTP 26.1 and later want it. Earlier versions take the tuple for the state, as they do when a later version
      // answers; which version asks is not known.
      writer.Tuple(2);
      writer.Atom("ok");
      AppendMap(writer, inspection);
      break;
    case PeerState::AnswerForm::kStatus:
      // {status, Pid, {module, M}, [Dictionary, SystemState, Parent, Debug, Misc]}
      writer.Tuple(4);
      writer.Atom("status");
      writer.Pid(request.asked);
      writer.Tuple(2);
      writer.Atom("module");
      writer.Atom("ergon");
      writer.List(5);
      writer.Nil();
      writer.Atom("running");
      writer.Pid(request.asked);
      writer.Nil();
      writer.List(1);
      AppendMap(writer, inspection);
      writer.Nil();
      writer.Nil();
      break;
  }
}

}  // namespace ergon::dist
