// One connection over sockets of this program, without the rest of a node.
#include <ergon/node/cluster/connection/connection.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/terms.h>
#include <kit/eventually.h>

namespace ergon::dist {
namespace {

using Tcp = asio::ip::tcp;

// A connection that is up, and the peer's end of it.
class Pair {
 public:
  explicit Pair(std::uint64_t peer_flags = kOwnFlags, std::string_view sent_before = {},
                std::size_t send_queue_bytes = 1000,
                std::chrono::nanoseconds tick_time = std::chrono::seconds(60),
                std::function<std::string(gen::TraceId, gen::PID)> token = {})
      : listener(ListenerWith(std::move(token))) {
    settings.node = gen::Atom("own@127.0.0.1");
    settings.creation = 5;
    settings.tick_time = tick_time;
    settings.max_frame_bytes = 1000;
    settings.max_term_depth = 10;
    settings.send_queue_bytes = send_queue_bytes;
    Tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    peer.connect(acceptor.local_endpoint());
    auto stream = std::make_shared<Stream>(acceptor.accept(), tasks);
    socket = &stream->socket();
    connection = std::make_shared<Connection>(gen::Atom("peer@127.0.0.1"), context, tasks, settings,
                                              listener, std::make_shared<std::mutex>(), false);
    if (!sent_before.empty()) connection->SendMessageFrame(sent_before);
    connection->Attach(std::move(stream), {"peer@127.0.0.1", 7, peer_flags}, false);
  }

  // What has come to the peer since the last time.
  std::string Received() {
    std::string bytes(peer.available(), '\0');
    asio::read(peer, asio::buffer(bytes));
    return bytes;
  }

  // The peer sends ticks until `holds()`. Returns false if it does not come to that.
  template <class Condition>
  [[nodiscard]] bool TickUntil(Condition holds) {
    std::string tick;
    AppendTick(tick);
    return kit::Eventually([&] {
      context.poll();
      asio::error_code ignored;
      asio::write(peer, asio::buffer(tick), ignored);
      return holds();
    });
  }

  // What was sent to the peer is read, and not looked at.
  std::size_t TakeAll() {
    std::size_t bytes = 0;
    for (std::size_t more = 0; (more = Received().size()) != 0;) bytes += more;
    return bytes;
  }

  // The frame of a signal of the peer's.
  [[nodiscard]] static std::string FrameOfPeer(Signal signal) {
    std::string frame;
    signal.from = {1, gen::Atom("peer@127.0.0.1"), 7};
    AppendFrame(frame, signal, kOwnFlags);
    return frame;
  }

  // The peer sends a message, which waits in the socket then.
  void SendFromPeer() {
    std::string frame;
    AppendFrame(frame,
                {.kind = SignalKind::kSendToName,
                 .from = {1, gen::Atom("peer@127.0.0.1"), 7},
                 .name = "somebody",
                 .payload = std::string_view("a\1", 2)},
                kOwnFlags);
    asio::write(peer, asio::buffer(frame));
    while (socket->available() < frame.size()) {
    }
  }

