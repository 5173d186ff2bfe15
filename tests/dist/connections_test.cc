// Which connection two nodes keep that have dialled each other at once.
#include <ergon/node/dist/connections.h>

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace ergon::dist {
namespace {

using Tcp = asio::ip::tcp;

// The node m, which has begun to dial the peer, while the peer's own attempt is under way.
class Both {
 public:
  explicit Both(std::string its_peer) : peer(std::move(its_peer)) {
    settings.node = gen::Atom("m@127.0.0.1");
    settings.creation = 5;
    settings.tick_time = std::chrono::seconds(60);
    dialled = connections.Get(gen::Atom(peer));
  }
  ~Both() {
    for (const auto& connection : connections.All()) connection->Fail("the end of the test");
    context.run();
  }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  void OwnComes() { connections.AttachDialled(dialled, Join(ours), Found()); }
  void TheirsComes(bool replaces = false) {
    HandshakePeer found = Found();
    found.replaces = replaces;
    connections.Attach(Join(theirs), found);
  }
  // Of the stream to one end; whether it is still open there.
  [[nodiscard]] bool IsOpen(Tcp::socket& end) {
    context.poll();
    char byte = 0;
    asio::error_code error;
    end.non_blocking(true);
    (void)end.read_some(asio::buffer(&byte, 1), error);
    return error == asio::error::would_block;
  }
  [[nodiscard]] bool IsUp() const {
    const auto connection = connections.Find(gen::Atom(peer));
    return connection != nullptr && connection->state() == Connection::State::kUp;
  }

  const std::string peer;
  asio::io_context context{1};
  Tasks tasks{context};
  Settings settings;
  int downs = 0;
  const Connection::Listener listener{
      .up = [](Connection&) {},
      .arrived = [](Connection&, const Signal&) {},
      .has_room = [](Connection&, const std::vector<Connection::RoomWaiter>&) {},
      .idle = [](Connection&) {},
      .down =
          [this](Connection& connection, const Connection::Rest&) {
            connections.Remove(connection);
            ++downs;
          }};
  Connections connections{context, tasks, settings, listener, [](const auto&) {}};
  Tcp::socket ours{context};  // the peer's ends
  Tcp::socket theirs{context};
  std::shared_ptr<Connection> dialled;

 private:
  std::shared_ptr<Stream> Join(Tcp::socket& end) {
    Tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    end = Tcp::socket(context);
    end.connect(acceptor.local_endpoint());
    return std::make_shared<Stream>(acceptor.accept(), tasks);
  }
  [[nodiscard]] HandshakePeer Found() const { return {peer, 7, kOwnFlags}; }
};

}  // namespace

TEST_CASE("connections: of two that come about at once, that of the greater name stays") {
  for (const bool is_greater : {true, false}) {
    for (const bool own_first : {true, false}) {
      CAPTURE(is_greater);
      CAPTURE(own_first);
      Both both(is_greater ? "a@127.0.0.1" : "z@127.0.0.1");
      if (own_first) both.OwnComes();
      both.TheirsComes();
      if (!own_first) both.OwnComes();
      CHECK(both.IsOpen(both.ours) == is_greater);
      CHECK(both.IsOpen(both.theirs) == !is_greater);
      CHECK(both.IsUp());
      // The one that came first and does not stay: what was sent by it is told of.
      CHECK(both.downs == (own_first == is_greater ? 0 : 1));
    }
  }
}

TEST_CASE("connections: a peer that knows of the connection, and wants another one, gets it") {
  Both both("a@127.0.0.1");
  both.OwnComes();
  both.TheirsComes(true);
  CHECK_FALSE(both.IsOpen(both.ours));
  CHECK(both.IsOpen(both.theirs));
  // Once more: it was restarted.
  both.TheirsComes();
  CHECK(both.IsOpen(both.theirs));
  CHECK(both.IsUp());
  CHECK(both.downs == 2);
}

TEST_CASE("connections: what was given up while it was dialled stays so") {
  Both both("a@127.0.0.1");
  both.dialled->Fail("for the test");
  both.OwnComes();
  CHECK_FALSE(both.IsOpen(both.ours));
  CHECK_FALSE(both.IsUp());
}

}  // namespace ergon::dist
