// A node among peers that are hostile, slow or silent, from the first byte to the end of the handshake.
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/fake_epmd.h>
#include <cluster/terms.h>
#include <kit/threads.h>

#include <ergon/gen/log_limit.h>

namespace ergon::dist {
namespace {

using terms::Big;

// What a node that has no name at EPMD, or no cookie, says first.
std::string NameOfPeer(const std::string& name) {
  return "N" + Big(kOwnFlags, 8) + Big(77, 4) + Big(name.size(), 2) + name;
}

}  // namespace

TEST_CASE("hostile peers: of those that have not proved themselves the oldest one gives way") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.max_handshakes = 3;
  options.handshake_timeout = 1h;  // nobody gives up
  kit::LogCapture log;
  auto node = TryStart("crowded@127.0.0.1", log, options).value();
  const auto port = static_cast<std::uint16_t>(options.listen_port);
  std::deque<std::unique_ptr<Client>> silent;
  std::vector<std::unique_ptr<Client>> honest;
  for (int i = 0; i < 3; ++i) silent.push_back(std::make_unique<Client>(port));
  for (int i = 0; i < 10; ++i) {
    honest.push_back(std::make_unique<Client>(port));
    REQUIRE(honest.back()->ShakeHands("honest" + std::to_string(i) + "@127.0.0.1",
                                      "crowded@127.0.0.1"));
    CHECK(silent.front()->IsClosed());
    silent.pop_front();
    for (const auto& younger : silent) CHECK(younger->IsSilent());
    silent.push_back(std::make_unique<Client>(port));  // is opened anew
  }
  CHECK(kit::Eventually([&] { return Nodes(node).size() == 10; }));
  CHECK(log.Contains("it is the oldest one of 3 that have not ended their handshakes"));
  CHECK(log.Count("it is the oldest one of 3") <= 10);
}

TEST_CASE("hostile peers: who hands the node's own challenge back is not let in by the answer") {
  asio::io_context context;
  asio::ip::tcp::acceptor dialled(context, {asio::ip::make_address("127.0.0.1"), 0});
  const std::uint16_t port_of_thief = dialled.local_endpoint().port();
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    return FakeEpmd::Found(FakeEpmd::AskedFor(request), port_of_thief);
  });
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.epmd_port = epmd.port();
  kit::LogCapture log;
  auto node = TryStart("asked@127.0.0.1", log, options).value();
  // The node dials somebody who does not know the cookie.
  CHECK(node.Send(gen::ProcessID{"anybody", "y@127.0.0.1"}, Line{}));
  Client there(dialled);
  CHECK(there.ReadPacket().starts_with('N'));
  there.WritePacket("sok");
  // He dials the node, and is asked for a proof.
  Client here(static_cast<std::uint16_t>(options.listen_port));
  here.WritePacket(NameOfPeer("thief@127.0.0.1"));
  CHECK(here.ReadPacket() == "sok");
  const std::string challenge = here.ReadPacket().substr(9, 4);
  const std::string name = "y@127.0.0.1";
  there.WritePacket("N" + Big(kOwnFlags, 8) + challenge + Big(77, 4) + Big(name.size(), 2) + name);
  CHECK(there.ReadToTheEnd().empty());
  CHECK(kit::Eventually([&] { return log.Contains("hands a challenge of this program back"); }));
  CHECK(Nodes(node).empty());
}

TEST_CASE("hostile peers: nor by the answer of anybody else in the same program") {
  asio::io_context context;
  asio::ip::tcp::acceptor dialled(context, {asio::ip::make_address("127.0.0.1"), 0});
  const std::uint16_t port_of_thief = dialled.local_endpoint().port();
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    return FakeEpmd::Found(FakeEpmd::AskedFor(request), port_of_thief);
  });
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.epmd_port = epmd.port();
  ErlangOptions others = options;
  others.listen_port = 0;
  kit::LogCapture log;
  auto node = TryStart("asked2@127.0.0.1", log, options).value();
  kit::LogCapture log_of_another;
  auto another = TryStart("another@127.0.0.1", log_of_another, others).value();
  std::string status = "sok";
  bool says_why = true;
  std::future<std::string> answer;  // the error of who dials
  SUBCASE("dist::Diagnose") {
    answer = std::async(std::launch::async, [&] {
      const auto found = Diagnose("doctor@127.0.0.1", "y@127.0.0.1", others);
      return found ? "" : found.error().ToString();
    });
  }
  SUBCASE("dist::AskForName") {
    const std::string name = "ABC@127.0.0.1";
    status = "snamed:" + Big(name.size(), 2) + name + Big(99, 4);
    answer = std::async(std::launch::async, [&] {
      const auto found = AskForName("127.0.0.1", "y@127.0.0.1", others);
      return found ? "" : found.error().ToString();
    });
  }
  SUBCASE("another node") {
    answer = std::async(std::launch::async,
                        [&] { return Ping(another, "y@127.0.0.1").error().ToString(); });
    says_why = false;
  }
  Client there(dialled);
  CHECK(there.ReadPacket().starts_with('N'));
  there.WritePacket(status);
  Client here(static_cast<std::uint16_t>(options.listen_port));
  here.WritePacket(NameOfPeer("thief@127.0.0.1"));
  CHECK(here.ReadPacket() == "sok");
  const std::string challenge = here.ReadPacket().substr(9, 4);
  const std::string name = "y@127.0.0.1";
  there.WritePacket("N" + Big(kOwnFlags, 8) + challenge + Big(77, 4) + Big(name.size(), 2) + name);
  CHECK(there.ReadToTheEnd().empty());
  const std::string text = "hands a challenge of this program back";
  const bool is_told = answer.get().find(text) != std::string::npos;
  CHECK((is_told || !says_why));  // of a node, its log says why
  if (!says_why) CHECK(kit::Eventually([&] { return log_of_another.Contains(text); }));
}

