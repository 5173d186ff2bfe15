// Aliases of processes of another Ergon node as targets. Those of Erlang processes: cluster_test.escript.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ergon/node/delivery/foreign_aliases.h>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

// Makes an alias of itself in its Init; notes the lines that come, and adds up. `end`: ends; `delete`: deletes the
// alias.
class Aliased : public act::Actor {
 public:
  struct State {
    std::mutex mutex;
    gen::Alias alias;
    std::vector<int> numbers;
    gen::Alias Alias() {
      std::lock_guard lock(mutex);
      return alias;
    }
    std::vector<int> Numbers() {
      std::lock_guard lock(mutex);
      return numbers;
    }
  };
  explicit Aliased(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    std::lock_guard lock(state_->mutex);
    state_->alias = CreateAlias().value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    std::lock_guard lock(state_->mutex);
    state_->numbers.push_back(message.As<Line>()->number);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<Sum>()) return gen::Reply(std::int64_t{42});
    if (auto* word = request.As<gen::Atom>()) {
      if (word->Text() == "end") return gen::Stop(gen::Reason::Error("asked_to"));
      (void)DeleteAlias(state_->Alias());
      return gen::Reply(gen::Atom("ok"));
    }
    return Actor::HandleCall(from, ref, request);
  }
  const std::shared_ptr<State> state_;
};
using AliasState = Aliased::State;

}  // namespace

TEST_CASE("foreign aliases: each has a PID of its own, and is found again until many others came") {
  const node::ForeignAlias alias{gen::Atom("some@host"), 7, 5, {1, 2, 3, 4, 5}};
  const gen::PID pid = node::PidOfAlias(alias);
  CHECK(node::IsAlias(pid));
  CHECK(pid.node == alias.node);
  CHECK(node::PidOfAlias(alias) == pid);
  CHECK(node::ForeignAliasOf(pid) == alias);
  const gen::Alias short_form = node::AliasOf(alias);
  CHECK(node::PidOfAlias(short_form) == pid);
  CHECK(alias.ToString() == "#Ref<some@host.5.4.3.2.1>");
  // Three words of which the last one is 0 are the alias of an Ergon node, without the table.
  const node::ForeignAlias ergon{gen::Atom("some@host"), 7, 3, {11, 12, 0}};
  CHECK(node::AliasOf(ergon) == gen::Alias{std::uint64_t{12} << 32 | 11, ergon.node, 7});
  CHECK(node::ForeignAliasOf(node::PidOfAlias(node::AliasOf(ergon))) == ergon);
  for (std::uint32_t i = 0; i < node::kMostForeignAliases; ++i) {
    (void)node::PidOfAlias(node::ForeignAlias{alias.node, 8, 5, {i, 2, 3, 4, 5}});
  }
  CHECK_FALSE(node::ForeignAliasOf(pid));
  CHECK_FALSE(node::PidOfAlias(short_form));
  CHECK(node::ForeignAliasOf(node::PidOfAlias(alias)) == alias);
}

TEST_CASE(
    "aliases: a message to an alias of another node arrives, in order, in each way of sending") {
  Cluster cluster("alias_send");
  const auto state = std::make_shared<AliasState>();
  const gen::PID pid = cluster.b.Spawn(gen::Factory<Aliased>(state)).value();
  const gen::Alias alias = state->Alias();
  CHECK(cluster.a.Send(alias, Line{0, "from a thread"}));
  CHECK(cluster.a.SendImportant(alias, Line{1, "confirmed"}));
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.Send(alias, Line{2, "from a process"}));
    CHECK(self.SendWithPriority(alias, Line{3, "priorities end at the border"},
                                gen::MessagePriority::kMax));
    CHECK(self.SendImportant(alias, Line{4, "confirmed"}));
    CHECK(self.SendOrWait(alias, Line{5, "may wait"}, kit::kDeadline));
    CHECK(self.Send(pid, Line{6, "to the PID"}));
    self.SetImportantDelivery(true);
    CHECK(self.Send(alias, Line{7, "confirmed"}));
  });
  CHECK(cluster.a.SendAfter(alias, Line{8, "later"}, 1ms));
  REQUIRE(kit::Eventually([&] { return state->Numbers().size() == 9; }));
  CHECK(state->Numbers() == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(cluster.a.Call(alias, Sum{{1}}).value() == 42);
  InProcess(cluster.a,
            [&](gen::Process& self) { CHECK(self.Call(alias, Sum{{1}}).value() == 42); });
}

