#include <ergon/node/cluster/signals/signal_codec.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/control_tags.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/operations.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

gen::Error NoSignal(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, std::move(text));
}

// Takes a version byte and a term from the front of `bytes`. `what` is the term's name for people.
gen::Result<std::string_view> TakeTerm(std::string_view& bytes, std::string_view what,
                                       std::size_t max_depth) {
  if (static_cast<std::uint8_t>(bytes.front()) != kVersionByte) {
    return NoSignal(fmt::format("{}: begins with {}, not with the version {}", what,
                                static_cast<std::uint8_t>(bytes.front()), kVersionByte));
  }
  const auto size = CheckTerm(bytes.substr(1), max_depth);
  if (!size) return NoSignal(fmt::format("{}: {}", what, size.error().detail()));
  const std::string_view term = bytes.substr(1, *size);
  bytes.remove_prefix(1 + *size);
  return term;
}

// What most messages are: a version byte and one binary, as of a string or a packed value. That nothing else is there is seen
// from its length.
bool IsOneBinary(std::string_view bytes) noexcept {
  constexpr std::size_t kBinaryHeadBytes = 2 + 4;
  if (bytes.size() <= kBinaryHeadBytes || static_cast<std::uint8_t>(bytes[0]) != kVersionByte) {
    return false;
  }
  const std::size_t size = ReadBigEndian<std::uint32_t>(bytes.substr(2));
  const TermTag tag{static_cast<std::uint8_t>(bytes[1])};
  if (tag == TermTag::kBinary) return bytes.size() == kBinaryHeadBytes + size;
  return tag == TermTag::kBitBinary && size != 0 && bytes.size() == kBinaryHeadBytes + 1 + size &&
         bytes[kBinaryHeadBytes] == 8;
}

// Reads the elements of a control tuple into a signal. False: the next one is no such element.
class SignalReader {
 public:
  SignalReader(ControlReader& control, const Peers& peers, std::size_t max_depth, Signal& signal)
      : control_(control), peers_(peers), max_depth_(max_depth), signal_(signal) {}

  bool Read(Element element) {
    std::string_view ignored;
    switch (element) {
      case Element::kNone:
        return false;
      case Element::kIgnored:
        return control_.ReadAtom(ignored) || control_.ReadTerm(ignored);
      case Element::kSender:
        return ReadSender();
      case Element::kFrom:
        return control_.ReadPid(peers_.peer, signal_.from);
      case Element::kTo:
        return control_.ReadPid(peers_.own, signal_.to);
      case Element::kToOrName:
        return control_.ReadPid(peers_.own, signal_.to) || control_.ReadAtom(signal_.name);
      case Element::kFromOrName:
        return control_.ReadPid(peers_.peer, signal_.from) || control_.ReadAtom(signal_.name);
      case Element::kName:
        return control_.ReadAtom(signal_.name);
      case Element::kReference:
        return control_.ReadReference(signal_.ref);
      case Element::kId:
        return ReadId();
      case Element::kReason:
        return control_.ReadTerm(signal_.payload);
      case Element::kFunction:
        return ReadFunction();
      case Element::kOptions:
        return ReadOptions();
      case Element::kLinks:
        return ReadLinks();
      case Element::kStarted:
        return ReadStarted();
    }
    return false;
  }

 private:
  bool ReadSender() {
    if (control_.ReadPid(peers_.peer, signal_.from)) return true;
    std::string_view node;
    gen::PID pid;
    if (!control_.ReadPid(node, pid)) return false;
    signal_.is_of_another = true;
    const auto atom = gen::Atom::Find(node);
    if (!atom || atom->empty()) return true;
    pid.node = *atom;
    signal_.from = pid;
    return true;
  }

  bool ReadId() {
    ControlReader ahead = control_;
    return ahead.ReadNumber(signal_.id) && signal_.id != 0 && control_.ReadNumber(signal_.id);
  }

  bool ReadFunction() {
    std::size_t size = 0;
    std::uint64_t arity = 0;
    if (!control_.ReadTuple(size) || size != 3 || !control_.ReadAtom(signal_.module) ||
        !control_.ReadAtom(signal_.function) || !control_.ReadNumber(arity)) {
      return false;
    }
    signal_.arity = static_cast<std::uint32_t>(arity);
    return arity == signal_.arity;
  }

  // A proper list. `monitor` may also be {monitor, Options}; what else there is does not matter
  // here.
  bool ReadOptions() {
    if (control_.ReadEmptyList() || control_.ReadString()) return true;
    std::size_t count = 0;
    if (!control_.ReadList(count)) return false;
    for (; count > 0; --count) {
      std::string_view option;
      if (!control_.ReadTerm(option)) return false;
      ControlReader reader(option, max_depth_);
      std::string_view name;
      std::size_t size = 0;
      const bool is_tuple = reader.ReadTuple(size);
      if (!reader.ReadAtom(name)) continue;
      if (name == "link" && !is_tuple) signal_.links |= kLinked;
      if (name == "monitor") signal_.links |= kMonitored;
    }
    return control_.ReadEmptyList();
  }

