#include <ergon/node/cluster/signals/ergon_messages.h>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kImportant = "important";
constexpr std::string_view kRoom = "room";
constexpr std::string_view kInspect = "inspect";
constexpr std::string_view kLink = "link";
constexpr std::string_view kMakerEnd = "maker_end";
constexpr std::string_view kUnlinked = "unlinked";
constexpr std::string_view kSubscribe = "subscribe";
constexpr std::string_view kEventMark = "mark";
constexpr std::string_view kUnsubscribe = "unsubscribe";
constexpr std::string_view kValue = "event";
constexpr std::string_view kEventEnd = "event_end";
constexpr std::string_view kPacks = "packs";

// Names are binaries: not every name of this node can be an atom in Erlang.
void AppendTarget(TermWriter& writer, gen::PID to) {
  if (node::IsName(to)) {
    writer.Binary(node::NameOf(to).name.Text());
  } else if (node::IsAlias(to)) {
    std::string reference;
    if (const auto alias = node::ForeignAliasOf(to)) {
      AppendReference(reference, *alias);
    } else {
      AppendReference(reference, 0, to.node, 0);  // of nobody
    }
    writer.Raw(reference);
  } else {
    writer.Pid(to);
  }
}

// Reads the parts of a message one after the other. A function returns false if the next part is something else.
class ErgonMessageReader {
 public:
  ErgonMessageReader(std::string_view term, gen::Atom own, std::size_t max_depth)
      : reader_(term, max_depth), own_(own) {}

  bool Read(ErgonMessage& message) {
    std::size_t size = 0;
    std::string_view word;
    if (!reader_.ReadTuple(size) || size < 2 || !reader_.ReadAtom(word)) return false;
    const bool is_question = reader_.ReadReference(message.reference);
    if (word == kImportant && is_question && size == 4) {
      message.kind = ErgonMessage::Kind::kImportant;
      return ReadTarget(message) && reader_.ReadTerm(message.term);
    }
    if (word == kRoom && is_question && size == 3) {
      message.kind = ErgonMessage::Kind::kRoom;
      return ReadTarget(message);
    }
    if (word == kInspect && is_question && size == 4) {
      message.kind = ErgonMessage::Kind::kInspect;
      return ReadTarget(message) && reader_.ReadTerm(message.term);
    }
    if (word == kLink && is_question && size == 3) {
      message.kind = ErgonMessage::Kind::kLink;
      return ReadTarget(message);
    }
    if (word == kMakerEnd && is_question && size == 3) {
      message.kind = ErgonMessage::Kind::kMakerEnd;
      return reader_.ReadTerm(message.term);
    }
    if (word == kUnlinked && is_question && size == 2) {
      message.kind = ErgonMessage::Kind::kUnlinked;
      return true;
    }
    if (word == kSubscribe && is_question && size == 5) {
      message.kind = ErgonMessage::Kind::kSubscribe;
      return ReadText(message.event) && ReadSubscription(message);
    }
    if (is_question) return true;
    if (word == kPacks && size == 2) {
      message.kind = ErgonMessage::Kind::kPacks;
      return reader_.ReadTerm(message.term);
    }
    return ReadOfEvent(word, size, message);
  }

 private:
  // No question.
  bool ReadOfEvent(std::string_view word, std::size_t size, ErgonMessage& message) {
    if (word == kEventMark && size == 6) {
      message.kind = ErgonMessage::Kind::kMark;
      return ReadText(message.event) && reader_.ReadNumber(message.number) && message.number != 0 &&
             ReadMark(message.mark);
    }
    if (word == kUnsubscribe && size == 4) {
      message.kind = ErgonMessage::Kind::kUnsubscribe;
      return ReadText(message.event) && ReadSubscription(message);
    }
    if (word == kValue && (size == 7 || size == 8)) {
      message.kind = ErgonMessage::Kind::kValue;
      return reader_.ReadPid(own_, message.to) && ReadText(message.event) &&
             reader_.ReadNumber(message.subscription.monitor) &&
             reader_.ReadNumber(message.subscription.link) && ReadTime(message.time) &&
             (size == 7 || reader_.ReadNumber(message.mark.seen)) && reader_.ReadTerm(message.term);
    }
    if (word == kEventEnd && size == 6) {
      message.kind = ErgonMessage::Kind::kEventEnd;
      return reader_.ReadPid(own_, message.to) && ReadText(message.event) &&
             ReadSubscription(message) && reader_.ReadTerm(message.term);
    }
    return true;
  }
  bool ReadTarget(ErgonMessage& message) {
    return reader_.ReadPid(own_, message.to) || reader_.ReadReference(message.alias) ||
           ReadText(message.name);
  }
  bool ReadText(std::string_view& text) {
    std::string_view term;
    return reader_.ReadTerm(term) && TermReader(term).ReadBinary(text);
  }

