// Which connection two nodes keep that have dialled each other at once.
#include <ergon/node/cluster/connection/connections.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>
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
    Connections::Announce(*dialled, true);
  }
  ~Both() {
    for (const auto& connection : connections.All()) connection->Fail("the end of the test");
    context.run();
  }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  void OwnComes() { connections.AttachDialled(*dialled, Join(ours), Found()); }
  void OwnFails() { connections.FailToDial(*dialled, "for the test"); }
  // It proves itself; whether it is told so.
  bool Claim(bool replaces = false, std::uint32_t creation = 7) {
    claimed = {peer, creation, kOwnFlags, replaces};
    claim = connections.Claim(claimed);
    return claim.has_value();
  }
  void LoseClaim() { connections.LoseClaim(*claim); }
  void TheirsComes() { connections.Attach(Join(theirs), claimed, *claim); }
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
  int dials = 0;
  Connections connections{context, tasks, settings, listener, [this](const auto&) { ++dials; }};
  Tcp::socket ours{context};  // the peer's ends
  Tcp::socket theirs{context};
  std::shared_ptr<Connection> dialled;
  HandshakePeer claimed;
  std::optional<Connections::Claimed> claim;

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

constexpr const char* kLesser = "a@127.0.0.1";
constexpr const char* kGreater = "z@127.0.0.1";

TEST_CASE("connections: the node with the lesser name decides, what it has first") {
  Both both(kGreater);
  SUBCASE("its own") {
    both.OwnComes();
    CHECK_FALSE(both.Claim());
    CHECK(both.IsOpen(both.ours));
  }
  SUBCASE("that of the peer") {
    CHECK(both.Claim());
    CHECK(Connections::IsClaimed(*both.dialled));
    both.TheirsComes();
    CHECK(both.IsUp());
    both.OwnComes();
    CHECK_FALSE(both.IsOpen(both.ours));
    CHECK(both.IsOpen(both.theirs));
  }
  SUBCASE("that of the peer, while the own one comes") {
    CHECK(both.Claim());
    both.OwnComes();
    CHECK_FALSE(both.IsUp());
    both.TheirsComes();
    CHECK_FALSE(both.IsOpen(both.ours));
    CHECK(both.IsOpen(both.theirs));
  }
  SUBCASE("its own after all, when the peer's breaks off") {
    CHECK(both.Claim());
    both.OwnComes();
    both.LoseClaim();
    CHECK(both.IsOpen(both.ours));
  }
  CHECK(both.IsUp());
  CHECK(both.downs == 0);  // nothing was sent by the other one
}

TEST_CASE("connections: the node with the greater name keeps the peer's in reserve") {
  Both both(kLesser);
  SUBCASE("its own comes") {
    both.OwnComes();
    CHECK_FALSE(both.Claim());
    CHECK(both.IsOpen(both.ours));
  }
  SUBCASE("its own comes after that of the peer") {
    CHECK(both.Claim());
    CHECK(Connections::IsClaimed(*both.dialled));
    both.TheirsComes();
    CHECK_FALSE(both.IsUp());
    CHECK(Connections::IsClaimed(*both.dialled));
    both.OwnComes();
    CHECK(both.IsOpen(both.ours));
    CHECK_FALSE(both.IsOpen(both.theirs));
  }
  SUBCASE("its own fails") {
    CHECK(both.Claim());
    both.TheirsComes();
    both.OwnFails();
    CHECK(both.IsOpen(both.theirs));
  }
  SUBCASE("its own fails before that of the peer comes") {
    CHECK(both.Claim());
    both.OwnFails();
    both.TheirsComes();
    CHECK(both.IsOpen(both.theirs));
  }
  CHECK(both.IsUp());
  CHECK(both.downs == 0);
}

TEST_CASE("connections: when both attempts fail, that is told once") {
  for (const char* peer : {kLesser, kGreater}) {
    for (const bool own_first : {true, false}) {
      CAPTURE(peer);
      CAPTURE(own_first);
      Both both(peer);
      CHECK(both.Claim());
      if (own_first) both.OwnFails();
      CHECK(both.downs == 0);
      both.LoseClaim();
      if (!own_first) both.OwnFails();
      CHECK(both.downs == 1);
      CHECK(both.connections.Find(gen::Atom(peer)) == nullptr);
    }
  }
}