  bool ReadLinks() {
    std::uint64_t links = 0;
    if (!control_.ReadNumber(links)) return false;
    signal_.links = static_cast<std::uint8_t>(links & (kLinked | kMonitored));
    return true;
  }

  bool ReadStarted() {
    const std::string_view before = control_.rest();
    std::string_view reason;
    if (!control_.ReadPid(peers_.peer, signal_.from) && !control_.ReadAtom(reason)) return false;
    signal_.payload = before.substr(0, before.size() - control_.rest().size());
    return true;
  }

  ControlReader& control_;
  const Peers& peers_;
  const std::size_t max_depth_;
  Signal& signal_;
};

// `signal` is without its payload.
gen::Result<Signal> ReadControl(std::string_view tuple, const Peers& peers, std::size_t max_depth,
                                bool has_payload) {
  ControlReader control(tuple, max_depth);
  std::size_t size = 0;
  std::uint64_t number = 0;
  if (!control.ReadTuple(size) || size == 0 || !control.ReadNumber(number)) {
    return NoSignal(fmt::format("control: a tuple that begins with a number was expected, found {}",
                                control.DescribeNext()));
  }
  Signal signal;
  const OperationForm& form = FormOf(number);
  signal.kind = form.kind;
  if (form.kind == SignalKind::kUnknown) {
    signal.id = number;
    return signal;
  }
  std::size_t wanted = 1;
  SignalReader reader(control, peers, max_depth, signal);
  for (const Element element : form.elements) {
    if (element == Element::kNone) break;
    ++wanted;
    if (wanted > size) continue;
    if (!reader.Read(element)) {
      return NoSignal(fmt::format("operation {}: its element {} cannot be {}", number, wanted,
                                  control.DescribeNext()));
    }
  }
  if (wanted != size) {
    return NoSignal(fmt::format("operation {}: a tuple of {} elements, {} were expected", number,
                                size, wanted));
  }
  if (has_payload != form.has_payload) {
    return NoSignal(fmt::format(
        "operation {}: {}", number,
        has_payload ? "a second term, where none belongs" : "the second term is missing"));
  }
  return signal;
}

// What nearly all frames are: {22, From, To} of a process of the peer to one of ours, with a message. Both PIDs are
// compared with names that are known, so that nobody has to look first whether the tuple is a term. False: it is another
// signal, or none, which ParseFrame finds out. `rest` is behind the byte of the frame, and behind the tuple afterwards.
bool ReadMessageHead(std::string_view& rest, const Peers& peers, std::size_t max_depth,
                     Signal& signal) {
  static constexpr std::array<std::uint8_t, 5> kHead = {
      kVersionByte, kSmallTupleTag, 3, kSmallIntegerTag,
      static_cast<std::uint8_t>(Operation::kSendFrom)};
  if (rest.size() <= kHead.size() || std::memcmp(rest.data(), kHead.data(), kHead.size()) != 0) {
    return false;
  }
  ControlReader control(rest.substr(kHead.size()), max_depth);
  if (!control.ReadPid(peers.peer, signal.from) || !control.ReadPid(peers.own, signal.to) ||
      control.rest().empty()) {
    return false;
  }
  signal.kind = SignalKind::kSend;
  rest = control.rest();
  return true;
}

void AppendWithReason(FrameWriter& frame, const Signal& signal, std::uint64_t flags,
                      Operation with_payload, Operation older) {
  if ((flags & kFlagExitPayload) != 0) {
    frame.Begin(with_payload, 2).Pid(signal.from).Pid(signal.to).Payload(signal.payload);
  } else {
    frame.Begin(older, 3).Pid(signal.from).Pid(signal.to).Term(signal.payload);
  }
}

// The empty atom is a name as well: an Erlang process may monitor it, and is answered with it.
FrameWriter& AppendPidOrName(FrameWriter& frame, const gen::PID& pid, std::string_view name) {
  return pid.node.empty() ? frame.Atom(name) : frame.Pid(pid);
}

// The control tuples of messages. `from` may be empty.
void WriteSend(FrameWriter& frame, const gen::PID& from, const gen::PID& to) {
  if (!from.node.empty()) {
    frame.Begin(Operation::kSendFrom, 2).Pid(from);
  } else {
    frame.Begin(Operation::kSend, 2).Atom({});
  }
  frame.Pid(to);
}
void WriteSendToName(FrameWriter& frame, const gen::PID& from, std::string_view name) {
  frame.Begin(Operation::kSendToName, 3).Pid(from).Atom({}).Atom(name);
}
void WriteSendToAlias(FrameWriter& frame, const gen::PID& from, std::string_view reference) {
  frame.Begin(Operation::kSendToAlias, 2).Pid(from).Term(reference);
}

}  // namespace

