// act::StateMachine under many seeds: what it handles, and when, against a model that is one list.
#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <ergon/act/state_machine.h>
#include <ergon/testkit/conservation.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::state_machine_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

enum class Phase : std::uint8_t { kOne, kTwo, kThree };

constexpr int kRaised = 10'000;   // events are numbers: messages from 0, raised ones from here,
constexpr int kTimeout = 20'000;  // time-outs from here
const char* const kTimeouts[] = {"state", "event", "a", "b"};

// What the machine must do, in its plainest form.
struct Model {
  // An event is being handled.
  void Sees(int event, const std::string& timeout) {
    ++handled;
    if (!waiting.empty()) {
      CHECK(waiting.front() == event);  // nothing comes before the machine's own
      waiting.pop_front();
    } else if (event >= kTimeout) {
      const auto found = active.find(timeout);
      REQUIRE(found != active.end());  // not cancelled
      CHECK(found->second == event);   // nor replaced
      active.erase(found);
    } else {
      CHECK(event == next);
      next = event + 1;
    }
    active.erase("event");
  }
  void Changes() {
    waiting.insert(waiting.begin(), postponed.begin(), postponed.end());
    postponed.clear();
    active.erase("state");
  }
  void Raises(const std::vector<int>& events) {
    waiting.insert(waiting.begin(), events.begin(), events.end());
  }

  std::deque<int> waiting;  // raised and retried
  std::vector<int> postponed;
  std::map<std::string, int> active;  // time-outs that are set
  int next = 0;                       // the next message
  int handled = 0;
};

// Does what chance decides, and tells the model.
class Machine : public act::StateMachine<Phase> {
 public:
  Machine(Simulation* sim, Model* model) : sim_(*sim), model_(*model) {
    In(Phase::kOne, "one", &Machine::Handle, &Machine::Enter);
    In(Phase::kTwo, "two", &Machine::Handle, &Machine::Enter);
    In(Phase::kThree, "three", &Machine::Handle);
  }

 private:
  act::Transition Init(const gen::Args&) override { return GoTo(Phase::kOne); }

  act::Transition Handle(act::StateEvent& event) {
    const int number = *event.As<int>();
    model_.Sees(number, event.IsStateTimeout()   ? "state"
                        : event.IsEventTimeout() ? "event"
                                                 : event.name().ToString());
    if (sim_.Chance(0.1)) (void)Sleep(sim_.Random(1us, 100us));
    const bool may_go_on = model_.handled < 300;  // comes to an end
    const auto to = sim_.Chance(0.3) ? static_cast<Phase>(sim_.Random(0, 2)) : CurrentState();
    const bool changes = to != CurrentState();
    act::Transition transition = changes ? GoTo(to) : Keep();
    if (may_go_on && sim_.Chance(0.3)) {
      transition.Postpone();
      model_.postponed.push_back(number);
    } else if (event.IsRequest()) {
      transition.Reply(number);
    }
    if (changes) model_.Changes();
    std::vector<int> raised;
    while (may_go_on && sim_.Chance(0.2)) raised.push_back(kRaised + ++last_);
    for (const int one : raised) transition.Raise(one);
    model_.Raises(raised);
    if (may_go_on && sim_.Chance(0.4)) SetTimeout(transition);
    if (sim_.Chance(0.1)) {
      transition.CancelTimeout("a");
      model_.active.erase("a");
    }
    return transition;
  }
  act::Entry Enter(const Phase& from) {
    CHECK((from != CurrentState() || model_.handled == 0));
    act::Entry entry;
    if (model_.handled < 300 && sim_.Chance(0.3)) SetTimeout(entry);
    return entry;
  }
  template <class Actions>
  void SetTimeout(Actions& actions) {
    const auto which = static_cast<std::size_t>(sim_.Random(0, 3));
    const auto delay = sim_.Chance(0.3) ? 0us : sim_.Random(1us, 500us);
    const int number = kTimeout + ++last_;
    if (which == 0) {
      actions.StateTimeout(delay, number);
    } else if (which == 1) {
      actions.EventTimeout(delay, number);
    } else {
      actions.Timeout(kTimeouts[which], delay, number);
    }
    model_.active[kTimeouts[which]] = number;
  }

  Simulation& sim_;
  Model& model_;
  int last_ = 0;
};

TEST_CASE("state machine simulation: it handles what a single list says") {
  int handled = 0;
  Simulation::ForSeeds(1, 400, [&](Simulation& sim) {
    Model model;
    auto& node = sim.Node("test@localhost");
    const gen::PID machine = node.Spawn(gen::Factory<Machine>(&sim, &model)).value();
    std::vector<Answer<int>> answers;
    int sent = 0;
    for (int i = 0; i < 60; ++i) {
      sim.After(sim.Random(0us, 3ms), [&] {
        if (sim.Chance(0.5)) {
          if (node.Send(machine, sent)) ++sent;
        } else {
          answers.emplace_back(node.CallAsync<int>(machine, sent++, {.timeout = gen::kInfinite}));
        }
      });
    }
    const bool ends = sim.Chance(0.3);
    if (ends) sim.Kill(machine, sim.Random(0us, 4ms));
    // Now and then it is held, with time-outs in its mailbox.
    if (!ends && sim.Chance(0.3)) {
      sim.RunFor(sim.Random(0us, 3ms));
      REQUIRE(node.Suspend(machine));
      sim.RunUntilIdle();
      ExpectConservation(node);
      REQUIRE(node.Resume(machine));
    }
    sim.RunUntilIdle();
    ExpectConservation(node);
    handled += model.handled;
    CHECK(node.Info().timers == 0);
    if (!ends) {
      CHECK(model.next == sent);
      CHECK(model.waiting.empty());
      CHECK(model.active.empty());
      const auto inspection = node.Inspect(machine).value();
      CHECK(inspection.at("postponed") == std::to_string(model.postponed.size()));
      CHECK(inspection.at("timeouts").empty());
      (void)node.SendExit(machine, gen::Reason::Shutdown());
      sim.RunUntilIdle();
      ExpectConservation(node);
    }
    for (auto& answer : answers) {
      REQUIRE(answer.ready());
      if (!answer.get()) {
        const gen::Error& error = answer.get().error();
        CHECK((error == gen::ErrProcessTerminated || error == gen::ErrProcessUnknown));
      }
    }
  });
  CHECK(handled > 0);
}

}  // namespace
}  // namespace ergon::testkit::state_machine_test
