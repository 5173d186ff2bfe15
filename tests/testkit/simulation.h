// A whole node in one thread, in virtual time, with an order of events that a seed chooses.
//
// The runtime is the real one. The seed decides what a machine decides by chance: which ready process runs next and for
// how many messages, how long a turn takes, when timers fire, and the faults that the test asks for. The same seed
// gives the same run. Time passes only when no process is ready, and a little with each turn; waiting costs nothing.
//
//   testkit::Simulation::ForSeeds(1, 1000, [](testkit::Simulation& sim) {
//     auto& node = sim.Node("test@localhost");
//     ...
//     sim.RunUntilIdle();
//     CHECK(...);
//   });
//
// A node's blocking functions (Call, Spawn, Stop, ...) let the simulation run until they have their result. Everything
// happens on the thread that made the simulation: another thread that touches one of its nodes, and a wait that could
// never end, abort the program with a message. Detached processes share that thread. There is no I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/network.h>
#include <ergon/gen/node.h>
#include <ergon/gen/node_options.h>
#include <ergon/testkit/answer.h>
#include <ergon/testkit/faults.h>
#include <ergon/testkit/random.h>
#include <ergon/testkit/seeds.h>

namespace ergon::testkit {

struct SimulationOptions {
  // How much time a turn takes at most.
  std::chrono::nanoseconds turn_time_most = std::chrono::microseconds(20);
  // How many messages a turn handles at most, 1..4096.
  int throughput_most = 32;
  // The most turns of one RunUntilIdle or the like, and the most steps in a row without one, as those of timers whose
  // messages nobody takes; more than 0. Beyond them something never comes to rest, and the program aborts. A RunFor of
  // a finite time takes as many steps without a turn as it has. The node's functions that wait, as Call, take 10
  // million steps: turns, jumps of time and planned actions.
  std::uint64_t turns_most = 10'000'000;
  // For tests of Ergon itself: how its nodes reach each other. It cannot be dist::Erlang, which needs threads of its
  // own. Null: not at all.
  std::shared_ptr<const gen::Network> network = nullptr;
};

// Only for the thread that made the simulation.
class Simulation {
 public:
  // Throws std::invalid_argument, naming field and value, if an option is out of range.
  explicit Simulation(std::uint64_t seed, const SimulationOptions& options = {});
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  // Stops the nodes: processes that live still may use what they refer to, so that has to be made before the
  // simulation, or be shared with them.
  ~Simulation();

  // Runs `test(simulation)` with a simulation of its own for each seed of first..last, or for those
  // that ERGON_SEED or ERGON_SEED_COUNT ask for (see SeedsToRun). A failed assertion of doctest or
  // GoogleTest, an exception or a crash says with which seed, and how to run it again. With
  // doctest or GoogleTest, include their header before this one. The simulation ends after `test` has returned: a
  // variable of `test` that processes refer to is gone by then, so let them share it, or stop the node at the end.
  template <class Test>
  static void ForSeeds(std::uint64_t first, std::uint64_t last, Test&& test,
                       const SimulationOptions& options = {}) {
    for (const std::uint64_t seed : SeedsToRun(first, last)) {
      const SeedNotice notice(seed);
#if defined(DOCTEST_INFO)
      DOCTEST_INFO("simulation: seed ", seed, "; run it again with ERGON_SEED=", seed);
#elif defined(SCOPED_TRACE)
      SCOPED_TRACE("simulation: seed " + std::to_string(seed) +
                   "; run it again with ERGON_SEED=" + std::to_string(seed));
#endif
      try {
        Simulation simulation(seed, options);
        test(simulation);
        simulation.ThrowWhatWasThrown();
      } catch (...) {
        SeedNotice::Print(seed);
        throw;
      }
    }
  }

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  // Returns the node with this name, name@host, and starts it on the first use, with these options, but for those that
  // are the simulation's own: clock, dispatcher, timers, defer, creation, network and log_sink, and what is for threads
  // that take turns: workers, policy, throughput, turn_time, turn_limit, search_time and stealing. Throws an exception
  // that says what is wrong with the name or the options.
  gen::Node& Node(std::string_view name, gen::NodeOptions options = {});

  // -- chance --

  // Returns a random time from `least` to `most`, both included.
  [[nodiscard]] std::chrono::nanoseconds Random(std::chrono::nanoseconds least,
                                                std::chrono::nanoseconds most);
  [[nodiscard]] std::int64_t Random(std::int64_t least, std::int64_t most);
  [[nodiscard]] bool Chance(double probability) { return random_.Chance(probability); }

  // -- running --

