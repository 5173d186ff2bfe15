// Processes made of functions under many interleavings and ends: what was accepted is received, or accounted for.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include <ergon/gen/parallel.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::process_function_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Wanted {
  int number = 0;
};
struct Later {
  int number = 0;
};
struct Question {
  using Reply = int;
  int number = 0;
};
struct Enough {};

TEST_CASE("function: selective receive at every seed, with time-outs, requests and a bound") {
  Simulation::ForSeeds(1, 300, [](Simulation& sim) {
    gen::Node& node = sim.Node("functions@sim");
    constexpr int kMessages = 60;
    struct Seen {
      std::vector<int> wanted;
      std::vector<int> later;
      int answered = 0;
    };
    const auto seen = std::make_shared<Seen>();
    const int bound = static_cast<int>(sim.Random(0, 1)) * 20;
    const auto patience = sim.Random(1us, 50us);
    const auto pid = node.Spawn(
        [seen, patience](gen::Process& self) {
          for (;;) {
            auto next = self.Receive<Wanted, gen::Asked<Question>, Enough>(patience);
            if (!next && next.error() != gen::ErrTimeout) return;
            if (next && std::holds_alternative<Enough>(*next)) break;
            if (!next) {
              if (auto later = self.Receive<Later>(0ns)) seen->later.push_back(later->number);
            } else if (auto* wanted = std::get_if<Wanted>(&*next)) {
              seen->wanted.push_back(wanted->number);
            } else {
              auto& asked = std::get<gen::Asked<Question>>(*next);
              if (self.Reply(asked, asked.value.number)) ++seen->answered;
            }
          }
          while (auto later = self.Receive<Later>(0ns)) seen->later.push_back(later->number);
        },
        {.mailbox_size = bound});
    REQUIRE(pid);
    std::vector<int> sent_wanted;
    std::vector<int> sent_later;
    for (int i = 0; i < kMessages; ++i) {
      if (sim.Chance(0.5)) {
        if (node.Send(*pid, Wanted{i})) sent_wanted.push_back(i);
      } else {
        if (node.Send(*pid, Later{i})) sent_later.push_back(i);
      }
      if (sim.Chance(0.3)) sim.RunFor(sim.Random(0us, 100us));
    }
    auto answers = sim.CallMany<int>(*pid, 5, [](int i) { return Question{i}; });
    const bool is_killed = sim.Chance(0.2);
    if (is_killed) {
      sim.Kill(*pid, sim.Random(0us, 300us));
    } else {
      sim.RunFor(1ms);
      CHECK(node.SendWithPriority(*pid, Enough{}, gen::MessagePriority::kHigh));
    }
    sim.RunUntilIdle();
    sim.ExpectConservation();
    CHECK(node.Info().processes == 0);
    if (is_killed) return;
    CHECK(seen->wanted == sent_wanted);
    CHECK(seen->later == sent_later);
  });
}

TEST_CASE("task: tasks and their owner end at any moment, and nobody is left") {
  Simulation::ForSeeds(1, 300, [](Simulation& sim) {
    gen::Node& node = sim.Node("tasks@sim");
    const bool waits = sim.Chance(0.5);
    const auto time = sim.Random(1us, 100us);
    const auto patience = sim.Random(1us, 100us);
    const bool kills_child = sim.Chance(0.5);
    const auto owner = node.Spawn([waits, time, patience, kills_child](gen::Process& self) {
      self.SetTrapExit(true);
      auto one = self.Async([time](gen::Process& task) { return task.Sleep(time) ? 1 : 0; });
      auto two = self.Async([] { return 2; });
      if (!one || !two) return;
      if (waits) {
        auto first = one->Await(patience);
        CHECK((first || first.error() == gen::ErrTimeout ||
               first.error() == gen::ErrProcessTerminated));
      }
      auto many = gen::Parallel(self, std::vector<int>(20, 3),
                                [](gen::Process& task, int& number) {
                                  task.Yield();
                                  return number;
                                },
                                {.at_once = 4, .timeout = 1h});
      if (!many || self.Receive<Enough>(0ns).error() != gen::ErrTimeout) return;
      int lost = 0;
      for (const auto& outcome : *many) lost += outcome && *outcome == 3 ? 0 : 1;
      CHECK(lost <= (kills_child ? 1 : 0));
    });
    REQUIRE(owner);
    if (sim.Chance(0.5)) sim.Kill(*owner, sim.Random(0us, 200us));
    if (kills_child) sim.KillRandomChild(*owner, sim.Random(0us, 200us));
    sim.RunUntilIdle();
    sim.ExpectConservation();
    CHECK(node.Info().processes == 0);
  });
}

}  // namespace
}  // namespace ergon::testkit::process_function_test
