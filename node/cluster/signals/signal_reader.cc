#include <ergon/node/cluster/signals/signal_reader.h>

#include <array>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/control_tags.h>
#include <ergon/node/cluster/signals/operations.h>
#include <ergon/node/cluster/signals/trace_token.h>

namespace ergon::dist {
namespace {

// Reads the elements of a control tuple into a signal. Read returns false if the next element is of another kind.
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
      case Element::kToken:
        return ReadToken();
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
    if (node.empty()) return true;
    if (const auto atom = gen::Atom::Find(node)) {
      pid.node = *atom;
    } else {
      signal_.unknown_node = node;
    }
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

  // A proper list. `monitor` may also be {monitor, Options}; other elements do not matter here.
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

  bool ReadToken() {
    ControlReader ahead = control_;
    std::string_view term;
    TraceToken token;
    return ahead.ReadTerm(term) && ReadTraceToken(term, max_depth_, token) &&
           control_.ReadTerm(signal_.token);
  }

  ControlReader& control_;
  const Peers& peers_;
  const std::size_t max_depth_;
  Signal& signal_;
};

}  // namespace

gen::Error NoSignal(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, std::move(text));
}

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

}  // namespace ergon::dist
