// Who is restarted, and with whom.
#include <ergon/act/supervisor.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorChildState;
using act::SupervisorSpec;
using act::SupervisorStrategy;
using act::SupervisorType;
using kit::ChildrenOf;
using kit::Eventually;
using kit::EventuallyNew;
using kit::ManageChildren;
using kit::SpecSupervisor;
using Lines = std::vector<std::string>;

TEST_CASE("supervisor: one for one restarts who fails, and only that") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");
  const gen::PID b = test.Child("b");
  test.diary.Take();
  test.EndChild(a, kFailure);
  const gen::PID again = EventuallyNew(test.node, supervisor, "a", a);
  REQUIRE(again);
  CHECK(test.Child("a") == again);
  CHECK(test.Child("b") == b);
  CHECK(test.diary.Lines() == Lines{"end a: failure", "start a"});
  CHECK(ChildrenOf(test.node, supervisor)[0].restarts == 1);
}

TEST_CASE("supervisor: strategies decide by the reason, each child may have its own") {
  Supervised test;
  auto children = Children(3);
  children[1].strategy = SupervisorStrategy::kTransient;
  children[2].strategy = SupervisorStrategy::kTemporary;
  const gen::PID supervisor = test.Start({.children = children});
  const gen::PID a = test.Child("a");
  const gen::PID b = test.Child("b");
  const gen::PID c = test.Child("c");

  test.EndChild(a, gen::Reason::Normal());  // permanent: again
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  test.EndChild(b, kFailure);  // transient: again after a failure
  const gen::PID b2 = EventuallyNew(test.node, supervisor, "b", b);
  REQUIRE(b2);
  test.EndChild(b2, gen::Reason::Shutdown());
  test.EndChild(c, kFailure);  // temporary: never
  CHECK(Eventually([&] {
    const auto now = ChildrenOf(test.node, supervisor);
    return now[1].state == SupervisorChildState::kEnded &&
           now[2].state == SupervisorChildState::kEnded;
  }));
  CHECK_FALSE(test.Child("b"));
  CHECK(test.IsAlive(supervisor));
}

TEST_CASE("supervisor: a child that cuts the link is restarted, too") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID a = test.Child("a");
  REQUIRE(test.Run(a, [](Subject& self) { CHECK(self.Unlink(self.Parent())); }));
  test.EndChild(a, kFailure);
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(test.diary.Lines() == Lines{"start a", "end a: failure", "start a"});
}

// What a child that runs to its end at once shares with its test.
struct Course {
  std::atomic<int> runs{0};
  std::atomic<bool> is_destroyed{false};
  kit::ThreadGate gate;
  std::function<void()> hold_workers;  // returns when all are held, until `is_destroyed`
};

class EndsAtOnce final : public act::Actor {
 public:
  explicit EndsAtOnce(Course* course) : course_(course) {}
  ~EndsAtOnce() override {
    course_->is_destroyed = true;
    course_->gate.Enter();
  }

 private:
  gen::Status Init(const gen::Args&) override {
    ++course_->runs;
    course_->hold_workers();
    Send(Self(), 0).value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    return gen::Stop(gen::Reason::Normal());
  }
  Course* const course_;
};

TEST_CASE("supervisor: a child that ends before it is monitored has ended with its own reason") {
  Course course;
  Supervised test({.workers = 2});
  const std::vector<gen::PID> others{test.Spawn(), test.Spawn()};
  std::atomic<std::size_t> held{0};
  course.hold_workers = [&] {
    for (const gen::PID other : others) {
      test.Begin(other, [&](Subject&) {
        ++held;
        CHECK(Eventually([&] { return course.is_destroyed.load(); }));
      });
    }
    CHECK(Eventually([&] { return held == others.size(); }));
  };
  // The supervisor waits for the Init meanwhile: the child has a thread of its own.
  const gen::PID supervisor =
      test.Start({.children = {{.name = "a",
                                .factory = gen::Factory<EndsAtOnce>(&course),
                                .options = {.detached = true},
                                .strategy = SupervisorStrategy::kTransient}}});
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
  course.gate.Open();
  CHECK(test.EventuallyLines({"start a", "end a: normal"}));
  CHECK(course.runs == 1);
}

TEST_CASE("supervisor: an exit signal that a child sends is not its end") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID a = test.Child("a");
  test.In(supervisor, [](SpecSupervisor& self) { self.SetTrapExit(true); });
  REQUIRE(test.Run(a, [](Subject& self) { CHECK(self.SendExit(self.Parent(), kFailure)); }));
  CHECK(test.EventuallyLines({"start a", "exit: failure"}));
  CHECK(test.Child("a") == a);
}

TEST_CASE("supervisor: exit signals of others end it, unless it traps them") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID other = test.Spawn();
  REQUIRE(test.Run(other, [&](Subject& self) { CHECK(self.SendExit(supervisor, kFailure)); }));
  CHECK(test.Ended(supervisor));
  CHECK(test.diary.Lines() == Lines{"start a", "end a: shutdown", "terminate: failure"});
}

