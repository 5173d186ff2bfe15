// One connection over sockets of this program, without the rest of a node.
#include <ergon/node/dist/connection.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <ergon/node/dist/flags.h>
#include <ergon/node/dist/frame_writer.h>
#include <ergon/node/dist/signals.h>
#include <ergon/node/erlang_encoding.h>

#include <kit/eventually.h>

namespace ergon::dist {
namespace {

using Tcp = asio::ip::tcp;

// A connection that is up, and the peer's end of it.
class Pair {
 public:
  explicit Pair(std::uint64_t peer_flags = kOwnFlags, std::string_view sent_before = {},
                std::size_t send_queue_bytes = 1000) {
    settings.node = gen::Atom("own@127.0.0.1");
    settings.creation = 5;
    settings.tick_time = std::chrono::seconds(60);
    settings.max_frame_bytes = 1000;
    settings.max_term_depth = 10;
    settings.send_queue_bytes = send_queue_bytes;
    Tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    peer.connect(acceptor.local_endpoint());
    auto stream = std::make_shared<Stream>(acceptor.accept(), tasks);
    socket = &stream->socket();
    connection = std::make_shared<Connection>(gen::Atom("peer@127.0.0.1"), context, tasks, settings,
                                              listener, std::make_shared<std::mutex>(), false);
    if (!sent_before.empty()) connection->AppendMessage(sent_before);
    connection->Attach(std::move(stream), {"peer@127.0.0.1", 7, peer_flags}, false);
  }

  // What has come to the peer since the last time.
  std::string Received() {
    std::string bytes(peer.available(), '\0');
    asio::read(peer, asio::buffer(bytes));
    return bytes;
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
  const Connection::Listener listener{
      .up = [this](Connection&) { ++ups; },
      .arrived =
          [this](Connection&, const Signal&) {
            CHECK(downs == 0);
            ++arrived;
          },
      .has_room = [](Connection&, const std::vector<Connection::RoomWaiter>&) {},
      .idle = [](Connection&) {},
      .down = [this](Connection&, const Connection::Rest&) { ++downs; }};
  Tcp::socket peer{context};
  Tcp::socket* socket = nullptr;
  std::shared_ptr<Connection> connection;
};

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
    pair.connection->AppendMessage(frame);
    std::string bytes;
    CHECK(kit::Eventually([&] {
      pair.context.poll();
      bytes += pair.Received();
      return bytes.size() >= 2 * (flags == kOwnFlags ? frame : older).size();
    }));
    pair.connection->Fail("for the test");
    pair.context.run();
    return bytes;
  };
  CHECK(received(kOwnFlags) == frame + frame);
  CHECK(received(kOwnFlags & ~(kFlagSendSender | kFlagExitPayload)) == older + older);
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
        std::lock_guard lock(pair.connection->mutex());
        pair.connection->AppendMessage(frame);
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

}  // namespace ergon::dist