  asio::io_context context{1};
  Tasks tasks{context};
  Settings settings;
  int ups = 0;
  int arrived = 0;
  int downs = 0;
  Connection::Listener ListenerWith(std::function<std::string(gen::TraceId, gen::PID)> token) {
    return {.up = [this](Connection&) { ++ups; },
            .arrived =
                [this](Connection& from, const Signal& signal) {
                  CHECK(downs == 0);
                  ++arrived;
                  if (signal.kind != SignalKind::kMonitor || answer_bytes == 0) return;
                  const auto lock = from.Lock();
                  SendAnswer();
                },
            .has_room = [](Connection&, const std::vector<Connection::RoomWaiter>&) {},
            .idle = [](Connection&) {},
            .down =
                [this](Connection&, const Connection::Rest& rest) {
                  ++downs;
                  why = rest.why;
                },
            .token = std::move(token)};
  }
  const Connection::Listener listener;
  // With the lock, or before another thread knows the connection.
  void SendAnswer() const {
    const std::string payload = terms::Binary(std::string(answer_bytes, 'x'));
    const Signal answer{.kind = SignalKind::kSend,
                        .from = {1, gen::Atom("own@127.0.0.1"), 5},
                        .to = {1, gen::Atom("peer@127.0.0.1"), 7},
                        .payload = payload};
    CHECK(connection->TrySend(answer, SentAs::kAwaitedAnswer));
  }
  std::size_t answer_bytes = 0;  // to each monitor; 0: none
  std::string why;               // it is down
  Tcp::socket peer{context};
  Tcp::socket* socket = nullptr;
  std::shared_ptr<Connection> connection;
};

constexpr std::array kAllSentAs = {SentAs::kOwn, SentAs::kMessage, SentAs::kAnswer,
                                   SentAs::kAwaitedAnswer};

}  // namespace

TEST_CASE(
    "connection: an older peer gets messages in its form, also those from before it was known") {
  const gen::PID from{1, gen::Atom("own@127.0.0.1"), 5};
  const gen::PID to{2, gen::Atom("peer@127.0.0.1"), 7};
  // Deeper than what the peer may send.
  std::string payload;
  for (int depth = 0; depth < 50; ++depth) payload += std::string_view("h\1", 2);
  payload += std::string_view("a\1", 2);
  std::string frame;
  OpenMessage(frame, from, to);
  frame += payload;
  CloseFrame(frame, 0);
  std::string older;
  AppendFrame(older, {.kind = SignalKind::kSend, .from = from, .to = to, .payload = payload}, 0);
  REQUIRE(older != frame);
  const auto received = [&](std::uint64_t flags) {
    Pair pair(flags, frame);
    pair.connection->SendMessageFrame(frame);
    // In two parts.
    const std::string_view whole(frame);
    pair.connection->SendMessageFrame(whole.substr(0, 80), whole.substr(80));
    std::string bytes;
    CHECK(kit::Eventually([&] {
      pair.context.poll();
      bytes += pair.Received();
      return bytes.size() >= 3 * (flags == kOwnFlags ? frame : older).size();
    }));
    pair.connection->Fail("for the test");
    pair.context.run();
    return bytes;
  };
  CHECK(received(kOwnFlags) == frame + frame + frame);
  CHECK(received(kOwnFlags & ~(kFlagSendSender | kFlagExitPayload)) == older + older + older);
}

TEST_CASE(
    "connection: a peer gets no signal that it does not understand, also none from before it was "
    "known") {
  const gen::PID from{1, gen::Atom("own@127.0.0.1"), 5};
  const gen::PID to{2, gen::Atom("peer@127.0.0.1"), 7};
  std::string reference;
  AppendReference(reference, 9, "own@127.0.0.1", 5);
  std::string nil;
  TermWriter(nil).Nil();
  const Signal signals[] = {
      {.kind = SignalKind::kMonitor, .from = from, .to = to, .ref = reference},
      {.kind = SignalKind::kSpawnRequest,
       .from = from,
       .ref = reference,
       .payload = nil,
       .module = "m",
       .function = "f"},
      {.kind = SignalKind::kLink, .from = from, .to = to}};
  std::string frames[3];
  for (std::size_t i = 0; i < 3; ++i) AppendFrame(frames[i], signals[i], kOwnFlags);
  const auto received = [&](std::uint64_t flags, std::size_t expected) {
    Pair pair(flags, frames[0] + frames[1] + frames[2]);
    for (const Signal& signal : signals) CHECK(pair.connection->TrySend(signal, SentAs::kOwn));
    std::string bytes;
    CHECK(kit::Eventually([&] {
      pair.context.poll();
      bytes += pair.Received();
      return bytes.size() >= expected;
    }));
    pair.connection->Fail("for the test");
    pair.context.run();
    return bytes + pair.Received();
  };
  const auto check = [&](std::uint64_t without, const std::string& taken) {
    CHECK(received(kOwnFlags & ~without, 2 * taken.size()) == taken + taken);
  };
  check(0, frames[0] + frames[1] + frames[2]);
  check(kFlagDistMonitor, frames[1] + frames[2]);
  check(kFlagDistMonitorName, frames[1] + frames[2]);
  check(kFlagSpawn, frames[0] + frames[2]);
  check(kFlagsOfMonitors | kFlagSpawn, frames[2]);
}

TEST_CASE("connection: a signal with a trace id goes with a token, to a peer that takes them") {
  const gen::PID from{1, gen::Atom("own@127.0.0.1"), 5};
  const gen::PID to{2, gen::Atom("peer@127.0.0.1"), 7};
  const std::string payload("a\1", 2);
  const std::string token = terms::Tuple({terms::Small(7), terms::Small(17), terms::Small(1),
                                          terms::Pid("own@127.0.0.1", 1, 0, 5), terms::Small(0)});
  Signal message{.kind = SignalKind::kSend, .from = from, .to = to, .payload = payload};
  std::string plain;
  AppendFrame(plain, message, kOwnFlags);
  std::string traced;
  message.token = token;
  AppendFrame(traced, message, kOwnFlags);
  message.token = {};
  message.trace = 17;
  for (const std::uint64_t flags : {kOwnFlags, kOwnFlags & ~kFlagBigTraceLabels}) {
    // Before it is known, and afterwards; as signals and as frames.
    Pair pair(flags, traced, 1000, std::chrono::seconds(60),
              [&](gen::TraceId trace, gen::PID sender) {
                CHECK(trace == 17);
                CHECK(sender == from);
                return token;
              });
    REQUIRE(pair.connection->TrySend(message, SentAs::kOwn));
    pair.connection->SendMessageFrame(traced);
    pair.connection->SendMessageFrame(plain);
    std::string expected;
    for (int i = 0; i < 3; ++i) expected += flags == kOwnFlags ? traced : plain;
    expected += plain;
    std::string bytes;
    CHECK(kit::Eventually([&] {
      pair.context.poll();
      bytes += pair.Received();
      return bytes.size() >= expected.size();
    }));
    CHECK(bytes == expected);
    pair.connection->Fail("for the test");
    pair.context.run();
  }
}

TEST_CASE("connection: what has come is told, then that it is down") {
  Pair pair;
  pair.SendFromPeer();
  pair.SendFromPeer();
  pair.peer.close();
  pair.context.run();
  CHECK(pair.ups == 1);
  CHECK(pair.arrived == 2);
  CHECK(pair.downs == 1);
}

// See kStreamMessages in connection.cc: the thread of the network pauses between the writes of a stream.
TEST_CASE(
    "connection: what follows a stream is written, also when the node stops, and not when it is "
    "down") {
  enum class End { kNone, kClose, kFail };
  for (const End end : {End::kNone, End::kClose, End::kFail}) {
    // Once in a while the pause is over before it is looked at.
    CHECK(kit::Eventually([&] {
      Pair pair(kOwnFlags, {}, 1024 * 1024);
      std::string sent;
      std::string received;
      const auto make = [](int number) {
        std::string frame;
        OpenMessage(frame, {1, gen::Atom("own@127.0.0.1"), 5}, {2, gen::Atom("peer@127.0.0.1"), 7});
        TermWriter(frame).Integer(number);
        CloseFrame(frame, 0);
        return frame;
      };
      const auto send = [&](const std::string& frame) {
        pair.connection->Lock()->SendMessageFrame(frame);
        sent += frame;
      };
      const auto receives_all = [&] {
        return kit::Eventually([&] {
          pair.context.poll();
          received += pair.Received();
          return received == sent;
        });
      };
      const std::string last = make(1000);
      for (int write = 0; write < 10; ++write) {
        // Little to compare: the pause is short.
        sent.clear();
        received.clear();
        for (int i = 0; i < 40; ++i) send(make(write * 100 + i));
        CHECK(receives_all());
      }
      send(last);
      pair.context.poll();
      const bool pauses = pair.peer.available() == 0;
      if (end == End::kClose) pair.connection->CloseWhenWritten();
      if (end == End::kFail) pair.connection->Fail("for the test");
      if (end != End::kFail) CHECK(receives_all());
      if (end == End::kClose) pair.peer.close();  // until then it is listened to
      if (end == End::kNone) pair.connection->Fail("for the test");
      pair.context.run();
      CHECK(pair.downs == 1);
      return pauses;
    }));
  }
}

// Reading has found the bytes already, and is told of them later.
TEST_CASE("connection: nothing is told after it is down, not even what was read before") {
  Pair pair;
  pair.SendFromPeer();
  CHECK(pair.context.poll_one() == 1);  // reading begins
  CHECK(pair.arrived == 0);
  pair.connection->Fail("for the test");
  pair.connection->Fail("once more");
  pair.context.run();
  CHECK(pair.arrived == 0);
  CHECK(pair.downs == 1);
}

namespace {

std::string MonitorOfPeer() {
  const std::string reference = terms::Reference("peer@127.0.0.1", 7, {1, 2, 3});
  return Pair::FrameOfPeer({.kind = SignalKind::kMonitor, .name = "somebody", .ref = reference});
}
std::string MessageOfPeer() {
  const std::string payload = terms::Small(1);
  return Pair::FrameOfPeer(
      {.kind = SignalKind::kSendToName, .name = "somebody", .payload = payload});
}
// More than sockets keep by themselves.
constexpr std::size_t kMoreThanSocketsKeep = 16 * 1024 * 1024;

}  // namespace

TEST_CASE("connection: who asks and does not read is not listened to until it does") {
  constexpr std::size_t kBound = 64 * 1024;
  constexpr int kQuestions = 1000;
  Pair pair(kOwnFlags, {}, kBound);
  pair.settings.max_frame_bytes = kMoreThanSocketsKeep;
  pair.answer_bytes = kBound / 2;
  std::string frames;
  for (int i = 0; i < kQuestions; ++i) frames += MonitorOfPeer();
  asio::write(pair.peer, asio::buffer(frames));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.connection->HasUnreadAnswers();
  }));
  CHECK(pair.arrived < kQuestions);
  std::size_t taken = 0;
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    taken += pair.TakeAll();
    return taken > kQuestions * pair.answer_bytes;
  }));
  CHECK(pair.arrived == kQuestions);
  CHECK(pair.connection->MostQueuedBytes() < 2 * kBound);
  CHECK(pair.connection->PutAsideBytes() == 0);
  CHECK_FALSE(pair.connection->IsHeld());
  pair.connection->Fail("for the test");
  pair.context.run();
}

