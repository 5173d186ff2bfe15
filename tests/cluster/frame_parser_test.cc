// A FrameParser is compared with ParseFrame, whatever it has parsed before.
#include <ergon/node/cluster/signals/frame_parser.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/operations.h>
#include <ergon/node/erlang/terms/writer.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::dist::frame_parser_test {
namespace {

constexpr std::size_t kDepth = 10;

const gen::Atom kOwn("own@127.0.0.1");
const gen::Atom kPeer("peer@127.0.0.1");
const gen::PID kTo{5, kOwn, 7};
const gen::PID kFrom{std::uint64_t{3} << 32 | 9, kPeer, 8};

std::string Number(int number) {
  std::string term;
  TermWriter(term).Integer(number);
  return term;
}

// So many tuples in each other.
std::string Deep(std::size_t levels) {
  std::string term;
  for (; levels > 0; --levels) TermWriter(term).Tuple(1);
  return term + Number(1);
}

// The token of a message that is traced (seq_trace), of any size.
std::string TokenOf(std::size_t bytes) {
  std::string term;
  TermWriter writer(term);
  writer.Tuple(5);
  writer.Integer(1);
  writer.Binary(std::string(bytes, 'x'));
  writer.Integer(2);
  writer.Pid(kFrom);
  writer.Integer(3);
  return term;
}

// Without its length.
std::string FrameOf(const Signal& signal) {
  std::string frame;
  AppendFrame(frame, signal, kOwnFlags);
  return frame.substr(kFrameLengthBytes);
}
std::string Message(gen::PID from, gen::PID to, std::string_view payload) {
  return FrameOf({.kind = SignalKind::kSend, .from = from, .to = to, .payload = payload});
}
// All in front of the payload but its version byte.
std::size_t HeadBytesOf(const std::string& frame, std::string_view payload) {
  return frame.size() - payload.size() - 1;
}
std::string TracedMessage(std::string_view payload, std::string_view token) {
  std::string frame = Message(kFrom, kTo, payload);
  frame[3] = 4;  // elements of the control tuple
  frame[5] = static_cast<char>(Operation::kSendFromTraced);
  frame.insert(HeadBytesOf(frame, payload), token);
  return frame;
}

class Parsers {
 public:
  // The signal, if it is one. The frame is in memory of its own size, which is gone when the next one comes.
  const Signal* Check(const std::string& frame) {
    CAPTURE(frame);
    frame_ = std::make_unique<std::vector<char>>(frame.begin(), frame.end());
    const std::string_view bytes(frame_->data(), frame_->size());
    const auto expected = ParseFrame(bytes, peers_, kDepth);
    const std::string alike = TakeAlike(frame);
    const Signal before = parser_.signal();
    const std::size_t kept = KeptHeadBytes();
    const auto found = parser_.Parse(bytes);
    REQUIRE(found.has_value() == expected.has_value());
    if (!expected) {
      CHECK(found.error() == expected.error());
      CHECK(found.error().detail() == expected.error().detail());
      return nullptr;
    }
    const Signal& signal = parser_.signal();
    CHECK(signal.kind == expected->kind);
    CHECK(signal.from == expected->from);
    CHECK(signal.to == expected->to);
    CHECK(signal.name == expected->name);
    CHECK(signal.ref == expected->ref);
    CHECK(signal.id == expected->id);
    CHECK(signal.payload == expected->payload);
    CHECK(signal.module == expected->module);
    CHECK(signal.function == expected->function);
    CHECK(signal.arity == expected->arity);
    CHECK(signal.links == expected->links);
    if (!alike.empty()) {
      CHECK(alike == signal.payload);
      CHECK(signal.kind == SignalKind::kSend);
      CHECK(signal.from == before.from);
      CHECK(signal.to == before.to);
      CHECK(KeptHeadBytes() == kept);
    }
    return &signal;
  }
  // The payload of the frame, if it is taken as one like the last; else nothing. It makes no difference what follows
  // it, but it has to be complete, and no longer than the limit.
  [[nodiscard]] std::string TakeAlike(const std::string& frame) const {
    std::string bytes(kFrameLengthBytes, '\0');
    bytes += frame;
    CloseFrame(bytes, 0);
    const std::string payload(parser_.TakeAlike(bytes, frame.size()));
    for (const char next : {'\0', '\1', 'x'}) {
      CHECK(parser_.TakeAlike(bytes + std::string(40, next), frame.size()) == payload);
    }
    CHECK(parser_.TakeAlike(bytes, frame.size() - 1).data() == nullptr);
    for (const std::size_t size : {std::size_t{0}, kFrameLengthBytes - 1, kFrameLengthBytes,
                                   bytes.size() / 2, bytes.size() - 1}) {
      CHECK(parser_.TakeAlike(std::string_view(bytes).substr(0, size), frame.size()).empty());
    }
    return payload;
  }
  [[nodiscard]] std::size_t KeptHeadBytes() const noexcept { return parser_.KeptHeadBytes(); }

