// How long one attempt to reach another node may take, and what it says when it fails.
#include <ergon/node/cluster/connection/dialing.h>

#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <cluster/fake_epmd.h>

#include <doctest/doctest.h>

#include <kit/eventually.h>

namespace ergon::dist {
namespace {

// The network of the node "own@127.0.0.1", without the rest of it.
struct DialingSide {
  asio::io_context context{1};
  Tasks tasks{context};
  Settings settings;
  std::vector<bool> announced;

  DialingSide() {
    settings.node = gen::Atom("own@127.0.0.1");
    settings.cookie = "secret";
    settings.creation = 5;
    settings.handshake_timeout = std::chrono::seconds(2);  // enough for what is not silent
  }
  // Why `peer` was not reached; "reached" if it was. Empty: neither, and the time of the test is up.
  std::string Dialled(
      const std::string& peer, std::function<bool()> is_wanted = [] { return true; }) {
    std::string outcome;
    Dial(context, tasks, settings, peer,
         {.pause = [] { return std::chrono::nanoseconds(0); },
          .is_wanted = std::move(is_wanted),
          .announced = [this](bool is_announced) { announced.push_back(is_announced); },
          .succeeded = [&](const std::shared_ptr<Stream>&,
                           const HandshakePeer&) { outcome = "reached"; },
          .failed = [&](const std::string& why) { outcome = why; }});
    context.restart();
    context.run_for(kit::kDeadline);
    return outcome;
  }
};

// A node whose part the test plays, and the EPMD that knows where it is.
struct ListeningPeer {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor{context, {asio::ip::make_address("127.0.0.1"), 0}};
  FakeEpmd epmd{[port = acceptor.local_endpoint().port()](std::string_view request) {
    return FakeEpmd::Found(FakeEpmd::AskedFor(request), port);
  }};

