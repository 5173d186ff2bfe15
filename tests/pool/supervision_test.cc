// Pools under a supervisor.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/supervisor.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using act::SupervisorStrategy;
using kit::Answer;
using kit::Ask;
using kit::ChildOf;
using kit::Crash;
using kit::Eventually;
using kit::EventuallyNew;
using kit::Hold;
using kit::Job;

const gen::Atom kName = "pool";

// A supervisor with one pool, registered as "pool".
struct SupervisedPool : kit::NodeFixture {
  using Change = std::function<void(act::PoolOptions&)>;

  explicit SupervisedPool(int size, const Change& change = {},
                          SupervisorStrategy strategy = SupervisorStrategy::kPermanent,
                          int intensity = 5) {
    act::PoolOptions options = Options(size);
    if (change) change(options);
    const act::SupervisorSpec spec{
        .children = {{.name = kName,
                      .factory = gen::Factory<kit::ManagedPool>(pools),
                      .args = gen::MakeArgs(options)}},
        .restart = {.strategy = strategy, .intensity = intensity, .period_s = 1000}};
    supervisor = node.Spawn(kit::MakeSupervisor(spec)).value();
  }

  [[nodiscard]] kit::PoolHandle Pool() { return {node, ChildOf(node, supervisor, kName)}; }

  // The pool under its name has its full size and nothing queued, and works.
  void CheckFresh(int size) {
    kit::PoolHandle pool = Pool();
    CHECK(node.Resolve(kName).value() == pool.pid());
    auto stats = pool.Stats();
    CHECK(stats["pool_size"] == size);
    CHECK(stats["workers_ready"] == size);
    CHECK(stats["messages_queued"] == 0);
    CHECK(stats["messages_forwarded"] == 0);
    CHECK(node.Call<Answer>(kName, Ask{7}).value().value == 7);
  }

  gen::PID supervisor;
};

TEST_CASE("A pool that gives up is restarted by its supervisor; callers meanwhile get errors") {
  SupervisedPool fixture(2, [](act::PoolOptions& options) {
    options.max_restarts = 2;
    options.restart_period = 1000s;
  });
  const gen::PID before = fixture.Pool().pid();
  for (int i = 0; i < 3; ++i) {
    const auto answer = fixture.node.Call<Answer>(before, Ask{0, kit::CrashCall("crash loop")});
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == gen::ErrProcessTerminated);
  }
  const gen::PID now = EventuallyNew(fixture.node, fixture.supervisor, kName, before);
  REQUIRE(now);
  CHECK(fixture.node.Call<Answer>(before, Ask{1}).error() == gen::ErrProcessTerminated);
  fixture.CheckFresh(2);
}

TEST_CASE("A pool that keeps giving up ends its supervisor") {
  SupervisedPool fixture(
      1,
      [](act::PoolOptions& options) {
        options.max_restarts = 1;
        options.restart_period = 1000s;
      },
      SupervisorStrategy::kPermanent, 1);
  for (int pool = 0; pool < 2; ++pool) {
    const gen::PID before = fixture.Pool().pid();
    for (int i = 0; i < 2; ++i) fixture.node.Send(before, Job{0, Crash("crash loop")}).value();
    if (pool == 0) REQUIRE(EventuallyNew(fixture.node, fixture.supervisor, kName, before));
  }
  CHECK(fixture.EventuallyGone(fixture.supervisor));
  CHECK(Eventually([&] { return fixture.node.Info().processes == 0; }));
  CHECK(fixture.node.Call<Answer>(kName, Ask{1}).error() == gen::ErrProcessUnknown);
}

