// Random graphs of calls under many seeds: everything comes to an end without a time-out, and each
// deadlock that a process is told of is one to a model that knows what every handler does.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/testkit/conservation.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::wait_graph_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Call the first of the path with the rest of it, and so on.
struct Walk {
  int number = 0;  // of the call
  std::vector<gen::PID> path;
};
// An answer that somebody else gives, later.
struct Late {
  gen::PID from;
  gen::Ref ref;
};

// Every call as the test sees it.
class Model {
 public:
  explicit Model(Simulation& sim_in, gen::Node& node_in) : sim(&sim_in), node(&node_in) {}

  int Add(gen::PID from, gen::PID to) {
    calls_[++last_] = {from, to, Stage::kQueued};
    if (from) waits_[from] = last_;
    return last_;
  }
  void Begun(int number, gen::PID by) {
    calls_.at(number) = {calls_.at(number).from, by, Stage::kBegun};
  }
  void LeftOpen(int number) { calls_.at(number).stage = Stage::kLeftOpen; }
  // `from` goes on.
  void Ended(gen::PID from, int number) {
    if (from) waits_.erase(from);
    calls_.erase(number);
  }
  // Whether the call waits for one who waits ... for its own caller, each for certain.
  [[nodiscard]] bool IsDeadlock(int number) const {
    const gen::PID caller = calls_.at(number).from;
    for (std::size_t steps = 0; steps <= waits_.size(); ++steps) {
      const Call& call = calls_.at(number);
      if (call.stage == Stage::kLeftOpen) return false;
      const gen::PID receiver = call.stage == Stage::kBegun ? call.to : Worker(call);
      if (receiver == caller) return true;
      const auto next = waits_.find(receiver);
      if (next == waits_.end()) return false;
      number = next->second;
    }
    return false;
  }

  Simulation* sim;
  gen::Node* node;
  gen::PID pool;
  gen::PID helper;
  bool crashes = false;  // workers are killed
  int deadlocks = 0;
  int late = 0;

 private:
  enum class Stage : std::uint8_t { kQueued, kBegun, kLeftOpen };
  struct Call {
    gen::PID from;
    gen::PID to;
    Stage stage = Stage::kQueued;
  };

  // Which worker got a request is the pool's affair; the node tells.
  [[nodiscard]] gen::PID Worker(const Call& call) const {
    if (call.to != pool) return call.to;
    for (const gen::WaitEdge& edge : node->WaitForGraph()) {
      if (edge.from == call.from) return edge.to;
    }
    return workers_.at(call.from);
  }

 public:
  // The victim's edge is gone when it goes on; its own request was the last.
  void NoteWorker(gen::PID from, gen::PID worker) { workers_[from] = worker; }

 private:
  std::map<int, Call> calls_;
  std::map<gen::PID, int> waits_;
  std::map<gen::PID, gen::PID> workers_;
  int last_ = 0;
};

class Walker : public act::Actor {
 public:
  explicit Walker(Model* model) : model_(model) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    auto walk = message.Take<Walk>();
    (void)Go(std::move(walk.path));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    auto walk = request.Take<Walk>();
    model_->Begun(walk.number, Self());
    if (model_->sim->Chance(0.3)) (void)Sleep(model_->sim->Random(0us, 200us));
    const auto value = Go(std::move(walk.path));
    if (model_->sim->Chance(0.2)) {
      ++model_->late;
      model_->LeftOpen(walk.number);
      CHECK(SendAfter(model_->helper, Late{from, ref}, model_->sim->Random(0us, 500us)));
      return gen::NoReply();
    }
    if (!value && model_->sim->Chance(0.5)) return gen::ReplyError(value.error());
    return gen::Reply(1);
  }
  gen::Result<int> Go(std::vector<gen::PID> path) {
    if (path.empty()) return 1;
    const gen::PID next = path.front();
    path.erase(path.begin());
    const int number = model_->Add(Self(), next);
    auto answer = Call<int>(next, Walk{number, path}, {.timeout = gen::kInfinite});
    if (!answer) {
      const bool crashed = model_->crashes && answer.error() == gen::ErrProcessTerminated;
      CHECK((answer.error() == gen::ErrDeadlock || crashed));
      if (crashed)
        return answer;  // if this process is being ended, its request is handled all the same
      // Its own, and not that of one further on?
      if (answer.error().detail().starts_with(Self().ToString() + " ")) {
        ++model_->deadlocks;
        if (next == model_->pool) NoteWorker(answer.error());
        // It does not hear of calls that end with their process.
        if (next != Self() && !model_->crashes)
          CHECK_MESSAGE(model_->IsDeadlock(number), answer.error().ToString());
      }
    }
    model_->Ended(Self(), number);
    return answer;
  }
  // "<self> waits for <worker> (...": who got the request.
  void NoteWorker(const gen::Error& error) {
    for (const gen::PID pid : Node().ProcessList()) {
      const std::string text = Self().ToString() + " waits for " + pid.ToString() + " ";
      if (error.detail().starts_with(text)) model_->NoteWorker(Self(), pid);
    }
  }

  Model* model_;
};

