// What other nodes hear of names: who has one, and what types of messages are called.
#include <optional>
#include <string>
#include <vector>

#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

class Unwilling : public act::Actor {};

struct Ungiven {  // not registered
  static constexpr const char* kTag = "ungiven";
};
class Giver : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(Ungiven());
  }
};

class WaitsAtGate : public act::Actor {
 public:
  explicit WaitsAtGate(gen::PID gate) : gate_(gate) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  }
  const gen::PID gate_;
};

}  // namespace

TEST_CASE("names: where is the process that has one on another node") {
  Cluster cluster("where_is");
  const gen::PID pid = cluster.b.SpawnRegister("there", gen::Factory<Unwilling>()).value();
  CHECK(WhereIs(cluster.a, cluster.OnB("there")).value() == pid);
  CHECK(WhereIs(cluster.a, cluster.OnB("nobody")).error() == gen::ErrProcessUnknown);
  CHECK(WhereIs(cluster.a, {"there", "nowhere@127.0.0.1"}).error() == gen::ErrNoConnection);
  // Of the own node, by either way to say so.
  CHECK(WhereIs(cluster.b, cluster.OnB("there")).value() == pid);
  CHECK(WhereIs(cluster.b, {"there", {}}).value() == pid);
  CHECK(WhereIs(cluster.b, {"nobody", {}}).error() == gen::ErrProcessUnknown);
  InProcess(cluster.a,
            [&](gen::Process& self) { CHECK(WhereIs(self, cluster.OnB("there")).value() == pid); });
  // Whoever is not observable tells nothing else.
  CHECK(Rpc(cluster.a, cluster.b.Name(), "erlang", "registered", {}).error() ==
        gen::ErrUnsupported);
}

TEST_CASE("names: one that is not UTF-8 is refused for another node, and the connection stays") {
  Cluster cluster("not_utf8");
  const gen::PID watched = cluster.b.Spawn(gen::Factory<Unwilling>()).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    REQUIRE(self.Monitor(watched));
    REQUIRE(Ping(self, cluster.b.Name()));
    const gen::ProcessID name = cluster.OnB("caf\xe9");
    const auto is_refused = [](const auto& outcome) {
      return !outcome && outcome.error() == gen::ErrIncorrect &&
             outcome.error().detail().find("caf\\xe9") != std::string::npos;
    };
    CHECK(is_refused(self.Send(name, Line{})));
    CHECK(is_refused(self.SendImportant(name, Line{})));
    CHECK(is_refused(self.Call(name, Sum{})));
    CHECK(is_refused(self.Monitor(name)));
    CHECK(is_refused(self.Link(name)));
    CHECK(is_refused(WhereIs(self, name)));
    CHECK(Ping(self, cluster.b.Name()));
    CHECK(self.Receive<gen::MessageDownPID>(0ns).error() == gen::ErrTimeout);
    // Other characters than ASCII are as good as any.
    CHECK(self.Call(cluster.OnB("caf\xc3\xa9"), Sum{}).error() == gen::ErrProcessUnknown);
  });
  // On its own node a name is any text.
  CHECK(cluster.b.SpawnRegister("caf\xe9", gen::Factory<Unwilling>()));
  CHECK(cluster.b.Send(cluster.OnB("caf\xe9"), Line{}));
}

TEST_CASE("tags: a type that has one is called so in answers, figures and the log") {
  Cluster cluster("tags");
  kit::Gate gate(cluster.b);
  cluster.b.SpawnRegister("unwilling", gen::Factory<Unwilling>()).value();
  const gen::PID waits = cluster.b.Spawn(gen::Factory<WaitsAtGate>(gate.pid())).value();
  const auto refused = cluster.a.Call(cluster.OnB("unwilling"), Sum{{1, 2}});
  CHECK(refused.error() == gen::ErrUnsupported);
  CHECK(refused.error().detail() == "request sum");
  REQUIRE(cluster.a.Send(waits, Line{1, "a"}));
  CHECK(kit::Eventually([&] { return cluster.b.ProcessInfo(waits).value().handles == "line"; }));
  gate.Open();
  CHECK(cluster.b.Call<std::string>(cluster.OnB("unwilling"), Sum{}).error().detail() ==
        "request sum");
  // The log, too: it has the line when the caller has its answer already.
  CHECK(kit::Eventually([&] { return cluster.log_b.Contains("unhandled request sum from"); }));
}

TEST_CASE("tags: an answer whose type is not registered is called so, too") {
  Cluster cluster("ungiven");
  cluster.b.SpawnRegister("giver", gen::Factory<Giver>()).value();
  const auto refused = cluster.a.Call(cluster.OnB("giver"), Sum{}, {.timeout = kit::kDeadline});
  CHECK(refused.error() == gen::ErrUnsupported);
  const std::string why(refused.error().detail());
  CHECK(why.starts_with("ungiven is not registered, so other nodes do not know it: "));
  CHECK(why.ends_with("::Ungiven>() before the node starts"));
}

TEST_CASE("results of functions: what has no value is what the node says") {
  ErlangOptions options = ClusterOptions();
  options.absent = Absent::kNil;
  options.functions.Register("find", "nothing", []() -> std::optional<int> { return {}; });
  options.functions.Register("find", "something", [](gen::Process&, int n) {
    return gen::Result<std::vector<std::optional<int>>>({std::nullopt, n});
  });
  Cluster cluster("absent", options);
  CHECK(Rpc(cluster.a, cluster.b.Name(), "find", "nothing", {})->ToString() == "nil");
  CHECK(Rpc(cluster.a, cluster.b.Name(), "find", "something", {7})->ToString() == "[nil,7]");
}

}  // namespace ergon::dist