  bool ReadSubscription(ErgonMessage& message) {
    return reader_.ReadNumber(message.number) && message.number != 0 &&
           ReadBoolean(message.is_link);
  }
  bool ReadMark(node::EventMark& mark) {
    std::uint64_t creation = 0;
    if (!reader_.ReadNumber(creation) || creation > UINT32_MAX) return false;
    mark.creation = static_cast<std::uint32_t>(creation);
    return reader_.ReadNumber(mark.event) && reader_.ReadNumber(mark.seen);
  }
  bool ReadBoolean(bool& value) {
    std::string_view word;
    if (!reader_.ReadAtom(word)) return false;
    value = word == "true";
    return value || word == "false";
  }
  bool ReadTime(std::int64_t& time) {
    std::string_view term;
    return reader_.ReadTerm(term) && TermReader(term).ReadInteger(time);
  }

  ControlReader reader_;
  const gen::Atom own_;
};

}  // namespace

std::optional<ErgonMessage> ReadErgonMessage(std::string_view term, gen::Atom own,
                                             std::size_t max_depth) {
  ErgonMessage message;
  if (!ErgonMessageReader(term, own, max_depth).Read(message)) return std::nullopt;
  return message;
}

void AppendPacks(std::string& out) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom(kPacks);
}

void AppendImportant(std::string& out, std::string_view reference, gen::PID to) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom(kImportant);
  writer.Raw(reference);
  AppendTarget(writer, to);
}

void AppendRoomQuestion(std::string& out, std::string_view reference, gen::PID to) {
  TermWriter writer(out);
  writer.Tuple(3);
  writer.Atom(kRoom);
  writer.Raw(reference);
  AppendTarget(writer, to);
}

void AppendInspect(std::string& out, std::string_view reference, gen::PID to) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom(kInspect);
  writer.Raw(reference);
  AppendTarget(writer, to);
}

void AppendLink(std::string& out, std::string_view reference, gen::PID to) {
  TermWriter writer(out);
  writer.Tuple(3);
  writer.Atom(kLink);
  writer.Raw(reference);
  AppendTarget(writer, to);
}

void AppendMakerEnd(std::string& out, std::string_view reference) {
  TermWriter writer(out);
  writer.Tuple(3);
  writer.Atom(kMakerEnd);
  writer.Raw(reference);
}

void AppendUnlinked(std::string& out, std::string_view reference) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom(kUnlinked);
  writer.Raw(reference);
}

void AppendSubscribe(std::string& out, std::string_view reference, gen::Atom event,
                     std::uint64_t number, bool is_link) {
  TermWriter writer(out);
  writer.Tuple(5);
  writer.Atom(kSubscribe);
  writer.Raw(reference);
  writer.Binary(event.Text());
  writer.Unsigned(number);
  writer.Boolean(is_link);
}

void AppendMark(std::string& out, gen::Atom event, std::uint64_t number,
                const node::EventMark& mark) {
  TermWriter writer(out);
  writer.Tuple(6);
  writer.Atom(kEventMark);
  writer.Binary(event.Text());
  writer.Unsigned(number);
  writer.Unsigned(mark.creation);
  writer.Unsigned(mark.event);
  writer.Unsigned(mark.seen);
}

void AppendUnsubscribe(std::string& out, gen::Atom event, std::uint64_t number, bool is_link) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom(kUnsubscribe);
  writer.Binary(event.Text());
  writer.Unsigned(number);
  writer.Boolean(is_link);
}

void AppendValue(std::string& out, gen::PID to, gen::Atom event,
                 const node::Subscription& subscription, std::int64_t time, std::uint64_t value) {
  TermWriter writer(out);
  writer.Tuple(value == 0 ? 7 : 8);
  writer.Atom(kValue);
  writer.Pid(to);
  writer.Binary(event.Text());
  writer.Unsigned(subscription.monitor);
  writer.Unsigned(subscription.link);
  writer.Integer(time);
  if (value != 0) writer.Unsigned(value);
}

void AppendEventEnd(std::string& out, gen::PID to, gen::Atom event, std::uint64_t number,
                    bool is_link) {
  TermWriter writer(out);
  writer.Tuple(6);
  writer.Atom(kEventEnd);
  writer.Pid(to);
  writer.Binary(event.Text());
  writer.Unsigned(number);
  writer.Boolean(is_link);
}

}  // namespace ergon::dist