TEST_CASE("aliases: what goes to an alias that nobody has any more is counted, or told") {
  Cluster cluster("alias_gone");
  const auto state = std::make_shared<AliasState>();
  const gen::PID pid = cluster.b.Spawn(gen::Factory<Aliased>(state)).value();
  const gen::Alias alias = state->Alias();
  CHECK(cluster.a.Call<gen::Atom>(pid, gen::Atom("delete")));
  CHECK(cluster.a.Send(alias, Line{1, "to nobody"}));
  CHECK(kit::Eventually([&] { return cluster.b.MessageBalance().dropped_unknown == 1; }));
  CHECK(cluster.a.SendImportant(alias, Line{2, "to nobody"}).error() == gen::ErrProcessUnknown);
  CHECK(cluster.a.Call(alias, Sum{}).error() == gen::ErrProcessUnknown);
  gen::Alias former = alias;
  ++former.creation;
  CHECK(cluster.a.Send(former, Line{3, "to a former node"}).error() == gen::ErrProcessIncarnation);
  CHECK(cluster.a.Call(former, Sum{}).error() == gen::ErrProcessIncarnation);
  CHECK(cluster.a.SendImportant(former, Line{}).error() == gen::ErrProcessIncarnation);
  CHECK(state->Numbers().empty());
}

TEST_CASE("aliases: the end of who is called by an alias, and a lost connection, answer the call") {
  Cluster cluster("alias_end");
  const auto state = std::make_shared<AliasState>();
  (void)cluster.b.Spawn(gen::Factory<Aliased>(state)).value();
  const auto ended = cluster.a.Call<int>(state->Alias(), gen::Atom("end"));
  CHECK(ended.error() == gen::ErrProcessTerminated);
  std::atomic<bool> called{false};
  const auto silent = std::make_shared<AliasState>();
  const gen::PID owner = cluster.b
                             .Spawn([&](gen::Process& self) {
                               {
                                 std::lock_guard lock(silent->mutex);
                                 silent->alias = self.CreateAlias().value();
                               }
                               while (!called) self.Sleep(1ms);
                             })
                             .value();
  REQUIRE(kit::Eventually([&] { return silent->Alias().id != 0; }));
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.Call<int>(silent->Alias(), Sum{}, {.timeout = 10ms}).error() == gen::ErrTimeout);
  });
  std::thread cut([&] {
    // The request has come, behind that of the call before.
    CHECK(kit::Eventually([&] { return cluster.b.ProcessInfo(owner)->messages_queued == 2; }));
    Disconnect(cluster.a, cluster.b.Name());
  });
  CHECK(cluster.a.Call<int>(silent->Alias(), Sum{}, {.timeout = 1min}).error() ==
        gen::ErrNoConnection);
  cut.join();
  called = true;
}

TEST_CASE(
    "aliases: monitors and exit signals by an alias of another node are refused, with words") {
  Cluster cluster("alias_refused");
  const auto state = std::make_shared<AliasState>();
  (void)cluster.b.Spawn(gen::Factory<Aliased>(state)).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto monitored = self.Monitor(state->Alias());
    CHECK(monitored.error() == gen::ErrUnsupported);
    CHECK(monitored.error().ToString().find("monitor the PID") != std::string::npos);
    const auto ended = self.SendExit(state->Alias(), gen::Reason::Shutdown());
    CHECK(ended.error() == gen::ErrUnsupported);
    CHECK(ended.error().ToString().find("the alias #Ref<alias_refusedb@127.0.0.1") !=
          std::string::npos);
  });
  // Without a network there is no way.
  auto alone = node::Start("alone@localhost").value();
  CHECK(alone.Send(state->Alias(), 1).error() == gen::ErrNoConnection);
}

}  // namespace ergon::dist