// While one thread writes them, the thread of the network may put requests aside: then it has to hear of the end.
TEST_CASE("connection: so many answers that requests wait are written by the network's thread") {
  Pair pair;
  pair.answer_bytes = 100;
  pair.SendAnswer();
  CHECK(pair.Received().size() > 100);
  pair.answer_bytes = 1000;
  pair.settings.max_frame_bytes = 2000;
  pair.SendAnswer();
  CHECK(pair.Received().empty());
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.Received().size() > 1000;
  }));
  pair.connection->Fail("for the test");
  pair.context.run();
}

TEST_CASE("connection: what has to wait is put aside, and others go on, but not its sender") {
  Pair pair;
  pair.settings.max_frame_bytes = 2 * kMoreThanSocketsKeep;
  pair.answer_bytes = kMoreThanSocketsKeep;
  pair.SendAnswer();
  pair.answer_bytes = 0;
  std::string of_another;
  AppendFrame(of_another,
              {.kind = SignalKind::kSendToName,
               .from = {2, gen::Atom("peer@127.0.0.1"), 7},
               .name = "somebody",
               .payload = std::string_view("a\1", 2)},
              kOwnFlags);
  asio::write(pair.peer, asio::buffer(MessageOfPeer() + MonitorOfPeer() + MessageOfPeer() +
                                      of_another + MessageOfPeer()));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.arrived == 2;
  }));
  const std::size_t put_aside = pair.connection->PutAsideBytes();
  CHECK(put_aside > MonitorOfPeer().size());
  CHECK_FALSE(pair.connection->IsHeld());
  std::string monitors;
  constexpr int kMonitors = 50;
  for (int i = 0; i < kMonitors; ++i) monitors += MonitorOfPeer();
  asio::write(pair.peer, asio::buffer(monitors));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.connection->IsHeld();
  }));
  CHECK(pair.arrived == 2);
  CHECK(
      pair.connection->Describe() ==
      fmt::format("connected with peer@127.0.0.1: {0} bytes wait to be sent, {0} of them answers; "
                  "{1} bytes of its requests are put aside; it is not listened to "
                  "meanwhile",
                  pair.connection->QueuedBytes(), pair.connection->PutAsideBytes()));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    (void)pair.TakeAll();
    return pair.arrived == 5 + kMonitors;
  }));
  CHECK(pair.connection->PutAsideBytes() == 0);
  CHECK_FALSE(pair.connection->IsHeld());
  pair.connection->Fail("for the test");
  pair.context.run();
}

