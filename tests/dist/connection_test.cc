// One connection over sockets of this program, without the rest of a node.
#include <ergon/node/dist/connection.h>

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>

#include <ergon/node/dist/flags.h>
#include <ergon/node/dist/signals.h>

namespace ergon::dist {
namespace {

using Tcp = asio::ip::tcp;

// A connection that is up, and the peer's end of it.
class Pair {
 public:
  Pair() {
    settings.node = gen::Atom("own@127.0.0.1");
    settings.creation = 5;
    settings.tick_time = std::chrono::seconds(60);
    settings.max_frame_bytes = 1000;
    settings.max_term_depth = 10;
    settings.send_queue_bytes = 1000;
    Tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    peer.connect(acceptor.local_endpoint());
    auto stream = std::make_shared<Stream>(acceptor.accept(), tasks);
    socket = &stream->socket();
    connection = std::make_shared<Connection>(gen::Atom("peer@127.0.0.1"), context, tasks, settings,
                                              listener, false);
    connection->Attach(std::move(stream), {"peer@127.0.0.1", 7, kOwnFlags}, false);
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