void AppendFrame(std::string& out, const Signal& signal, std::uint64_t flags) {
  if (signal.kind == SignalKind::kUnknown) return;
  FrameWriter frame(out, signal.name.size() + signal.ref.size() + signal.payload.size() +
                             signal.module.size() + signal.function.size());
  switch (signal.kind) {
    case SignalKind::kSend:
      WriteSend(frame, (flags & kFlagSendSender) != 0 ? signal.from : gen::PID(), signal.to);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kSendToName:
      WriteSendToName(frame, signal.from, signal.name);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kSendToAlias:
      WriteSendToAlias(frame, signal.from, signal.ref);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kLink:
      frame.Begin(Operation::kLink, 2).Pid(signal.from).Pid(signal.to);
      return;
    case SignalKind::kUnlink:
      frame.Begin(Operation::kUnlink, 3).Number(signal.id).Pid(signal.from).Pid(signal.to);
      return;
    case SignalKind::kUnlinkAck:
      frame.Begin(Operation::kUnlinkAck, 3).Number(signal.id).Pid(signal.from).Pid(signal.to);
      return;
    case SignalKind::kExit:
      AppendWithReason(frame, signal, flags, Operation::kExitPayload, Operation::kExit);
      return;
    case SignalKind::kExitRequest:
      AppendWithReason(frame, signal, flags, Operation::kExitRequestPayload,
                       Operation::kExitRequest);
      return;
    case SignalKind::kMonitor:
    case SignalKind::kDemonitor:
      frame.Begin(signal.kind == SignalKind::kMonitor ? Operation::kMonitor : Operation::kDemonitor,
                  3);
      AppendPidOrName(frame.Pid(signal.from), signal.to, signal.name).Term(signal.ref);
      return;
    case SignalKind::kDown: {
      const bool as_payload = (flags & kFlagExitPayload) != 0;
      frame.Begin(as_payload ? Operation::kDownPayload : Operation::kDown, as_payload ? 3 : 4);
      AppendPidOrName(frame, signal.from, signal.name).Pid(signal.to).Term(signal.ref);
      as_payload ? frame.Payload(signal.payload) : frame.Term(signal.payload);
      return;
    }
    case SignalKind::kSpawnRequest:
      // Whoever asks is also the group leader: only processes of our node can be written here.
      frame.Begin(Operation::kSpawnRequest, 5).Term(signal.ref).Pid(signal.from).Pid(signal.from);
      frame.Tuple(3).Atom(signal.module).Atom(signal.function).Number(signal.arity);
      frame.Options(signal.links).Payload(signal.payload);
      return;
    case SignalKind::kSpawnReply:
      frame.Begin(Operation::kSpawnReply, 4).Term(signal.ref).Pid(signal.to).Number(signal.links);
      signal.from.node.empty() ? frame.Term(signal.payload) : frame.Pid(signal.from);
      return;
    case SignalKind::kUnknown:
      return;
  }
}

void OpenMessage(std::string& out, const gen::PID& from, const gen::PID& to) {
  FrameWriter frame(out, 0);
  WriteSend(frame, from, to);
  frame.Payload({});
}

void OpenMessageToName(std::string& out, const gen::PID& from, std::string_view name) {
  FrameWriter frame(out, name.size());
  WriteSendToName(frame, from, name);
  frame.Payload({});
}

void OpenMessageToAlias(std::string& out, const gen::PID& from, std::string_view reference) {
  FrameWriter frame(out, reference.size());
  WriteSendToAlias(frame, from, reference);
  frame.Payload({});
}

void AppendTick(std::string& out) { out.append(kFrameLengthBytes, '\0'); }

gen::Result<std::string_view> TakePayload(std::string_view rest, std::size_t max_depth) {
  if (IsOneBinary(rest)) [[likely]]
    return rest.substr(1);
  auto payload = TakeTerm(rest, "message", max_depth);
  if (payload && !rest.empty()) {
    return NoSignal(fmt::format("{} bytes behind the message", rest.size()));
  }
  return payload;
}

gen::Result<Signal> ParseFrame(std::string_view frame, const Peers& peers, std::size_t max_depth) {
  if (frame.size() < 2) return NoSignal(fmt::format("a frame of {} bytes", frame.size()));
  if (static_cast<std::uint8_t>(frame.front()) != kPassThroughFrame) {
    return NoSignal(fmt::format("a frame that begins with {}: this node understands {} only",
                                static_cast<std::uint8_t>(frame.front()), kPassThroughFrame));
  }
  std::string_view rest = frame.substr(1);
  {
    Signal message;
    if (ReadMessageHead(rest, peers, max_depth, message)) {
      const auto payload = TakePayload(rest, max_depth);
      if (!payload) return payload.error();
      message.payload = *payload;
      return message;
    }
  }
  const auto control = TakeTerm(rest, "control", max_depth);
  if (!control) return control.error();
  const bool has_payload = !rest.empty();
  std::string_view payload;
  if (has_payload) {
    const auto taken = TakePayload(rest, max_depth);
    if (!taken) return taken.error();
    payload = *taken;
  }
  auto signal = ReadControl(*control, peers, max_depth, has_payload);
  if (signal && has_payload) signal->payload = payload;
  return signal;
}

}  // namespace ergon::dist