  // Runs until no process is ready, no timer is armed and nothing is planned for a time. What is planned for a number
  // of turns that did not come stays planned.
  void RunUntilIdle();
  // Lets `time` pass; what is due exactly at its end comes afterwards. gen::kInfinite: runs until nothing is left that
  // could happen.
  void RunFor(std::chrono::nanoseconds time);
  // Runs until the condition holds. Returns false if the condition does not hold and nothing is left that could happen.
  [[nodiscard]] bool RunUntil(const std::function<bool()>& condition);
  // Runs one turn, or lets time pass until a process is ready. Returns false if nothing is left.
  bool Step();

  // Returns the virtual time since the start.
  [[nodiscard]] std::chrono::nanoseconds Now() const;
  [[nodiscard]] std::uint64_t Turns() const noexcept { return turns_; }

  // -- plans --

  // Calls `action` between two turns, when `time` has passed, or after `turns` turns from now. What it throws while a
  // function of a node waits, as Call, is thrown by the next function that runs the simulation, or by ForSeeds; the
  // destructor only prints it.
  void After(std::chrono::nanoseconds time, std::function<void()> action);
  void AfterTurns(std::uint64_t turns, std::function<void()> action);

  void Kill(gen::PID pid, std::chrono::nanoseconds after);
  // Kills one of the processes that are children of and linked to `parent` at that time, if there is any.
  void KillRandomChild(gen::PID parent, std::chrono::nanoseconds after);
  void StopNode(std::string_view name, std::chrono::nanoseconds after);

  // -- faults --

  // Returns a factory of processes of `factory` that fail now and then; throws as MakeFaulty.
  [[nodiscard]] gen::ProcessFactory WithFaults(gen::ProcessFactory factory, const Faults& faults) {
    return MakeFaulty(std::move(factory), faults, random_, counts_);
  }
  // Returns how often each fault has happened so far.
  [[nodiscard]] const FaultCounts& faults() const noexcept { return counts_; }

  // -- calls --

  // Makes a call from outside of the node, and does not wait. R may be left out as of gen::Messenger::Call.
  template <class R = gen::NamedByRequest, class T>
  [[nodiscard]] Answer<gen::AnswerOf<T, R>> CallLater(gen::PID pid, T&& request,
                                                      const gen::CallOptions& options = {}) {
    using Type = gen::AnswerOf<T, R>;
    return Answer<Type>(NodeOf(pid).CallAsync<Type>(pid, std::forward<T>(request), options));
  }
  // Makes `count` such calls at once, with the requests make(0), make(1), ...
  template <class R = gen::NamedByRequest, class Make>
  [[nodiscard]] auto CallMany(gen::PID pid, int count, Make&& make,
                              const gen::CallOptions& options = {}) {
    std::vector<Answer<gen::AnswerOf<std::invoke_result_t<Make&, int>, R>>> answers;
    answers.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) answers.push_back(CallLater<R>(pid, make(i), options));
    return answers;
  }

  // Throws ExpectationFailed unless all nodes can account for every message; see conservation.h.
  void ExpectConservation() const;

  // -- looking back --

  // Returns a hash of all turns so far: which process ran, when, and how the turn ended. Equal for equal runs.
  [[nodiscard]] std::uint64_t TraceHash() const;
  // Returns the nodes' log lines so far, the last 10,000 of them.
  [[nodiscard]] const std::deque<std::string>& Log() const noexcept { return log_; }

 private:
  struct SimulatedNode;

  bool StepUntil(std::int64_t until);
  bool StepInside(std::int64_t until) noexcept;
  void ThrowWhatWasThrown();
  bool RunPlanned();
  void RunTurn(std::size_t ready);
  [[nodiscard]] std::int64_t NextTime() const;
  void CheckTurns(std::uint64_t since, const char* function) const;
  void CheckEndless(const char* function) const;
  gen::Node& NodeOf(gen::PID pid);
  void KillChild(gen::PID parent);

  const std::uint64_t seed_;
  const SimulationOptions options_;
  testkit::Random random_;
  FaultCounts counts_;
  const std::shared_ptr<core::ManualClock> clock_;
  std::deque<std::string> log_;
  std::uint64_t turns_ = 0;
  std::uint64_t steps_without_turn_ = 0;  // in a row
  std::multimap<std::int64_t, std::function<void()>> by_time_;
  std::multimap<std::uint64_t, std::function<void()>> by_turns_;
  std::deque<std::function<void()>> deferred_;
  std::exception_ptr thrown_;  // by an action, while a function of a node waited
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace ergon::testkit