class Helper : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const auto late = message.Take<Late>();
    (void)SendResponse(late.from, late.ref, 1);
    return gen::Continue();
  }
};

class Walkers : public act::Pool {
 public:
  explicit Walkers(Model* model) : model_(model) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2,
                            .worker_factory = gen::Factory<Walker>(model_),
                            .strategy = Strategy(*model_->sim),
                            .restart_backoff_min = 100us,
                            .restart_backoff_max = 200us};
  }
  // Not those in which a request waits for whichever worker is free first.
  static act::PoolStrategy Strategy(Simulation& sim) {
    return sim.Chance(0.5) ? act::PoolStrategy::LeastLoaded() : act::PoolStrategy::Rotation();
  }
  Model* model_;
};

TEST_CASE("wait graph simulation: every deadlock is told to one of its processes, and no other") {
  int deadlocks = 0;
  int late = 0;
  Simulation::ForSeeds(1, 400, [&](Simulation& sim) {
    auto& node = sim.Node("test@localhost");
    Model model(sim, node);
    model.helper = node.Spawn(gen::Factory<Helper>()).value();
    std::vector<gen::PID> all;
    const std::int64_t size = sim.Random(2, 6);
    for (std::int64_t i = 0; i < size; ++i) {
      all.push_back(node.Spawn(gen::Factory<Walker>(&model)).value());
    }
    if (sim.Chance(0.5)) {
      model.pool = node.Spawn(gen::Factory<Walkers>(&model)).value();
      all.push_back(model.pool);
      model.crashes = sim.Chance(0.5);
      for (int i = 0; model.crashes && i < 6; ++i) {
        sim.KillRandomChild(model.pool, sim.Random(0us, 2ms));
      }
    }
    const auto any = [&] {
      return all[static_cast<std::size_t>(
          sim.Random(0, static_cast<std::int64_t>(all.size()) - 1))];
    };
    std::vector<Answer<int>> answers;
    for (int i = 0; i < 40; ++i) {
      std::vector<gen::PID> path;
      for (std::int64_t k = sim.Random(0, 4); k > 0; --k) path.push_back(any());
      sim.After(sim.Random(0us, 2ms), [&, path, to = any()] {
        if (sim.Chance(0.3)) {
          const auto sent = node.Send(to, Walk{0, path});
          CHECK_MESSAGE(sent, sent.error().ToString());
          return;
        }
        const int number = model.Add(gen::PID(), to);
        answers.emplace_back(
            node.CallAsync<int>(to, Walk{number, path}, {.timeout = gen::kInfinite}));
      });
    }
    sim.RunUntilIdle();
    CHECK(node.WaitForGraph().empty());
    for (auto& answer : answers) {
      REQUIRE(answer.ready());
      if (answer.get()) continue;
      const bool crashed = model.crashes && answer.get().error() == gen::ErrProcessTerminated;
      CHECK((answer.get().error() == gen::ErrDeadlock || crashed));
    }
    ExpectConservation(node);
    deadlocks += model.deadlocks;
    late += model.late;
  });
  MESSAGE(deadlocks, " deadlocks, ", late, " late answers");
  CHECK((deadlocks > 0 || late == 0));
}

}  // namespace
}  // namespace ergon::testkit::wait_graph_test
