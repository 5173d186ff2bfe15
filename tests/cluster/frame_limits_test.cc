// What is larger than a frame may be: who is told of it, and that the connection stays.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <ergon/gen/event.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
const std::string kMuch(2 * kMostBytes, 'x');

ErlangOptions LimitedOptions() {
  ErlangOptions options = ClusterOptions();
  options.max_frame_bytes = kMostBytes;
  options.functions.Register("words", "much", [] { return kMuch; })
      .Register("words", "count",
                [](const std::string& text) { return static_cast<std::int64_t>(text.size()); });
  return options;
}

// Answers much, publishes it, and ends with it.
class Verbose : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent("much").value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* line = message.As<Line>()) {
      return line->number == 0 ? gen::Continue() : gen::Stop(gen::Reason::Error(kMuch));
    }
    return Actor::HandleMessage(from, message);
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* sum = request.As<Sum>();
    if (sum == nullptr) return Actor::HandleCall(from, ref, request);
    if (sum->numbers.empty()) return gen::Reply(kMuch);
    CHECK(SendEvent("much", token_, Line{sum->numbers.front(), kMuch}));
    return gen::Reply(std::int64_t{1});
  }
  gen::Ref token_;
};

bool IsTooLarge(const gen::Error& error) {
  return error == gen::ErrIncorrect &&
         error.ToString().find("max_frame_bytes") != std::string::npos;
}
bool TellsOfSize(const gen::Reason& reason) {
  return reason.ToString().find("max_frame_bytes") != std::string::npos;
}

}  // namespace

TEST_CASE("frame limits: what is sent or asked is an error to the one who does it") {
  Cluster cluster("limits", LimitedOptions());
  const gen::PID verbose = cluster.b.SpawnRegister("verbose", gen::Factory<Verbose>()).value();
  const auto to = cluster.OnB("verbose");
  const gen::Atom b = cluster.b.Name();
  InProcess(cluster.a, [&](gen::Process& self) {
    REQUIRE(self.Send(to, Line{0, "text"}));
    REQUIRE(self.Monitor(verbose));
    for (int i = 0; i < 3; ++i) {
      CHECK(IsTooLarge(self.Send(to, Line{0, kMuch}).error()));
      CHECK(IsTooLarge(self.Send(verbose, Line{0, kMuch}).error()));
      CHECK(IsTooLarge(self.Call<std::int64_t>(to, Line{0, kMuch}).error()));
      CHECK(IsTooLarge(self.SendExit(verbose, gen::Reason::Error(kMuch)).error()));
      CHECK(IsTooLarge(Spawn(self, b, "words", "count", {Term::Of(kMuch)}).error()));
      CHECK(IsTooLarge(Rpc(self, b, "words", "count", {Term::Of(kMuch)}).error()));
    }
    // What fits goes there as before.
    CHECK(Rpc(self, b, "words", "count", {Term::Of(std::string("text"))}).value() == Term::Of(4));
    CHECK(self.Receive<gen::MessageDownPID>(0ns).error() == gen::ErrTimeout);
  });
  CHECK(InspectConnections(cluster.a)[0].most_queued_bytes < kMostBytes);
}

TEST_CASE("frame limits: instead of an answer the caller gets an error, and the connection stays") {
  Cluster cluster("limited_answers", LimitedOptions());
  const gen::PID verbose = cluster.b.SpawnRegister("verbose", gen::Factory<Verbose>()).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    REQUIRE(self.Monitor(verbose));
    for (int i = 0; i < 3; ++i) {
      CHECK(IsTooLarge(self.Call<std::string>(verbose, Sum{}).error()));
      CHECK(IsTooLarge(Rpc(self, cluster.b.Name(), "words", "much", {}).error()));
    }
    CHECK(self.Receive<gen::MessageDownPID>(0ns).error() == gen::ErrTimeout);
  });
}

TEST_CASE("frame limits: an end is told, without its reason") {
  Cluster cluster("limited_ends", LimitedOptions());
  const gen::PID verbose = cluster.b.Spawn(gen::Factory<Verbose>()).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    REQUIRE(self.Monitor(verbose));
    REQUIRE(self.Link(verbose));
    REQUIRE(self.Send(verbose, Line{1, ""}));
    for (int i = 0; i < 2; ++i) {
      const auto told = self.Receive<gen::MessageDownPID, gen::MessageExitPID>(20s);
      REQUIRE(told);
      const auto* down = std::get_if<gen::MessageDownPID>(&*told);
      CHECK(TellsOfSize(down != nullptr ? down->reason
                                        : std::get<gen::MessageExitPID>(*told).reason));
    }
  });
  CHECK(Nodes(cluster.a) == std::vector{cluster.b.Name()});
}

