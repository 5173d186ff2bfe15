#include <ergon/node/dist/own_messages.h>

#include <ergon/node/delivery/border.h>
#include <ergon/node/dist/control_reader.h>
#include <ergon/node/erlang_encoding.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kImportant = "important";

// Names are binaries: not each of ours is an atom in Erlang.
void AppendTarget(TermWriter& writer, gen::PID to) {
  if (node::IsName(to)) {
    writer.Binary(node::NameOf(to).name.Text());
  } else {
    writer.Pid(to);
  }
}

// Reads the parts of a message one after the other. False: the next one is something else.
class OwnMessageReader {
 public:
  OwnMessageReader(std::string_view term, gen::Atom own, std::size_t max_depth)
      : reader_(term, max_depth), own_(own) {}

  bool Read(OwnMessage& message) {
    std::size_t size = 0;
    std::string_view word;
    if (!reader_.ReadTuple(size) || size < 2 || !reader_.ReadAtom(word)) return false;
    const bool is_question = reader_.ReadReference(message.reference);
    if (word == kImportant && is_question && size == 4) {
      message.kind = OwnMessage::Kind::kImportant;
      return ReadTarget(message) && reader_.ReadTerm(message.term);
    }
    return true;
  }

 private:
  bool ReadTarget(OwnMessage& message) {
    return reader_.ReadPid(own_, message.to) || ReadText(message.name);
  }
  bool ReadText(std::string_view& text) {
    std::string_view term;
    return reader_.ReadTerm(term) && TermReader(term).ReadBinary(text);
  }

  ControlReader reader_;
  const gen::Atom own_;
};

}  // namespace

std::optional<OwnMessage> ReadOwnMessage(std::string_view term, gen::Atom own,
                                         std::size_t max_depth) {
  OwnMessage message;
  if (!OwnMessageReader(term, own, max_depth).Read(message)) return std::nullopt;
  return message;
}

void AppendImportant(std::string& out, std::string_view reference, gen::PID to) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom(kImportant);
  writer.Raw(reference);
  AppendTarget(writer, to);
}

}  // namespace ergon::dist