TEST_CASE("connections: a peer that comes is not dialled as well") {
  Both both(kLesser);
  both.OwnFails();
  CHECK(both.Claim());
  CHECK(both.dials == 1);
  const auto made = both.connections.Get(gen::Atom(kLesser));
  CHECK(both.dials == 1);
  both.TheirsComes();
  CHECK(made->state() == Connection::State::kUp);
}

TEST_CASE("connections: a peer that knows of the connection, and wants another one, gets it") {
  Both both(kLesser);
  both.OwnComes();
  CHECK(both.Claim(true));
  CHECK(both.downs == 0);  // the former one stays until the other one has come
  both.TheirsComes();
  CHECK_FALSE(both.IsOpen(both.ours));
  CHECK(both.IsOpen(both.theirs));
  // Once more: it has lost that one.
  CHECK(both.Claim());
  both.TheirsComes();
  CHECK(both.IsOpen(both.theirs));
  CHECK(both.IsUp());
  CHECK(both.downs == 2);
}

TEST_CASE("connections: a peer that was restarted gets another connection") {
  Both both(kGreater);
  both.OwnComes();
  CHECK(both.Claim(false, 8));
  both.TheirsComes();
  CHECK(both.IsOpen(both.theirs));
  CHECK(both.downs == 1);
}

TEST_CASE("connections: an attempt of which the peer has not heard keeps it from nothing") {
  for (const char* peer : {kLesser, kGreater}) {
    CAPTURE(peer);
    Both both(peer);
    const bool gives_way = peer == kGreater;
    CHECK(both.connections.AnswerTo(peer) ==
          (gives_way ? HandshakeAnswer::kOkSimultaneous : HandshakeAnswer::kNok));
    // The pause after a failure, EPMD, or a peer that has said that it goes on with its own attempt.
    Connections::Announce(*both.dialled, false);
    CHECK(both.connections.AnswerTo(peer) == HandshakeAnswer::kOk);
    // What breaks off then does not end what goes on.
    CHECK(both.Claim());
    CHECK(Connections::IsClaimed(*both.dialled));
    both.LoseClaim();
    CHECK(both.downs == 0);
    CHECK_FALSE(Connections::IsClaimed(*both.dialled));
    // It comes at once, also with the lesser name.
    CHECK(both.Claim());
    both.TheirsComes();
    CHECK(both.IsUp());
    CHECK(both.IsOpen(both.theirs));
    both.OwnFails();
    CHECK(both.IsUp());
    CHECK(both.downs == 0);
    CHECK(both.connections.AnswerTo(peer) == HandshakeAnswer::kAlive);
  }
}

TEST_CASE("connections: a handshake that breaks off loses its own claim, and no other one") {
  Both both(kGreater);
  SUBCASE("it has one of a connection that is gone") {
    both.OwnComes();
    REQUIRE(both.Claim(true));  // to replace that one
    const auto former = both.claim;
    both.dialled->Fail("for the test");
    both.dialled = both.connections.Get(gen::Atom(kGreater));
    REQUIRE(both.Claim());
    both.OwnFails();
    CHECK(both.downs == 1);
    both.connections.LoseClaim(*former);
  }
  SUBCASE("it has come, for a connection that is gone") {
    REQUIRE(both.Claim());
    const auto former = both.claim;
    both.dialled->Fail("for the test");
    both.dialled = both.connections.Get(gen::Atom(kGreater));
    REQUIRE(both.Claim());
    both.OwnFails();
    both.connections.LoseClaim(*former);
  }
  CHECK(both.downs == 1);
  both.TheirsComes();
  CHECK(both.IsUp());
}

