#include <ergon/node/dist/system_answers.h>

#include <string_view>

#include <ergon/node/erlang_encoding.h>

namespace ergon::dist {
namespace {

// Keys are binaries: a program may have as many as it likes, and atoms are kept for ever.
void AppendMap(TermWriter& writer, const gen::Inspection* inspection) {
  writer.Map(inspection == nullptr ? 0 : inspection->size());
  if (inspection == nullptr) return;
  for (const auto& [key, text] : *inspection) {
    writer.Binary(key);
    writer.Binary(text);
  }
}

}  // namespace

void AppendSystemAnswer(std::string& out, const PeerState::Request& request,
                        const gen::Inspection* inspection) {
  TermWriter writer(out);
  switch (request.answer) {
    case PeerState::AnswerForm::kValue:
    case PeerState::AnswerForm::kOk:
      writer.Atom("ok");
      break;
    case PeerState::AnswerForm::kState:
      // What OTP 26.1 and later want. Former ones take the tuple for the state, as they do when a
      // later one answers; what version asks is not known.
      writer.Tuple(2);
      writer.Atom("ok");
      AppendMap(writer, inspection);
      break;
    case PeerState::AnswerForm::kInspection:
      writer.Tuple(2);
      writer.Atom("ok");
      writer.Map(inspection == nullptr ? 0 : inspection->size());
      if (inspection == nullptr) break;
      for (const auto& [key, text] : *inspection) {
        writer.Binary(key);
        writer.Binary(text);
      }
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