// That tells of a process, which is to be ended when nobody waits for it.
TEST_CASE("connection: a spawn reply has to wait if nobody has asked for it") {
  Pair pair;
  pair.settings.max_frame_bytes = 2 * kMoreThanSocketsKeep;
  pair.answer_bytes = kMoreThanSocketsKeep;
  pair.SendAnswer();
  pair.connection->Lock()->peer_state().calls[9].spawns = true;
  const auto reply = [](std::uint64_t number) {
    const std::string reference = ReferenceOf(number, gen::Atom("own@127.0.0.1"), 5);
    return Pair::FrameOfPeer({.kind = SignalKind::kSpawnReply,
                              .to = {1, gen::Atom("own@127.0.0.1"), 5},
                              .ref = reference});
  };
  asio::write(pair.peer, asio::buffer(reply(9)));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.arrived == 1;
  }));
  asio::write(pair.peer, asio::buffer(reply(8)));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.connection->PutAsideBytes() == reply(8).size();
  }));
  CHECK(pair.arrived == 1);
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    (void)pair.TakeAll();
    return pair.arrived == 2;
  }));
  pair.connection->Fail("for the test");
  pair.context.run();
}

// Messages of this node wait by themselves, and two nodes that send each other many must both go on reading.
TEST_CASE("connection: that messages wait to be sent keeps nobody from reading") {
  Pair pair;
  std::string frame;
  OpenMessage(frame, {1, gen::Atom("own@127.0.0.1"), 5}, {2, gen::Atom("peer@127.0.0.1"), 7});
  frame += terms::Binary(std::string(kMoreThanSocketsKeep, 'x'));
  CloseFrame(frame, 0);
  pair.connection->SendMessageFrame(frame);
  CHECK(pair.connection->IsFull());
  asio::write(pair.peer, asio::buffer(MonitorOfPeer() + MonitorOfPeer()));
  CHECK(kit::Eventually([&] {
    pair.context.poll();
    return pair.arrived == 2;
  }));
  pair.connection->Fail("for the test");
  pair.context.run();
}