TEST_CASE("frame limits: a value that is published ends the subscription, rather than a gap") {
  Cluster cluster("limited_events", LimitedOptions());
  const gen::PID verbose = cluster.b.Spawn(gen::Factory<Verbose>()).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    REQUIRE(self.MonitorEvent({"much", cluster.b.Name()}));
    CHECK(self.Call<std::int64_t>(verbose, Sum{{1}}).value() == 1);
    const auto told = self.Receive<gen::MessageDownEvent>(20s);
    REQUIRE(told);
    CHECK(TellsOfSize(told->reason));
  });
  CHECK(Nodes(cluster.a) == std::vector{cluster.b.Name()});
}

TEST_CASE("frame limits: monitors and links by the longest names fit into the least frame") {
  const std::uint16_t port = FreePort();
  ErlangOptions options = ClusterOptions();
  options.listen_port = port;
  options.max_frame_bytes = 4095;
  kit::LogCapture log;
  CHECK(TryStart("least@127.0.0.1", log, options).error().detail() ==
        "network: max_frame_bytes: 4095 is outside 4096..4294967295");
  options.max_frame_bytes = std::numeric_limits<std::size_t>::max();
  CHECK(TryStart("least@127.0.0.1", log, options).error().detail() ==
        "network: max_frame_bytes: 18446744073709551615 is outside 4096..4294967295");
  options.max_frame_bytes = 4096;
  auto node = TryStart("least@127.0.0.1", log, options).value();
  // The longest names: of Erlang 255 characters, of ours 255 bytes.
  std::string of_erlang;
  for (int i = 0; i < 255; ++i) of_erlang += "\xf0\x9f\x98\x80";
  const std::string of_ours(gen::Atom::kMaxBytes, 'x');
  const std::string host = "@127.0.0.1";
  ErlangPeer peer(node, std::string(gen::Atom::kMaxBytes - host.size(), 'p') + host, port,
                  kOwnFlags);
  peer.Monitor(1, of_erlang, 1).Flush();
  CHECK(peer.Await(SignalKind::kDown).name == of_erlang);
  InProcess(node, [&](gen::Process& self) {
    const gen::ProcessID there{of_ours, peer.Pid(1).node};
    CHECK(self.Monitor(there));
    CHECK(self.Link(there));
  });
  CHECK(peer.Await(SignalKind::kMonitor).name == of_ours);
  while (peer.Await(SignalKind::kSendToName).payload.find(of_ours) == std::string::npos) {
  }
  peer.FlushAndWait();
  CHECK(peer.IsConnected());
  node.Stop();
}

struct Grid {
  static constexpr const char* kTag = "grid";
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("cells", cells));
  }
  std::vector<std::vector<std::vector<int>>> cells;
};

TEST_CASE("frame limits: so is a value with containers in each other, where few are allowed") {
  gen::WireTypes types;
  types.Register<Grid>();
  const Values values(types, Values::kUsualNewAtoms, Absent::kUndefined, 3);
  std::string out;
  const auto deep = core::MakeEnvelope<Grid>(0, core::Lane::kMain, Grid{{{{1}}}});
  const auto refused = values.Append(out, *deep);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().ToString().find("deeper than 3 (max_term_depth)") != std::string::npos);
}

TEST_CASE("frame limits: a term that is too deep is an error to the one who sends it") {
  ErlangOptions options = ClusterOptions();
  options.max_term_depth = 50;
  Cluster cluster("depth", options);
  const gen::PID verbose = cluster.b.Spawn(gen::Factory<Verbose>()).value();
  const auto lists = [](int depth) {
    Term term = 1;
    for (; depth > 0; --depth) term = Term::List({term});
    return term;
  };
  InProcess(cluster.a, [&](gen::Process& self) {
    const gen::Ref monitor = self.Monitor(verbose).value();
    REQUIRE(self.Send(verbose, lists(50)));
    for (int i = 0; i < 3; ++i) {
      const auto refused = self.Send(verbose, lists(51));
      REQUIRE_FALSE(refused);
      CHECK(refused.error() == gen::ErrIncorrect);
      CHECK(refused.error().ToString().find("deeper than 50 (max_term_depth)") !=
            std::string::npos);
    }
    CHECK(self.Call<std::string>(verbose, Sum{}, {.timeout = kit::kDeadline})->size() ==
          kMuch.size());
    CHECK(self.Demonitor(monitor));  // the connection has been there all the time
  });
}

}  // namespace ergon::dist