TEST_CASE("hostile peers: who cannot be dialled connects while somebody here sends to it") {
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    return std::string("\x77\1", 2);  // it does not know it
  });
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.epmd_port = epmd.port();
  kit::LogCapture log;
  auto node = TryStart("middle@127.0.0.1", log, options).value();
  for (const std::string peer : {"aaa@127.0.0.1", "zzz@127.0.0.1"}) {
    CAPTURE(peer);
    std::atomic<int> sent{0};
    kit::Threads sending;
    sending.Start([&] {
      while (!sending.stopped()) {
        (void)node.Send(gen::ProcessID{"anybody", gen::Atom(peer)}, Line{});
        ++sent;
        std::this_thread::sleep_for(1ms);
      }
    });
    REQUIRE(kit::Eventually([&] { return sent > 20; }));
    for (int i = 0; i < 50; ++i) {
      Client client(static_cast<std::uint16_t>(options.listen_port));
      client.WritePacket(NameOfPeer(peer));
      CHECK(client.ReadPacket() == "sok");
    }
    Client client(static_cast<std::uint16_t>(options.listen_port));
    CHECK(client.ShakeHands(peer, "middle@127.0.0.1"));
    CHECK(kit::Eventually([&] { return Nodes(node).size() == 1; }));
    sending.StopAndJoin();
    client.Close();
    CHECK(kit::Eventually([&] { return Nodes(node).empty(); }));
  }
}

TEST_CASE("hostile peers: an EPMD that says nothing is told to all who wait for the other node") {
  FakeEpmd epmd([](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    return std::nullopt;
  });
  ErlangOptions options = ClusterOptions();
  options.epmd_port = epmd.port();
  options.handshake_timeout = 300ms;
  kit::LogCapture log;
  auto node = TryStart("waits_for_epmd@127.0.0.1", log, options).value();
  const gen::Atom other("y@127.0.0.1");
  std::atomic<int> told{0};
  const auto watching = node.Spawn([&](gen::Process& self) {
    self.SetTrapExit(true);
    self.Monitor(gen::ProcessID{"anybody", other}).value();
    (void)self.Link(gen::PID{5, other, 7});
    for (;;) {
      auto got = self.Receive<gen::MessageDownProcessID, gen::MessageExitPID>(20s);
      if (!got) return;
      const gen::Reason reason = std::visit([](const auto& notice) { return notice.reason; }, *got);
      if (reason == gen::Reason::NoConnection()) ++told;
      if (told == 2) return;
    }
  });
  REQUIRE(watching);
  const auto called = node.Call<int>(gen::ProcessID{"anybody", other}, Sum{}, {.timeout = 20s});
  CHECK(called.error() == gen::ErrNoConnection);
  CHECK(node.WaitProcess(*watching));
  CHECK(told == 2);
}

TEST_CASE("hostile peers: an EPMD that does not want the name any more is named, and asked again") {
  std::atomic<int> registrations{0};
  std::atomic<bool> refuses{false};
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (!FakeEpmd::IsRegistration(request)) return std::nullopt;
    ++registrations;
    return refuses ? FakeEpmd::Refused() : FakeEpmd::Registered();
  });
  ErlangOptions options = ClusterOptions();
  options.epmd_port = epmd.port();
  kit::LogCapture log;
  auto node = TryStart("unwanted@127.0.0.1", log, options).value();
  CHECK(registrations == 1);
  refuses = true;
  epmd.CloseConnections();
  CHECK(kit::Eventually([&] { return registrations >= 4; }));
  CHECK(log.Count("'unwanted' could not be registered at EPMD again, and the node keeps trying: "
                  "name is taken: EPMD refuses the name 'unwanted'") == 1);
  CHECK_FALSE(log.Contains("and the node keeps trying: no connection"));
  refuses = false;
  CHECK(kit::Eventually([&] { return log.Contains("'unwanted' is registered at EPMD again"); }));
}

TEST_CASE("hostile peers: without the cookie a name makes no atom, and the log has an end") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node =
      TryStart("quiet@127.0.0.1", log, options, {.log_level = gen::LogLevel::kDebug}).value();
  const auto port = static_cast<std::uint16_t>(options.listen_port);
  for (int i = 0; i < 100; ++i) {
    const std::string name = "nobodyknows" + std::to_string(i) + "@127.0.0.1";
    Client client(port);
    client.WritePacket(NameOfPeer(name));
    CHECK(client.ReadPacket() == "sok");
    (void)client.ReadPacket();
    client.WritePacket("r" + std::string(20, 'x'));
    CHECK(client.IsClosed());
    CHECK_FALSE(gen::Atom::Find(name));
  }
  CHECK(log.Count("was not let in") <= static_cast<std::size_t>(2 * gen::LogLimit::kLines));
  // One that is connected, and keeps what it has: each of these attempts is refused with other words.
  Client client(port);
  REQUIRE(client.ShakeHands("loud@127.0.0.1", "quiet@127.0.0.1"));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  for (int i = 0; i < 100; ++i) {
    Client again(port);
    again.WritePacket(NameOfPeer("loud@127.0.0.1"));
    CHECK(again.ReadPacket() == "salive");
    again.WritePacket("sfalse");
    CHECK(again.IsClosed());
  }
  CHECK(log.Count("keeps the connection that it has") >= 1);
  CHECK(log.Count("keeps the connection that it has") <=
        static_cast<std::size_t>(2 * gen::LogLimit::kLines));
}

}  // namespace ergon::dist
