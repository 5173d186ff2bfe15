// Frames of the Erlang distribution: refused with a text, or a signal whose parts are parts of the frame,
// and which is the same after it has been written and read again.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include <fuzz/fuzz.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/frame_parser.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/signals/trace_token.h>

namespace dist = ergon::dist;
using dist::Signal;
using dist::SignalKind;
using ergon::fuzz::Require;

namespace {

constexpr std::size_t kDepth = 64;

const dist::Peers& Nodes() {
  static const dist::Peers nodes{ergon::gen::Atom("own@h"), ergon::gen::Atom("peer@h")};
  return nodes;
}

bool IsWithin(std::string_view part, std::string_view whole) {
  const std::less_equal<> is_not_behind;
  return part.empty() || (is_not_behind(whole.data(), part.data()) &&
                          is_not_behind(part.data() + part.size(), whole.data() + whole.size()));
}

void CheckSignal(const Signal& signal, std::string_view frame) {
  for (const std::string_view part : {signal.name, signal.ref, signal.payload, signal.module,
                                      signal.function, signal.token, signal.unknown_node}) {
    Require(IsWithin(part, frame), "the parts of a signal are parts of its frame");
  }
  dist::TraceToken token;
  Require(signal.token.empty() || dist::ReadTraceToken(signal.token, kDepth, token),
          "a trace token is one");
  Require(signal.to.node.empty() || signal.to.node == Nodes().own.node(),
          "a signal is for our node");
  const bool is_message = signal.kind == SignalKind::kSend ||
                          signal.kind == SignalKind::kSendToName ||
                          signal.kind == SignalKind::kSendToAlias;
  Require(is_message || signal.from.node.empty() || signal.from.node == Nodes().peer.node(),
          "only messages may be passed on");
  Require(signal.unknown_node.empty() || (is_message && signal.is_of_another),
          "so only they may have a sender of a node that is not known");
}

// What Ergon nodes tell each other beyond the protocol.
void CheckErgonMessage(const Signal& signal) {
  if (signal.kind != SignalKind::kSendToName || signal.name != dist::kErgonName) return;
  const auto message = dist::ReadErgonMessage(signal.payload, Nodes().own.node(), kDepth);
  if (!message) return;
  for (const std::string_view part :
       {message->reference, message->name, message->alias, message->term, message->event}) {
    Require(IsWithin(part, signal.payload), "the parts of a message are parts of its payload");
  }
  const bool has_number = message->kind == dist::ErgonMessage::Kind::kMark ||
                          message->kind == dist::ErgonMessage::Kind::kSubscribe;
  Require(!has_number || message->number != 0, "a subscription has a number");
}

// What is told of a signal to a peer that knows all or little.
void CheckRoundTrip(const Signal& signal, std::uint64_t flags) {
  std::string out;
  dist::AppendFrame(out, signal, flags);
  Require(out.size() >= 4, "a frame has a length");
  std::size_t length = 0;
  for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(out[i]);
  Require(length == out.size() - 4, "its length is right");
  // An older peer gets a reason within the tuple, one level deeper.
  const auto again = dist::ParseFrame(std::string_view(out).substr(4), Nodes(), kDepth + 1);
  Require(again.has_value(), "what is written can be read");
  const auto fields = [](const Signal& of) {
    return std::tie(of.kind, of.to, of.name, of.ref, of.id, of.module, of.function, of.arity,
                    of.links);
  };
  Require(fields(*again) == fields(signal), "a signal is the same after a round trip");
  // PIDs are written in one way only.
  const bool is_pid = signal.kind == SignalKind::kSpawnReply && !signal.from.node.empty();
  Require(is_pid || again->payload == signal.payload, "and so is its payload");
  const bool takes_tokens = (flags & dist::kFlagBigTraceLabels) != 0;
  Require(again->token == (takes_tokens ? signal.token : std::string_view()),
          "and so is its token");
  const bool has_sender = signal.kind != SignalKind::kSend || (flags & dist::kFlagSendSender) != 0;
  Require(again->from == (has_sender ? signal.from : ergon::gen::PID{}), "and so is its sender");
}

// A parser that has seen the frame before says the same of it, and nothing may stand behind it.
void CheckParser(const Signal& signal, const std::string& frame) {
  dist::FrameParser parser(Nodes(), kDepth);
  for (int i = 0; i < 3; ++i) {
    const auto parsed = parser.Parse(frame);
    Require(parsed.has_value(), "a frame is one each time");
    const auto fields = [](const Signal& of) {
      return std::tie(of.kind, of.from, of.to, of.name, of.ref, of.id, of.payload, of.module,
                      of.function, of.arity, of.links, of.token, of.unknown_node, of.is_deep);
    };
    Require(fields(parser.signal()) == fields(signal), "a signal is the same each time");
  }
  const std::string longer = frame + "x";
  Require(!parser.Parse(longer).has_value(), "what is behind a frame is none of it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of its size: whatever is read behind its end is noticed.
  const auto copy = std::make_unique<char[]>(size);
  if (size != 0) std::memcpy(copy.get(), data, size);
  const std::string_view frame(copy.get(), size);
  const auto signal = dist::ParseFrame(frame, Nodes(), kDepth);
  if (!signal) {
    Require(signal.error() == ergon::gen::ErrIncorrect, "a frame that is none is kIncorrect");
    Require(!signal.error().detail().empty(), "an error says what is wrong");
    Require(signal.error().detail().find('\n') == std::string_view::npos, "an error is one line");
    return 0;
  }
  CheckSignal(*signal, frame);
  CheckErgonMessage(*signal);
  CheckParser(*signal, std::string(frame));
  if (signal->kind == SignalKind::kUnknown) return 0;
  if (!signal->unknown_node.empty()) return 0;  // its node gets an atom before it is sent on
  // Nobody has sent a message to a name or an alias without being anybody.
  const bool is_writable =
      signal->kind == SignalKind::kSend || !signal->from.node.empty() ||
      (signal->kind != SignalKind::kSendToName && signal->kind != SignalKind::kSendToAlias);
  if (!is_writable) return 0;
  CheckRoundTrip(*signal, dist::kOwnFlags);
  CheckRoundTrip(*signal, dist::kOwnFlags & ~(dist::kFlagSendSender | dist::kFlagExitPayload));
  CheckRoundTrip(*signal, dist::kOwnFlags & ~dist::kFlagBigTraceLabels);
  return 0;
}
