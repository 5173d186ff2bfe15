// act::Supervisor under many interleavings and faults.
#include <doctest/doctest.h>

#include <algorithm>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>
#include <ergon/testkit/conservation.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::supervisor_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using act::SupervisorChildState;
using act::SupervisorType;

struct Job {
  int number = 0;
};

class Worker : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override { return gen::Continue(); }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (request.As<Job>()->number % 3 == 0) (void)Sleep(1ms);
    return gen::Reply(request.As<Job>()->number);
  }
};

class Pool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    return act::PoolOptions{.pool_size = 3,
                            .worker_factory = args.Get<gen::ProcessFactory>(0).value(),
                            .restart_backoff_min = 1ms,
                            .restart_backoff_max = 5ms,
                            .max_restarts = 3};
  }
};

// What the children of a supervisor were told, in order: the user's view of them.
struct Seen {
  std::vector<gen::PID> alive;
  int starts = 0;
  gen::Reason end;
};

class Root : public act::Supervisor {
 public:
  Root(act::SupervisorSpec spec, Seen* seen) : spec_(std::move(spec)), seen_(seen) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override { return spec_; }
  gen::Status HandleChildStart(gen::Atom, gen::PID pid) override {
    ++seen_->starts;
    CHECK(std::ranges::find(seen_->alive, pid) == seen_->alive.end());
    seen_->alive.push_back(pid);
    return gen::Continue();
  }
  gen::Status HandleChildTerminate(gen::Atom, gen::PID pid, const gen::Reason&) override {
    CHECK(std::erase(seen_->alive, pid) == 1);
    return gen::Continue();
  }
  void Terminate(const gen::Reason& reason) override { seen_->end = reason; }

  const act::SupervisorSpec spec_;
  Seen* seen_;
};

const char* const kNames[] = {"first", "pool", "last"};

// An actor, a pool and another actor, which fail at times.
act::SupervisorSpec MakeSpec(Simulation& sim, int intensity) {
  const Faults faults{.throw_before = 0.02, .throw_after = 0.02, .kill = 0.02, .slow = 0.1};
  auto worker = sim.WithFaults(gen::Factory<Worker>(), faults);
  // The first children start; later ones fail at times.
  auto calls = std::make_shared<int>(0);
  auto fails = sim.WithFaults(worker, {.factory_failure = 0.1, .init_failure = 0.1});
  const gen::ProcessFactory actor(
      [calls, worker, fails] { return ++*calls <= 2 ? worker.Make() : fails.Make(); },
      worker.type());
  return {.type = static_cast<SupervisorType>(sim.Random(0, 2)),
          .children = {{.name = kNames[0], .factory = actor},
                       {.name = kNames[1],
                        .factory = gen::Factory<Pool>(),
                        .args = gen::MakeArgs(worker)},
                       {.name = kNames[2], .factory = actor, .shutdown_timeout = 0s}},
          .restart = {.intensity = intensity, .period_s = 1, .keep_order = sim.Chance(0.5)}};
}

std::vector<Answer<int>> CallAndKill(Simulation& sim, gen::Node& node, gen::PID supervisor) {
  std::vector<Answer<int>> answers;
  answers.reserve(100);
  for (int i = 0; i < 100; ++i) {
    sim.After(sim.Random(0us, 10ms), [&answers, &node, i] {
      answers.emplace_back(node.CallAsync<int>(kNames[i % 3], Job{i}));
    });
  }
  for (std::int64_t i = sim.Random(1, 6); i > 0; --i) {
    sim.KillRandomChild(supervisor, sim.Random(0us, 10ms));
  }
  sim.RunUntilIdle();
  return answers;
}

void CheckAnswers(std::vector<Answer<int>>& answers) {
  REQUIRE(answers.size() == 100);
  for (auto& answer : answers) {
    REQUIRE(answer.ready());
    if (answer.get()) continue;
    // Its process ended, or the name was nobody's just then.
    const gen::Error& error = answer.get().error();
    CHECK((error == gen::ErrProcessTerminated || error == gen::ErrProcessUnknown));
  }
}

TEST_CASE("supervisor simulation: all run again, or it has given up and nothing is left") {
  int gave_up = 0;
  int survived = 0;
  Simulation::ForSeeds(1, 400, [&](Simulation& sim) {
    Seen seen;
    auto& node = sim.Node("test@localhost");
    const int intensity = static_cast<int>(sim.Random(0, 20));
    const gen::PID supervisor =
        node.Spawn(gen::Factory<Root>(MakeSpec(sim, intensity), &seen)).value();
    std::vector<Answer<int>> answers = CallAndKill(sim, node, supervisor);
    CheckAnswers(answers);
    ExpectConservation(node);
    if (!node.ProcessInfo(supervisor)) {
      ++gave_up;
      CHECK(seen.end.ToString().starts_with("restart intensity exceeded"));
      CHECK(seen.alive.empty());
      CHECK(node.Info().processes == 0);
      CHECK(node.Info().timers == 0);
      CHECK(node.Info().names == 0);
      return;
    }
    ++survived;
    auto children =
        node.Call<std::vector<act::SupervisorChild>>(supervisor, act::ChildrenRequest{}).value();
    REQUIRE(children.size() == 3);
    for (const auto& child : children) {
      CHECK(child.state == SupervisorChildState::kRunning);
      CHECK(node.Resolve(child.name).value() == child.pid);
      CHECK(std::ranges::find(seen.alive, child.pid) != seen.alive.end());
    }
    CHECK(seen.alive.size() == 3);
    const auto pool = node.Inspect(kNames[1]).value();
    CHECK(pool.at("workers_ready") == pool.at("pool_size"));
    CHECK(pool.at("messages_queued") == "0");
    sim.StopNode("test@localhost", 0us);
    sim.RunUntilIdle();
    CHECK(seen.alive.empty());
  });
  if (gave_up + survived == 400) {  // not with ERGON_SEED
    CHECK(gave_up > 20);
    CHECK(survived > 20);
  }
}

TEST_CASE("supervisor simulation: its end at any moment leaves nobody and nobody waiting") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) {
    Seen seen;
    auto& node = sim.Node("test@localhost");
    const gen::PID supervisor = node.Spawn(gen::Factory<Root>(MakeSpec(sim, 1000), &seen)).value();
    const bool in_order = sim.Chance(0.7);
    if (in_order) {
      sim.After(sim.Random(0us, 12ms),
                [&node, supervisor] { (void)node.SendExit(supervisor, gen::Reason::Shutdown()); });
    } else {
      sim.Kill(supervisor, sim.Random(0us, 12ms));
    }
    std::vector<Answer<int>> answers = CallAndKill(sim, node, supervisor);
    CheckAnswers(answers);
    ExpectConservation(node);
    if (in_order) {
      CHECK(seen.alive.empty());
      CHECK(seen.end == gen::Reason::Shutdown());
    }
    CHECK(node.Info().processes == 0);
    CHECK(node.Info().timers == 0);
    CHECK(node.Info().names == 0);
  });
}

}  // namespace
}  // namespace ergon::testkit::supervisor_test