  explicit ListeningPeer(DialingSide& side) {
    side.settings.epmd_port = static_cast<std::uint16_t>(epmd.port());
  }
};

bool SaysWhy(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("dialing: a name service that says nothing is given up in time") {
  std::promise<void> release;
  const std::shared_future<void> released(release.get_future());
  const auto lookups = std::make_shared<HostLookups>([released](const std::string&) {
    released.wait();
    return Addresses{};
  });
  {
    DialingSide side;
    side.settings.lookups = lookups;
    side.settings.handshake_timeout = std::chrono::milliseconds(50);
    CHECK(side.Dialled("y@slow.test") ==
          "no connection: looking up the host 'slow.test': it takes too long");
    CHECK(side.announced.empty());
    // Nobody waits for it at the end either.
  }
  CHECK(lookups->Hosts() == 1);
  release.set_value();
  CHECK(kit::Eventually([&] { return lookups->Hosts() == 0; }));
}

TEST_CASE(
    "dialing: an EPMD that says nothing is given up in time, and its host is looked up once") {
  FakeEpmd epmd([](std::string_view) { return std::nullopt; });
  DialingSide side;
  side.settings.epmd_port = static_cast<std::uint16_t>(epmd.port());
  int lookups = 0;
  side.settings.lookups = std::make_shared<HostLookups>([&](const std::string&) {
    ++lookups;
    return Addresses{asio::ip::make_address("127.0.0.1")};
  });
  const std::string why = side.Dialled("y@host.test");
  CHECK_MESSAGE(SaysWhy(why, "asking EPMD at host.test:"), why);
  CHECK_MESSAGE(SaysWhy(why, "it takes too long"), why);
  CHECK(lookups == 1);
}

TEST_CASE("dialing: a time limit that is up is known to the step that has just ended") {
  // The time is up while a look-up that has just succeeded waits for its turn.
  asio::io_context context(1);
  bool is_closed = false;
  const TimeLimit limit(context, std::chrono::nanoseconds(0), [&] { is_closed = true; });
  CHECK_NOTHROW(limit.Check());
  context.run();
  CHECK(is_closed);
  CHECK_THROWS_AS(limit.Check(), std::system_error);
}

TEST_CASE("dialing: an address where packets vanish leaves time for the others") {
  DialingSide side;
  const ListeningPeer peer(side);
  // As many wait to be accepted as may, so that the system answers nobody any more.
  asio::io_context context;
  asio::ip::tcp::acceptor silent(context);
  silent.open(asio::ip::tcp::v4());
  silent.bind({asio::ip::make_address("127.0.0.2"), side.settings.epmd_port});
  silent.listen(0);
  std::list<asio::ip::tcp::socket> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(context).async_connect(silent.local_endpoint(),
                                                [](const asio::error_code&) {});
  }
  side.settings.lookups = std::make_shared<HostLookups>([](const std::string&) {
    return Addresses{asio::ip::make_address("127.0.0.2"), asio::ip::make_address("127.0.0.1")};
  });
  CHECK(SaysWhy(side.Dialled("y@two.test"), "the handshake with y@two.test takes too long"));
}

TEST_CASE("dialing: a node that accepts and says nothing is given up in time") {
  DialingSide side;
  const ListeningPeer silent(side);
  CHECK(side.Dialled("y@127.0.0.1") ==
        "no connection: the handshake with y@127.0.0.1 takes too long");
  CHECK(side.announced == std::vector{true});
}

TEST_CASE("dialing: the time that the first steps have taken is not there for the handshake") {
  DialingSide side;
  const ListeningPeer silent(side);
  std::string why;
  side.tasks.Start([&] {
    DialAttempt attempt(side.context, side.tasks, side.settings, "y@127.0.0.1");
    if (!attempt.Connect()) return;
    while (attempt.stream()->socket().is_open()) side.tasks.Sleep(std::chrono::milliseconds(1));
    why = attempt.ShakeHands(side.settings.Self()).error().ToString();
  });
  side.context.run_for(kit::kDeadline);
  CHECK(why == "no connection: the handshake with y@127.0.0.1 takes too long");
}

TEST_CASE("dialing: what is not wanted any more is given up before the peer hears of it") {
  std::atomic<bool> is_wanted{true};
  FakeEpmd epmd([&](std::string_view request) {
    is_wanted = false;
    return FakeEpmd::Found(FakeEpmd::AskedFor(request), 1);
  });
  DialingSide side;
  side.settings.epmd_port = static_cast<std::uint16_t>(epmd.port());
  const std::string why = side.Dialled("y@127.0.0.1", [&] { return is_wanted.load(); });
  CHECK_MESSAGE(SaysWhy(why, "y@127.0.0.1 has connected to this node meanwhile"), why);
  CHECK(side.announced.empty());
}

TEST_CASE("dialing: an attempt that gives way to the peer's is announced no more") {
  DialingSide side;
  ListeningPeer listening(side);
  const auto refusing = std::async(std::launch::async, [&] {
    asio::ip::tcp::socket peer = listening.acceptor.accept();
    asio::write(peer, asio::buffer(std::string("\0\4snok", 6)));
    std::string rest(1000, '\0');
    asio::error_code end;
    asio::read(peer, asio::buffer(rest), end);
  });
  const std::string why = side.Dialled("y@127.0.0.1");
  CHECK_MESSAGE(SaysWhy(why, "that attempt goes on"), why);
  CHECK(side.announced == std::vector{true, false});
}

TEST_CASE("dialing: an attempt that is ended waits until the peer has closed the connection, too") {
  DialingSide side;
  ListeningPeer listening(side);
  bool peer_closes = false;
  SUBCASE("or until the time is up") {}
  SUBCASE("however long that takes") {
    peer_closes = true;
    side.settings.handshake_timeout = kit::kDeadline;
  }
  bool has_ended = false;
  bool ended_early = peer_closes;
  std::promise<void> release;
  std::future<void> released = release.get_future();
  const auto peer = std::async(std::launch::async, [&] {
    asio::ip::tcp::socket socket = listening.acceptor.accept();
    std::string some(1000, '\0');
    asio::error_code end;
    asio::read(socket, asio::buffer(some), end);
    if (peer_closes) {
      asio::post(side.context, [&] {
        ended_early = has_ended;
        release.set_value();
      });
    }
    (void)released.wait_for(kit::kDeadline);
  });
  side.tasks.Start([&] {
    DialAttempt attempt(side.context, side.tasks, side.settings, "y@127.0.0.1");
    if (!attempt.Connect()) return;
    attempt.End();
    has_ended = true;
    if (!peer_closes) release.set_value();
  });
  side.context.run_for(kit::kDeadline);
  CHECK(has_ended);
  CHECK_FALSE(ended_early);
}

}  // namespace ergon::dist