TEST_CASE("connection: a peer that takes nothing is given up, whatever it says") {
  Pair pair(kOwnFlags, {}, 1000, std::chrono::milliseconds(40));
  pair.settings.max_frame_bytes = 2 * kMoreThanSocketsKeep;
  pair.answer_bytes = kMoreThanSocketsKeep;
  pair.SendAnswer();
  CHECK(pair.TickUntil([&] { return pair.downs == 1; }));
  CHECK(pair.why.find("it has taken next to nothing for 50 ms") == 0);
  pair.context.run();
}

TEST_CASE("connection: a peer for which too much waits is given up") {
  Pair pair;
  pair.settings.max_queued_bytes = 100'000;
  Connection& connection = *pair.connection;
  const Signal end{.kind = SignalKind::kExit,
                   .from = {1, gen::Atom("own@127.0.0.1"), 5},
                   .to = {1, gen::Atom("peer@127.0.0.1"), 7},
                   .payload = std::string_view("a\1", 2)};
  for (int i = 0; i < 100'000; ++i) {
    const SentAs as = i % 2 == 0 ? SentAs::kOwn : SentAs::kAnswer;
    CHECK(connection.TrySend(end, as));  // whoever is concerned is told of the loss
  }
  const std::size_t most = connection.MostQueuedBytes();
  CHECK(most > pair.settings.max_queued_bytes);
  CHECK(most < pair.settings.max_queued_bytes + pair.settings.max_frame_bytes);
  CHECK(pair.downs == 0);
  pair.context.run();
  CHECK(pair.downs == 1);
  CHECK(pair.why ==
        fmt::format("{} bytes wait to be sent to it, 100000 may (max_queued_bytes)", most));
}