 private:
  const Peers peers_{kOwn, kPeer};
  FrameParser parser_{peers_, kDepth};
  std::unique_ptr<std::vector<char>> frame_;
};

}  // namespace

TEST_CASE("frame_parser: messages to one process, to others, and other signals in turn") {
  Parsers parsers;
  const std::string one = Number(1);
  const std::vector<std::string> frames = {
      Message(kFrom, kTo, one),
      Message(kFrom, {6, kOwn, 7}, one),
      Message({1, kPeer, 8}, kTo, one),
      Message(kFrom, {5, kOwn, 6}, one),
      Message({}, kTo, one),
      FrameOf({.kind = SignalKind::kSendToName, .from = kFrom, .name = "name", .payload = one}),
      FrameOf({.kind = SignalKind::kLink, .from = kFrom, .to = kTo}),
      FrameOf({.kind = SignalKind::kExit, .from = kFrom, .to = kTo, .payload = one})};
  for (const std::string& frame : frames) {
    for (const std::string& other : frames) {
      parsers.Check(frame);
      parsers.Check(frame);
      parsers.Check(other);
    }
  }
  for (int i = 0; i < 1000; ++i) {
    const std::string payload = Number(i);
    const Signal* const signal = parsers.Check(Message(kFrom, kTo, payload));
    REQUIRE(signal != nullptr);
    CHECK(signal->kind == SignalKind::kSend);
    CHECK(signal->payload == payload);
  }
}

