// Callers that stop waiting, under many seeds: each is told whether its request was begun with, and
// what it was told stays true.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/serializer.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::request_claims_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Work {
  int number = 0;
};

// What became of each request, by its number.
struct Books {
  std::map<int, bool> begun;
  std::map<int, std::string> told;  // of those that have timed out

  void Note(int number, const gen::Error& error) {
    if (error == gen::ErrTimeout) told[number] = error.ToString();
  }
  // How many were told each.
  std::pair<int, int> Check() const {
    int were_begun = 0;
    int will_not_be = 0;
    for (const auto& [number, text] : told) {
      CAPTURE(number);
      CAPTURE(text);
      const bool says_begun = text.find("the request was being handled") != std::string::npos;
      const bool says_not = text.find("the request will not be handled") != std::string::npos;
      CHECK(says_begun != says_not);
      CHECK(says_begun == begun.contains(number));
      ++(says_begun ? were_begun : will_not_be);
    }
    return {were_begun, will_not_be};
  }
};

// Takes whole milliseconds, as callers wait for whole milliseconds.
class Worker : public act::Actor {
 public:
  Worker(Simulation* sim, Books* books) : sim_(sim), books_(books) {}

 private:
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    books_->begun[request.As<Work>()->number] = true;
    (void)Sleep(sim_->Random(1, 3) * 1ms);
    if (sim_->Chance(0.2)) {
      Stash(request);
      return gen::NoReply();
    }
    if (sim_->Chance(0.2)) return gen::NoReply();
    if (sim_->Chance(0.2)) (void)UnstashAll();
    return gen::Reply(1);
  }
  Simulation* sim_;
  Books* books_;
};

class Workers : public act::Pool {
 public:
  Workers(Simulation* sim, Books* books, act::PoolStrategy strategy)
      : sim_(sim), books_(books), strategy_(std::move(strategy)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2,
                            .worker_factory = gen::Factory<Worker>(sim_, books_),
                            .strategy = strategy_};
  }
  Simulation* sim_;
  Books* books_;
  act::PoolStrategy strategy_;
};

class Caller : public act::Actor {
 public:
  Caller(Simulation* sim, Books* books, int* next, gen::PID to)
      : sim_(sim), books_(books), next_(next), to_(to) {}

 private:
  gen::Status Init(const gen::Args&) override {
    Send(Self(), 0).value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    for (int i = 0; i < 10; ++i) {
      const int number = ++*next_;
      const gen::CallOptions options{.timeout = sim_->Random(1, 8) * 1ms};
      if (sim_->Chance(0.5)) {
        auto answer = Call<int>(to_, Work{number}, options);
        if (!answer) books_->Note(number, answer.error());
      } else if (auto ref = Request(to_, Work{number}, options)) {
        open_[*ref] = number;
      }
    }
    return gen::Continue();
  }
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
    if (!response.ok()) books_->Note(open_.at(ref), response.error());
    return gen::Continue();
  }
  Simulation* sim_;
  Books* books_;
  int* next_;
  gen::PID to_;
  std::map<gen::Ref, int> open_;
};

// Callers of all kinds ask what `spawn` returns. Those told that it was begun, and the others.
template <class Spawn>
std::pair<int, int> AskAll(Simulation& sim, Spawn spawn) {
  Books books;
  int next = 0;
  gen::Node& node = sim.Node("test@localhost");
  const gen::PID to = spawn(node, &books);
  for (int i = 0; i < 3; ++i) {
    CHECK(node.Spawn(gen::Factory<Caller>(&sim, &books, &next, to)));
  }
  std::vector<std::pair<int, Answer<int>>> answers;
  for (int i = 0; i < 20; ++i) {
    const int number = ++next;
    auto one = sim.CallMany<int>(to, 1, [&](int) { return Work{number}; },
                                 {.timeout = sim.Random(1, 30) * 1ms});
    answers.emplace_back(number, std::move(one.front()));
  }
  sim.RunUntilIdle();
  for (auto& [number, answer] : answers) {
    auto result = answer.get();
    if (!result) books.Note(number, result.error());
  }
  sim.ExpectConservation();
  return books.Check();
}

TEST_CASE("request claims: whoever waits in vain is told whether it was begun with") {
  int were_begun = 0;
  int will_not_be = 0;
  const auto add = [&](std::pair<int, int> told) {
    were_begun += told.first;
    will_not_be += told.second;
  };
  SUBCASE("by a process") {
    Simulation::ForSeeds(1, 100, [&](Simulation& sim) {
      add(AskAll(sim, [&](gen::Node& node, Books* books) {
        return node.Spawn(gen::Factory<Worker>(&sim, books)).value();
      }));
    });
  }
  SUBCASE("through pools of all kinds") {
    const std::vector<act::PoolStrategy> strategies = {
        act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::SharedQueue(),
        act::PoolStrategy::ByKey<Work>([](const Work& work) { return work.number % 5; })};
    Simulation::ForSeeds(1, 100, [&](Simulation& sim) {
      add(AskAll(sim, [&](gen::Node& node, Books* books) {
        const auto& strategy = strategies[sim.seed() % strategies.size()];
        return node.Spawn(gen::Factory<Workers>(&sim, books, strategy)).value();
      }));
    });
  }
  CHECK(were_begun > 0);
  CHECK(will_not_be > 0);
}

}  // namespace
}  // namespace ergon::testkit::request_claims_test
