// Nodes of C and Java that do not take all signals: they get what they take, and who asks for more is told.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/notices.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>
#include <cluster/fake_epmd.h>
#include <node/subject.h>

namespace ergon::dist::missing_flags_test {
namespace {

constexpr std::uint64_t kWithoutMonitors =
    kOwnFlags & ~(kFlagErgon | kFlagsOfMonitors | kFlagSendSender);
constexpr std::uint64_t kWithoutSpawns = kOwnFlags & ~(kFlagErgon | kFlagSpawn);

using Kinds = std::vector<SignalKind>;

// Of all that the node sends up to a message to that name.
Kinds KindsUpTo(ErlangPeer& peer, std::string_view name) {
  Kinds kinds;
  for (;;) {
    const Signal signal = peer.AwaitAny();
    if (signal.kind == SignalKind::kSendToName && signal.name == name) return kinds;
    kinds.push_back(signal.kind);
  }
}

bool HasAnyOf(const Kinds& kinds, const Kinds& wanted) {
  return std::ranges::find_first_of(kinds, wanted) != kinds.end();
}

// The error of a process that spawns another one at `node`. It waits for long.
std::future<gen::Error> SpawnErrorOf(node::Node& own, gen::Atom node) {
  return std::async(std::launch::async, [&own, node] {
    gen::Error error = gen::ErrTimeout;
    InProcess(own, [&](gen::Process& self) {
      const auto spawned = dist::Spawn(self, node, "timer", "sleep", {1}, {.call = node::kPatient});
      REQUIRE_FALSE(spawned);
      error = spawned.error();
    });
    return error;
  });
}

void CheckStartsNone(const gen::Error& error, std::string_view node) {
  CHECK(error == gen::ErrUnsupported);
  CHECK_MESSAGE(
      error.detail().find(std::string(node) + " starts no processes") != std::string_view::npos,
      error.ToString());
}

}  // namespace

TEST_CASE("missing flags: without those of monitors none are sent, and a lost connection is told") {
  const Kinds of_monitors = {SignalKind::kMonitor, SignalKind::kDemonitor, SignalKind::kDown};
  node::Notes<std::string> reasons;
  NodeForPeers t("without_monitors");
  const gen::Atom name("takes_no_monitors@127.0.0.1");
  ErlangPeer peer(t.node, name.ToString(), t.port(), kWithoutMonitors);
  auto call = t.node.CallAsync<Line>(gen::ProcessID{"server", name}, Line{1, ""}, node::kPatient);
  CHECK_FALSE(HasAnyOf(KindsUpTo(peer, "server"), of_monitors));

  const gen::PID watcher =
      t.node
          .Spawn(node::Make({.message =
                                 [&reasons](node::Subject&, gen::PID, gen::Message& message) {
                                   const auto* down = message.As<gen::MessageDownPID>();
                                   reasons.Add(down == nullptr ? std::string(message.TypeName())
                                                               : down->reason.ToString());
                                   return gen::Continue();
                                 }}))
          .value();
  const auto watch = [&](node::Subject& self) {
    CHECK(self.Monitor(peer.Pid(1)));
    CHECK(self.Demonitor(self.Monitor(peer.Pid(2)).value()));
    CHECK(self.Send(gen::ProcessID{"watched", name}, Line{2, ""}));
  };
  CHECK(t.node.Call<bool>(watcher, node::Do{watch}, node::kPatient));
  CHECK_FALSE(HasAnyOf(KindsUpTo(peer, "watched"), of_monitors));

  // It does not hear of an end either, whatever it sends.
  peer.Monitor(7, "nobody", 1).FlushAndWait();
  CHECK(t.node.Send(gen::ProcessID{"last", name}, Line{3, ""}));
  CHECK_FALSE(HasAnyOf(KindsUpTo(peer, "last"), of_monitors));

  CHECK(peer.IsConnected());
  CHECK(reasons.All().empty());
  peer.Close();
  CHECK(call.get().error() == gen::ErrNoConnection);
  CHECK(kit::Eventually([&] { return reasons.size() == 1; }));
  CHECK(reasons.All() == std::vector<std::string>{"noconnection"});
}

TEST_CASE("missing flags: a spawn at a node that starts no processes is refused at once") {
  NodeForPeers t("without_spawns");
  const gen::Atom name("starts_none@127.0.0.1");
  ErlangPeer peer(t.node, name.ToString(), t.port(), kWithoutSpawns);
  CheckStartsNone(SpawnErrorOf(t.node, name).get(), "starts_none@127.0.0.1");
  CHECK(t.node.Send(gen::ProcessID{"last", name}, Line{1, ""}));
  CHECK_FALSE(HasAnyOf(KindsUpTo(peer, "last"), {SignalKind::kSpawnRequest}));
  peer.Close();
}

TEST_CASE("missing flags: so is one that has waited for the connection") {
  // The node waits for an answer of EPMD when the peer connects.
  FakeEpmd epmd([](std::string_view request) -> std::optional<std::string> {
    if (!FakeEpmd::IsRegistration(request)) return std::nullopt;
    return FakeEpmd::Registered();
  });
  ErlangOptions network = ClusterOptions();
  network.epmd_port = epmd.port();
  network.listen_port = FreePort();
  network.handshake_timeout = 1h;
  kit::LogCapture log;
  node::Node node = TryStart("waits_to_spawn@127.0.0.1", log, network).value();
  const gen::Atom name("comes_and_starts_none@127.0.0.1");
  auto refused = SpawnErrorOf(node, name);
  REQUIRE(kit::Eventually([&] {
    const auto connections = InspectConnections(node);
    return connections.size() == 1 && connections[0].queued_bytes != 0;
  }));
  ErlangPeer peer(node, name.ToString(), static_cast<std::uint16_t>(network.listen_port),
                  kWithoutSpawns);
  CheckStartsNone(refused.get(), "comes_and_starts_none@127.0.0.1");
  CHECK(node.Send(gen::ProcessID{"last", name}, Line{1, ""}));
  CHECK_FALSE(HasAnyOf(KindsUpTo(peer, "last"), {SignalKind::kSpawnRequest}));
  peer.Close();
  node.Stop();
  kit::CheckBalance(node);
}

}  // namespace ergon::dist::missing_flags_test