TEST_CASE("frame_parser: only messages like the last one that are binaries are taken as such") {
  Parsers parsers;
  const auto binary = [](std::size_t size) {
    std::string term;
    TermWriter(term).Binary(std::string(size, 'x'));
    return term;
  };
  CHECK(parsers.TakeAlike(Message(kFrom, kTo, binary(3))).empty());  // there is no last one
  REQUIRE(parsers.Check(Message(kFrom, kTo, Number(1))) != nullptr);
  for (const std::size_t size : {std::size_t{1}, std::size_t{16}, std::size_t{7'000}}) {
    CHECK(parsers.TakeAlike(Message(kFrom, kTo, binary(size))) == binary(size));
  }
  CHECK(parsers.TakeAlike(Message(kFrom, kTo, Number(1))).empty());
  CHECK(parsers.TakeAlike(Message(kFrom, kTo, binary(3) + "x")).empty());
  CHECK(parsers.TakeAlike(Message(kFrom, kTo, binary(0))).empty());  // read with care
  CHECK(parsers.TakeAlike(Message(kFrom, {6, kOwn, 7}, binary(3))).empty());
  CHECK(parsers.TakeAlike(Message({1, kPeer, 8}, kTo, binary(3))).empty());
  REQUIRE(parsers.Check(Message(kFrom, kTo, binary(3))) != nullptr);
  REQUIRE(parsers.Check(FrameOf({.kind = SignalKind::kLink, .from = kFrom, .to = kTo})) != nullptr);
  CHECK(parsers.TakeAlike(Message(kFrom, kTo, binary(3))).empty());  // the last one is another
}

TEST_CASE("frame_parser: what is wrong behind the head of the message before is an error") {
  Parsers parsers;
  const std::string whole = Message(kFrom, kTo, Number(1));
  REQUIRE(parsers.Check(whole) != nullptr);
  CHECK(parsers.Check(whole + "x") == nullptr);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    REQUIRE(parsers.Check(whole) != nullptr);
    CHECK(parsers.Check(whole.substr(0, size)) == nullptr);
  }
  CHECK(parsers.Check(Message(kFrom, kTo, Deep(kDepth + kLevelsAround + 1))) == nullptr);
  CHECK(parsers.Check(whole) != nullptr);
}

TEST_CASE("frame_parser: that a message is deep says nothing of the next one with its head") {
  Parsers parsers;
  const auto is_deep = [&](const std::string& payload) {
    const Signal* const signal = parsers.Check(Message(kFrom, kTo, payload));
    REQUIRE(signal != nullptr);
    return signal->is_deep;
  };
  std::string binary;
  TermWriter(binary).Binary("x");
  for (const std::string& before : {Number(1), binary}) {
    CHECK_FALSE(is_deep(before));
    CHECK_FALSE(is_deep(Deep(kDepth)));
    CHECK(is_deep(Deep(kDepth + 1)));
    CHECK(is_deep(Deep(kDepth + kLevelsAround)));
    CHECK_FALSE(is_deep(binary));
    CHECK(is_deep(Deep(kDepth + 1)));
    CHECK_FALSE(is_deep(Number(1)));
  }
}

TEST_CASE("frame_parser: who has sent a message that was passed on may be known later") {
  Parsers parsers;
  const std::string name = "a node that nobody has named@h";
  const std::string known = Message({1, kPeer, 8}, kTo, Number(1));
  std::string passed_on = known;
  const std::string old_node = "peer@127.0.0.1";
  const std::size_t at = passed_on.find(old_node);
  passed_on.replace(at, old_node.size(), name);
  passed_on[at - 1] = static_cast<char>(name.size());
  REQUIRE(!gen::Atom::Find(name).has_value());
  const Signal* signal = parsers.Check(passed_on);
  REQUIRE(signal != nullptr);
  CHECK(signal->from == gen::PID{1, {}, 8});
  CHECK(signal->unknown_node == name);
  const gen::Atom node(name);
  signal = parsers.Check(passed_on);
  REQUIRE(signal != nullptr);
  CHECK(signal->from == gen::PID{1, node, 8});
  CHECK(signal->unknown_node.empty());
}

TEST_CASE("frame_parser: a head with a trace token is not kept, nor the one before") {
  Parsers parsers;
  const std::string one = Number(1);
  const std::string plain = Message(kFrom, kTo, one);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    CAPTURE(size);
    const std::string token = TokenOf(size);
    REQUIRE(parsers.Check(plain) != nullptr);
    CHECK(parsers.KeptHeadBytes() == HeadBytesOf(plain, one));
    for (int i = 0; i < 2; ++i) {
      const Signal* const signal = parsers.Check(TracedMessage(one, token));
      REQUIRE(signal != nullptr);
      CHECK(signal->kind == SignalKind::kSend);
      CHECK(signal->payload == one);
      CHECK(signal->token == token);
      CHECK(parsers.KeptHeadBytes() == 0);
    }
  }
}

TEST_CASE("frame_parser: frames with bytes that have been changed" * kit::OneThread()) {
  std::mt19937 random(1);
  Parsers parsers;
  const std::string whole = Message(kFrom, kTo, Number(1000));
  int signals = 0;
  for (int i = 0; i < kit::Scaled(20'000, 4); ++i) {
    std::string frame = whole;
    frame[random() % frame.size()] = static_cast<char>(random());
    if (parsers.Check(frame) != nullptr) ++signals;
    if (random() % 2 == 0) REQUIRE(parsers.Check(whole) != nullptr);
  }
  CHECK(signals > 100);
}

TEST_CASE("frame_parser: frames with a binary whose bytes have been changed") {
  std::mt19937 random(1);
  Parsers parsers;
  std::string binary;
  TermWriter(binary).Binary("0123456789abcdef");
  const std::string whole = Message(kFrom, kTo, binary);
  int alike = 0;
  for (int i = 0; i < 5'000; ++i) {
    REQUIRE(parsers.Check(whole) != nullptr);
    std::string frame = whole;
    frame[random() % frame.size()] = static_cast<char>(random());
    if (!parsers.TakeAlike(frame).empty()) ++alike;
    (void)parsers.Check(frame);
  }
  CHECK(alike > 100);
}

}  // namespace ergon::dist::frame_parser_test