TEST_CASE(
    "supervisor: an exit signal of another ends what its own handler waits for, a child's does "
    "not") {
  Supervised test;
  kit::Gate gate(test.node);
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");
  std::vector<std::string> outcomes;
  std::atomic<int> done{0};
  const auto wait = [&](SpecSupervisor& self) {
    auto passed = self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
    outcomes.push_back(passed ? "passed" : passed.error().ToString());
    ++done;
  };
  auto first = test.node.CallAsync<bool>(supervisor, ManageChildren{wait}, kPatient);
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  test.EndChild(a, kFailure);
  gate.Admit(1);
  CHECK(first.get().has_value());
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  auto second = test.node.CallAsync<bool>(supervisor, ManageChildren{wait}, kPatient);
  REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
  // Not the node, which is its parent.
  REQUIRE(
      test.Run(test.Spawn(), [&](Subject& self) { CHECK(self.SendExit(supervisor, kFailure)); }));
  CHECK(test.Ended(supervisor));
  CHECK(done == 2);
  CHECK(outcomes == Lines{"passed", "process terminated: this process is being ended"});
  gate.Open();
}

TEST_CASE("supervisor: all for one ends the others in reverse order and starts all in order") {
  for (const bool keep_order : {false, true}) {
    CAPTURE(keep_order);
    Notes<std::string> ended;
    Supervised test;
    const gen::PID supervisor = test.Start(
        {.type = SupervisorType::kAllForOne,
         .children = Children(
             4, {.terminate = [&](Subject& self,
                                  const gen::Reason&) { ended.Add(self.Name().ToString()); }}),
         .restart = {.keep_order = keep_order}});
    const gen::PID d = test.Child("d");
    test.diary.Take();
    test.EndChild(test.Child("b"), kFailure);
    REQUIRE(EventuallyNew(test.node, supervisor, "d", d));
    const Lines lines = test.diary.Lines();
    REQUIRE(lines.size() == 8);
    CHECK(lines[0] == "end b: failure");
    if (keep_order) {
      CHECK(Lines(lines.begin() + 1, lines.begin() + 4) ==
            Lines{"end d: shutdown", "end c: shutdown", "end a: shutdown"});
      CHECK(ended.All() == Lines{"b", "d", "c", "a"});
    }
    CHECK(Lines(lines.begin() + 4, lines.end()) ==
          Lines{"start a", "start b", "start c", "start d"});
  }
}

TEST_CASE("supervisor: rest for one leaves those before alone") {
  Supervised test;
  const gen::PID supervisor =
      test.Start({.type = SupervisorType::kRestForOne, .children = Children(3)});
  const gen::PID a = test.Child("a");
  const gen::PID c = test.Child("c");
  test.diary.Take();
  test.EndChild(test.Child("b"), kFailure);
  REQUIRE(EventuallyNew(test.node, supervisor, "c", c));
  CHECK(test.diary.Lines() == Lines{"end b: failure", "end c: shutdown", "start b", "start c"});
  CHECK(test.Child("a") == a);
}

TEST_CASE(
    "supervisor: a child that handles what it has queued is waited for, others that die too") {
  std::atomic<int> handled{0};
  std::atomic<bool> go{false};
  Supervised test;
  auto children = Children(3);
  children[0].factory = Make({.message = [&](Subject& self, gen::PID, gen::Message&) {
    while (!go.load() && self.Sleep(1ms)) {
    }
    ++handled;
    return gen::Continue();
  }});
  const gen::PID supervisor =
      test.Start({.type = SupervisorType::kAllForOne, .children = children});
  const gen::PID a = test.Child("a");
  for (int i = 0; i < 3; ++i) test.node.Send(a, i).value();
  test.EndChild(test.Child("b"), kFailure);
  // The supervisor answers meanwhile.
  CHECK(Eventually([&] {
    const auto now = ChildrenOf(test.node, supervisor);
    return now[0].state == SupervisorChildState::kStopping &&
           now[2].state == SupervisorChildState::kWaiting;
  }));
  CHECK(test.Ask<gen::PID>(supervisor, act::RestartChildRequest{"c"}).error().detail() ==
        "children are being restarted");
  go = true;
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(handled == 3);
}

TEST_CASE("supervisor: the log says who is restarted, how often that was, and who with it") {
  struct Row {
    SupervisorType type;
    std::string others;
  };
  for (const Row& row : {Row{SupervisorType::kOneForOne, ""},
                         Row{SupervisorType::kRestForOne, ", and after it 'c', 'd'"},
                         Row{SupervisorType::kAllForOne, ", and with it 'a', 'c', 'd'"}}) {
    Supervised test;
    SupervisorSpec spec;
    spec.type = row.type;
    spec.restart = {.intensity = 2, .period_s = 1000};
    spec.children = Children(4);
    const gen::PID supervisor = test.Start(spec);
    const auto again = [&](gen::PID last_b, gen::PID last_d) {
      REQUIRE(EventuallyNew(test.node, supervisor, "b", last_b));
      if (!row.others.empty()) REQUIRE(EventuallyNew(test.node, supervisor, "d", last_d));
    };
    gen::PID last = test.Child("d");
    const gen::PID first = test.Child("b");
    test.EndChild(first, kFailure);
    again(first, last);
    CHECK(test.log.Contains("restarting 'b' (1 of 2 in 1000 s)" + row.others + ": " +
                            first.ToString() + " has ended: failure"));
    // One that is done is no failure, but started again all the same.
    last = test.Child("d");
    const gen::PID second = test.Child("b");
    test.EndChild(second, gen::Reason::Normal());
    again(second, last);
    CHECK(test.log.Contains("restarting 'b' (2 of 2 in 1000 s)" + row.others + ": " +
                            second.ToString() + " has ended: normal"));
    const gen::PID third = test.Child("b");
    test.EndChild(third, kFailure);
    CHECK(Eventually([&] { return test.log.Contains("gives up: "); }));
    CHECK(test.log.Contains("child 'b' " + third.ToString() + " has ended: failure"));
  }
}

}  // namespace
}  // namespace ergon::node