TEST_CASE("A restarted pool is full, empty and under its name; what waited is answered") {
  struct Row {
    SupervisorStrategy strategy;
    gen::Reason reason;
    bool again;
  };
  const Row rows[] = {
      {SupervisorStrategy::kPermanent, gen::Reason::Normal(), true},
      {SupervisorStrategy::kPermanent, gen::Reason::Error("bad"), true},
      {SupervisorStrategy::kTransient, gen::Reason::Error("bad"), true},
      {SupervisorStrategy::kTransient, gen::Reason::Normal(), false},
      {SupervisorStrategy::kTransient, gen::Reason::Shutdown(), false},
      {SupervisorStrategy::kTemporary, gen::Reason::Error("bad"), false},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.strategy));
    CAPTURE(row.reason.ToString());
    // What waits is not handled, but dropped and answered.
    SupervisedPool fixture(
        3, [](act::PoolOptions& options) { options.shutdown_timeout = 0s; }, row.strategy);
    kit::Gate gate(fixture.node);
    kit::PoolHandle pool = fixture.Pool();
    const gen::PID before = pool.pid();
    for (int i = 0; i < 3; ++i) fixture.node.Send(before, Job{i, Hold(gate)}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 3; }));
    std::vector<std::future<gen::Result<Answer>>> calls;
    for (int i = 0; i < 6; ++i) {
      calls.push_back(fixture.node.CallAsync<Answer>(kName, Ask{i}, {.timeout = gen::kInfinite}));
    }
    REQUIRE(fixture.node.SendWithPriority(before, kit::EndPool{row.reason},
                                          gen::MessagePriority::kHigh));
    for (auto& call : calls) CHECK(call.get().error() == gen::ErrProcessTerminated);
    gate.Open();
    if (row.again) {
      REQUIRE(EventuallyNew(fixture.node, fixture.supervisor, kName, before));
      fixture.CheckFresh(3);
    } else {
      CHECK(Eventually([&] {
        return kit::ChildrenOf(fixture.node, fixture.supervisor)[0].state ==
               act::SupervisorChildState::kEnded;
      }));
      CHECK(fixture.node.Send(kName, Job{1}).error() == gen::ErrProcessUnknown);
    }
  }
}

TEST_CASE("A killed pool is restarted, and the workers of the old one are gone") {
  SupervisedPool fixture(4);
  kit::PoolHandle pool = fixture.Pool();
  const auto workers = pool.Workers();
  REQUIRE(fixture.node.Kill(pool.pid()));
  REQUIRE(EventuallyNew(fixture.node, fixture.supervisor, kName, pool.pid()));
  for (const gen::PID worker : workers) CHECK(fixture.EventuallyGone(worker));
  fixture.CheckFresh(4);
}

// Named actors below supervisors, which are the workers of a pool: the names are free again when
// they are restarted, however often that is.
TEST_CASE("Supervised children with names are registered again after each crash") {
  kit::NodeFixture fixture;
  constexpr int kWorkers = 3;
  constexpr int kRounds = 50;
  // Workers of a pool differ only in what they make of the turn in which they start.
  auto started = std::make_shared<std::atomic<int>>(0);
  const gen::ProcessFactory worker(
      [started, script = fixture.workers]() -> std::unique_ptr<gen::ProcessBehavior> {
        const std::string name = "member" + std::to_string(started->fetch_add(1) % kWorkers);
        return std::make_unique<kit::SpecSupervisor>(act::SupervisorSpec{
            .children = {{.name = name, .factory = gen::Factory<kit::Worker>(script)}},
            .restart = {.intensity = kRounds * kWorkers, .period_s = 1000}});
      },
      nullptr);
  auto options = fixture.Options(kWorkers);
  options.worker_factory = worker;
  auto pool = fixture.StartPool(options);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWorkers; ++i) {
      const std::string name = "member" + std::to_string(i);
      gen::PID before;
      REQUIRE(Eventually([&] {
        before = fixture.node.Resolve(name).value_or(gen::PID());
        return static_cast<bool>(before);
      }));
      REQUIRE(fixture.node.Send(before, Job{0, Crash("again")}));
      REQUIRE(Eventually([&] {
        const gen::PID now = fixture.node.Resolve(name).value_or(gen::PID());
        return now && now != before;
      }));
      CHECK(Eventually([&] { return fixture.node.Call<Answer>(name, Ask{i}).has_value(); }));
    }
  }
  CHECK(started->load() == kWorkers);  // no supervisor gave up
  CHECK(pool.Stats()["worker_restarts"] == 0);
}

}  // namespace
}  // namespace ergon