TEST_CASE("connections: names of peers become atoms when they are proved, and so many of them") {
  Both both(kGreater);
  both.settings.max_peer_names = 2;
  const auto name = [](int number) { return fmt::format("peername{}@127.0.0.1", number); };
  for (int i = 0; i < 10; ++i) CHECK(both.connections.AnswerTo(name(i)) == HandshakeAnswer::kOk);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(gen::Atom::Find(name(i)));
  for (int i = 0; i < 2; ++i) {
    const auto claimed = both.connections.Claim({name(i), 7, kOwnFlags});
    REQUIRE(claimed);
    both.connections.LoseClaim(*claimed);
    CHECK(gen::Atom::Find(name(i)));
  }
  CHECK(both.connections.IsOneTooMany(name(2)));
  CHECK(both.connections.AnswerTo(name(2)) == HandshakeAnswer::kNotAllowed);
  // Those that are known come again.
  CHECK(both.connections.AnswerTo(name(0)) == HandshakeAnswer::kOk);
  CHECK(both.connections.Claim({name(0), 7, kOwnFlags}));
  CHECK_FALSE(gen::Atom::Find(name(2)));
}

TEST_CASE("connections: what was given up while it was dialled stays so") {
  Both both("a@127.0.0.1");
  both.dialled->Fail("for the test");
  both.OwnComes();
  CHECK_FALSE(both.IsOpen(both.ours));
  CHECK_FALSE(both.IsUp());
}

TEST_CASE("connections: many of them, of which each is found, goes, and is made anew by itself") {
  constexpr std::size_t kNodes = 200;  // more than the table has parts
  Both both(kGreater);
  Connections& all = both.connections;
  std::vector<std::shared_ptr<Connection>> made;
  for (std::size_t i = 0; i < kNodes; ++i) {
    made.push_back(all.Get(gen::Atom("n" + std::to_string(i) + "@127.0.0.1")));
  }
  CHECK(both.dials == 1 + kNodes);
  CHECK(all.All().size() == 1 + kNodes);
  made[0]->Fail("for the test");
  CHECK(both.downs == 1);
  CHECK(all.All().size() == kNodes);
  CHECK(all.Find(made[0]->peer()) == nullptr);
  for (std::size_t i = 1; i < kNodes; ++i) CHECK(all.Find(made[i]->peer()) == made[i]);
  const auto anew = all.Get(made[0]->peer());
  CHECK(anew != made[0]);
  all.Remove(*made[0]);  // once more
  CHECK(all.Find(made[0]->peer()) == anew);

  all.Close();
  CHECK(all.Get(gen::Atom("another@127.0.0.1")) == nullptr);
  CHECK(
      all.With(gen::Atom("another@127.0.0.1"), [](Connection&) -> gen::Result<void> { return {}; })
          .error() == gen::ErrNodeTerminated);
  CHECK(all.Get(made[1]->peer()) == made[1]);
  CHECK(all.AnswerTo("another@127.0.0.1") == HandshakeAnswer::kNotAllowed);
  CHECK(all.AnswerTo("a name that nobody has") == HandshakeAnswer::kNotAllowed);
}

TEST_CASE("connections: what is sent to a node uses its connection, also when that is made anew") {
  constexpr std::size_t kNodes = 130;  // some share a part of the table
  Both both(kGreater);
  Connections& all = both.connections;
  const auto node_of = [](std::size_t i) {
    return gen::Atom("u" + std::to_string(i) + "@127.0.0.1");
  };
  const auto peer_of_used = [&](gen::Atom node) {
    gen::Atom peer;
    CHECK(all.With(node, [&](Connection& connection) -> gen::Result<void> {
      CHECK(connection.state() != Connection::State::kDown);
      peer = connection.peer();
      return {};
    }));
    return peer;
  };
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (int time = 0; time < 2; ++time) CHECK(peer_of_used(node_of(i)) == node_of(i));
      // Nothing else keeps it.
      if (i % 2 == 0) all.Find(node_of(i))->Fail("for the test");
    }
  }
  CHECK(both.dials == 1 + 2 * kNodes);  // half of them anew in two rounds
}

}  // namespace ergon::dist