TEST_CASE("connection: a peer that never says what it packs packs nothing") {
  Pair pair(kOwnFlags, {}, 1000, std::chrono::milliseconds(40));
  CHECK(pair.connection->MaySayPacks());
  CHECK(pair.TickUntil([&] { return pair.downs != 0 || !pair.connection->MaySayPacks(); }));
  CHECK(pair.downs == 0);
  pair.connection->Fail("for the test");
  pair.context.run();
}

TEST_CASE("connection: what is larger than a frame may be is refused, and not queued") {
  Pair pair;  // frames of 1000 bytes
  Connection& connection = *pair.connection;
  const auto signal = [](const std::string& payload) {
    return Signal{.kind = SignalKind::kExit,
                  .from = {1, gen::Atom("own@127.0.0.1"), 5},
                  .to = {1, gen::Atom("peer@127.0.0.1"), 7},
                  .payload = payload};
  };
  std::string frame;
  AppendFrame(frame, signal(terms::Binary("")), kOwnFlags);
  const std::size_t rest = frame.size() - kFrameLengthBytes;
  std::size_t queued = 0;
  for (const SentAs as : kAllSentAs) {
    const std::string fits = terms::Binary(std::string(1000 - rest, 'x'));
    const std::string too_large = terms::Binary(std::string(1001 - rest, 'x'));
    const std::string far_too_large = terms::Binary(std::string(1024 * 1024, 'x'));
    for (const std::string& payload : {too_large, far_too_large}) {
      const auto refused = connection.TrySend(signal(payload), as);
      CHECK(refused.error() == gen::ErrIncorrect);
      CHECK(refused.error().ToString().find("a frame has at most 1000 (max_frame_bytes)") !=
            std::string::npos);
    }
    CHECK(connection.QueuedBytes() == queued);
    CHECK(connection.TrySend(signal(fits), as));
    queued += kFrameLengthBytes + 1000;
    CHECK(connection.QueuedBytes() == queued);
  }
  // What has no payload of anybody's is never so large; if it were, nobody would wait in vain.
  CHECK(pair.downs == 0);
  connection.Send(signal(terms::Binary(std::string(1001 - rest, 'x'))), SentAs::kAnswer);
  pair.context.run();
  CHECK(pair.downs == 1);
  CHECK(pair.why.find("max_frame_bytes") != std::string::npos);
}

TEST_CASE("connection: what is sent when it is down is refused, and kept nowhere") {
  Pair pair;
  Connection& connection = *pair.connection;
  const Signal signal{.kind = SignalKind::kExit,
                      .from = {1, gen::Atom("own@127.0.0.1"), 5},
                      .to = {1, gen::Atom("peer@127.0.0.1"), 7},
                      .payload = std::string_view("a\1", 2)};
  const std::string large = terms::Binary(std::string(2000, 'x'));  // of which no frame is made
  connection.Fail("for the test");
  pair.context.run();
  for (const SentAs as : kAllSentAs) {
    const auto refused = connection.TrySend(signal, as);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == gen::ErrNoConnection);
    connection.Send(signal, as);
    Signal too_large = signal;
    too_large.payload = large;
    connection.Send(too_large, as);
    CHECK(connection.QueuedBytes() == 0);
    CHECK(connection.AnswerBytes() == 0);
  }
  pair.context.restart();
  CHECK(pair.context.poll() == 0);  // nor is the connection lost anew
  CHECK(pair.downs == 1);
  CHECK(pair.why == "for the test");
}

TEST_CASE("connection: the size of a frame does not begin anew at 4 GiB") {
  constexpr std::size_t kMost = 0xffff'ffff;
  CHECK(CheckFrame(kMost, kMost, "peer@127.0.0.1"));
  CHECK(CheckFrame(kMost + 1, kMost, "peer@127.0.0.1").error() == gen::ErrIncorrect);
  CHECK(CheckFrame(2 * kMost + 5, kMost, "peer@127.0.0.1").error() == gen::ErrIncorrect);
}

}  // namespace ergon::dist
