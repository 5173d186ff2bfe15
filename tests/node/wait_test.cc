// Waiting inside handlers: Call and Sleep.
#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Question {
  gen::PID from;
  gen::Ref ref;
};

// Keeps its requests open; the test answers them.
Handlers KeepOpen(Notes<Question>& questions) {
  return {.call = [&questions](Subject&, gen::PID from, gen::Ref ref, gen::Message&) {
    questions.Add({from, ref});
    return gen::NoReply();
  }};
}
Handlers Echo() {
  return {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) {
    return gen::Reply(request.Take<int>());
  }};
}

int HelperBelow(Subject& self, gen::PID echo, int depth) {
  if (depth == 0) return self.Call<int>(echo, 1, kPatient).value();
  const int below = HelperBelow(self, echo, depth - 1);
  return below + self.Call<int>(echo, 1, kPatient).value();
}

TEST_CASE("wait: Call in a handler and in functions below it") {
  int sum = 0;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) { sum = HelperBelow(self, echo, 20); }));
  CHECK(sum == 21);
}

TEST_CASE("wait: nested calls through a chain of processes") {
  std::vector<std::future<gen::Result<int>>> answers;
  TestNode t;
  gen::PID next = t.Spawn(Echo());
  constexpr int kLinks = 200;
  for (int i = 0; i < kLinks; ++i) {
    next = t.Spawn({.call = [next](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
      const int value = self.Call<int>(next, request.Take<int>(), kPatient).value();
      return gen::Reply(value + 1);
    }});
  }
  for (int i = 0; i < 10; ++i) answers.push_back(t.node.CallAsync<int>(next, i, kPatient));
  for (int i = 0; i < 10; ++i) {
    CHECK(answers[static_cast<std::size_t>(i)].get().value() == kLinks + i);
  }
}

TEST_CASE("wait: the kinds of answers") {
  TestNode t;
  const gen::PID server =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        switch (request.Take<int>()) {
          case 0:
            return gen::Reply("text");
          case 1:
            return gen::ReplyError(gen::Error("my own"));
          case 2:
            return gen::Stop(gen::Reason::Error("stopped"));
          case 3:
            throw std::runtime_error("thrown");
          default:
            return gen::ReplyAndStop(5, gen::Reason::Normal());
        }
      }});
  const gen::PID pid = t.Spawn();
  auto both = [&](auto check) {
    check(t.node);
    CHECK(t.Run(pid, [&](Subject& self) { check(self); }));
  };
  both([&](auto& messenger) {
    CHECK(messenger.template Call<std::string>(server, 0).value() == "text");
    auto wrong = messenger.template Call<int>(server, 0);
    CHECK(wrong.error() == gen::ErrUnexpectedType);
    CHECK(wrong.error().detail().find("asked for int, got std::") != std::string::npos);
    auto own = messenger.template Call<int>(server, 1);
    CHECK(own.error().code() == gen::ErrorCode::kApplication);
    CHECK(own.error().detail() == "my own");
    CHECK(messenger.template Call<int>(server, 0, {.timeout = 0s}).error() == gen::ErrIncorrect);
    CHECK(messenger.template Call<int>(server, 0, {.timeout = -1s}).error() == gen::ErrIncorrect);
  });
  for (int kind = 2; kind <= 4; ++kind) {
    const gen::PID victim = t.Spawn(
        {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
          const int what = request.Take<int>();
          if (what == 2) return gen::Stop(gen::Reason::Error("stopped"));
          if (what == 3) throw std::runtime_error("thrown");
          return gen::ReplyAndStop(5, gen::Reason::Normal());
        }});
    auto answer = t.node.Call<int>(victim, kind, kPatient);
    if (kind == 4) {
      CHECK(answer.value() == 5);
    } else {
      CHECK(answer.error() == gen::ErrProcessTerminated);
      CHECK(answer.error().detail() == (kind == 2 ? "stopped" : "panic: thrown (handling int)"));
    }
    CHECK(t.Ended(victim));
  }
}

TEST_CASE("wait: huge time-outs do not overflow") {
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const gen::PID pid = t.Spawn();
  const gen::CallOptions huge{.timeout = gen::kInfinite - 1ns};
  CHECK(t.node.Call<int>(echo, 1, huge).value() == 1);
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.Call<int>(echo, 1, huge).value() == 1);
    CHECK(self.Call<int>(echo, 1, {.timeout = gen::kInfinite}).value() == 1);
    // An armed timer that never fires.
    auto timer = self.SendAfter(self.Self(), 1, gen::kInfinite);
    CHECK(timer);
    CHECK(timer->Cancel());
    timer = self.SendAfter(self.Self(), 1, gen::kInfinite - 1ns);
    CHECK(timer);
    CHECK(timer->Cancel());
  }));
  CHECK(t.node.StopProcess(echo, gen::kInfinite - 1ns));
  // Sleeping for ever is interrupted by a kill only.
  t.Begin(pid, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(pid));
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
}

TEST_CASE("wait: Sleep takes at least as long as it says") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject& self) {
    for (const auto duration : {0ns, -1ns, 1ns, 1000ns, 2000000ns}) {
      const std::int64_t start = self.Now();
      CHECK(self.Sleep(duration));
      CHECK(self.Now() - start >= duration.count());
    }
  }));
}

TEST_CASE("wait: a call to itself is refused") {
  TestNode t;
  const gen::PID pid = t.node.SpawnRegister("me", Make({})).value();
  CHECK(t.Run(pid, [](Subject& self) {
    CHECK(self.Call<int>(self.Self(), 1).error() == gen::ErrDeadlock);
    CHECK(self.Call<int>("me", 1).error() == gen::ErrDeadlock);
    CHECK(self.Call<int>(self.CreateAlias().value(), 1).error() == gen::ErrDeadlock);
  }));
}

TEST_CASE("wait: exceptions around and across calls") {
  std::atomic<int> good{0};
  std::vector<gen::PID> pids;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const int rounds = kit::Scaled(500, 5);
  for (int i = 0; i < 8; ++i) {
    pids.push_back(t.Spawn());
    t.Begin(pids.back(), [&, i](Subject& self) {
      for (int k = 0; k < rounds; ++k) {
        const std::string text = std::to_string(i) + "/" + std::to_string(k);
        bool outer = false;
        try {
          try {
            (void)self.Call<int>(echo, k, kPatient).value();
            throw std::runtime_error(text);
          } catch (const std::runtime_error& error) {
            // Other processes throw and catch on this thread meanwhile; this may go on on another.
            (void)self.Call<int>(echo, k, kPatient).value();
            CHECK(error.what() == text);
            try {
              (void)self.Sleep(1ns);
              throw std::logic_error("inner " + text);
            } catch (const std::logic_error& inner) {
              (void)self.Call<int>(echo, k, kPatient).value();
              CHECK(inner.what() == "inner " + text);
            }
            throw;  // the outer one again
          }
        } catch (const std::runtime_error& error) {
          outer = error.what() == text;
        }
        CHECK(std::current_exception() == nullptr);
        CHECK(std::uncaught_exceptions() == 0);
        if (outer) good.fetch_add(1);
      }
    });
  }
  for (const gen::PID pid : pids) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(good == 8 * rounds);
}

TEST_CASE("wait: a call in a destructor during unwinding") {
  std::atomic<int> good{0};
  std::vector<gen::PID> pids;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  struct CallsInDestructor {
    Subject& self;
    gen::PID echo;
    std::atomic<int>& good;
    ~CallsInDestructor() {
      if (std::uncaught_exceptions() != 1) return;
      auto answer = self.Call<int>(echo, 7, kPatient);
      if (answer && *answer == 7 && std::uncaught_exceptions() == 1) good.fetch_add(1);
    }
  };
  for (int i = 0; i < 4; ++i) {
    pids.push_back(t.Spawn());
    t.Begin(pids.back(), [&](Subject& self) {
      for (int k = 0; k < 50; ++k) {
        try {
          CallsInDestructor guard{self, echo, good};
          throw std::runtime_error("x");
        } catch (const std::runtime_error&) {
        }
      }
    });
  }
  for (const gen::PID pid : pids) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(good == 200);
}

TEST_CASE("wait: an exception that leaves a handler after a call ends the process") {
  Notes<std::string> reasons;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const gen::PID pid = t.Spawn(
      {.terminate = [&](Subject&, const gen::Reason& reason) { reasons.Add(reason.ToString()); }});
  auto run = t.Run(pid, [&](Subject& self) {
    (void)self.Call<int>(echo, 1, kPatient).value();
    throw std::runtime_error("after a call");
  });
  CHECK(run.error() == gen::ErrProcessTerminated);
  CHECK(run.error().detail() == "panic: after a call (handling ergon::node::Do)");
  CHECK(t.Ended(pid));
  CHECK(reasons.All() ==
        std::vector<std::string>{"panic: after a call (handling ergon::node::Do)"});
  // A failed call whose value is taken says so.
  const gen::PID other = t.Spawn();
  run = t.Run(other, [&](Subject& self) { (void)self.Call<std::string>(echo, 1).value(); });
  CHECK(run.error().detail().find("panic: answer of an unexpected type") == 0);
}

TEST_CASE("wait: thousands of processes in Call at once on two workers") {
  std::atomic<int> passed{0};
  std::vector<gen::PID> pids;
  TestNode t({.workers = 2});
  kit::Gate gate(t.node);
  constexpr int kWaiting = kit::Scaled(10'000, 5);
  for (int i = 0; i < kWaiting; ++i) {
    pids.push_back(t.Spawn());
    t.Begin(pids.back(), [&](Subject& self) {
      if (self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite})) {
        passed.fetch_add(1);
      }
    });
  }
  CHECK(kit::Eventually([&] { return gate.Entered() == kWaiting; }));
  CHECK(t.Run(t.Spawn(), [](Subject& self) { CHECK(self.Sleep(1ms)); }));
  CHECK(passed == 0);
  gate.Open();
  CHECK(kit::Eventually([&] { return passed == kWaiting; }));
  for (const gen::PID pid : pids) CHECK(t.node.Kill(pid));
}

TEST_CASE("wait: a late answer never disturbs the next call") {
  Notes<Question> questions;
  int answer = 0;
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID server = t.Spawn(KeepOpen(questions));
  const gen::PID pid = t.Spawn();
  const gen::PID helper = t.Spawn();
  t.Begin(pid, [&](Subject& self) {
    CHECK(self.Call<int>(server, 1, {.timeout = 1ms}).error() == gen::ErrTimeout);
    answer = self.Call<int>(server, 2, {.timeout = gen::kInfinite}).value();
  });
  REQUIRE(kit::Eventually([&] { return questions.size() == 1; }));
  REQUIRE(time.PassUntil([&] { return questions.size() == 2; }, 1ms));
  const Question late = questions.All()[0];
  const Question next = questions.All()[1];
  CHECK(late.from == pid);
  // By the server, by somebody else, by a thread.
  CHECK(t.Run(server, [&](Subject& self) {
    CHECK(self.SendResponse(late.from, late.ref, 1).error() == gen::ErrResponseIgnored);
  }));
  CHECK(t.Run(helper, [&](Subject& self) {
    CHECK(self.SendResponse(late.from, late.ref, 1).error() == gen::ErrResponseIgnored);
    CHECK(self.SendResponseError(late.from, late.ref, gen::ErrTaken).error() ==
          gen::ErrResponseIgnored);
  }));
  CHECK(t.node.SendResponse(late.from, late.ref, 1).error() == gen::ErrResponseIgnored);
  CHECK(t.EventuallyWaiting(pid));
  CHECK(t.node.SendResponse(next.from, next.ref, 2));
  CHECK(t.node.SendResponse(next.from, next.ref, 3).error() == gen::ErrResponseIgnored);
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(answer == 2);
}

TEST_CASE("wait: the answer may come from anybody, once") {
  Notes<Question> questions;
  TestNode t;
  const gen::PID server = t.Spawn(KeepOpen(questions));
  const gen::PID helper = t.Spawn();
  auto ask = [&] {
    const std::size_t before = questions.size();
    auto answer = t.node.CallAsync<int>(server, 0, kPatient);
    REQUIRE(kit::Eventually([&] { return questions.size() == before + 1; }));
    return std::pair(std::move(answer), questions.All().back());
  };
  auto [first, open] = ask();
  CHECK(t.Run(helper, [&, question = open](Subject& self) {
    CHECK(self.SendResponse(question.from, question.ref, 1));
    CHECK(self.SendResponse(question.from, question.ref, 2).error() == gen::ErrResponseIgnored);
  }));
  CHECK(first.get().value() == 1);
  auto [second, open2] = ask();
  std::thread([&, question = open2] {
    CHECK(t.node.SendResponse(question.from, question.ref, 2));
  }).join();
  CHECK(second.get().value() == 2);
  auto [third, open3] = ask();
  CHECK(t.node.SendResponseError(open3.from, open3.ref, gen::Error("no")));
  CHECK(third.get().error().detail() == "no");
  // To a process that has ended.
  const gen::PID caller = t.Spawn();
  t.Begin(caller, [&](Subject& self) { (void)self.Call<int>(server, 0, kPatient); });
  REQUIRE(kit::Eventually([&] { return questions.size() == 4; }));
  CHECK(t.node.Kill(caller));
  CHECK(t.Ended(caller));
  const Question open4 = questions.All().back();
  CHECK(t.node.SendResponse(open4.from, open4.ref, 1).error() == gen::ErrResponseIgnored);
}

TEST_CASE("wait: an answer before the caller waits, many times") {
  std::atomic<int> wrong{0};
  std::vector<gen::PID> pids;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const int rounds = kit::Scaled(20'000);
  for (int i = 0; i < 3; ++i) {
    pids.push_back(t.Spawn());
    t.Begin(pids.back(), [&](Subject& self) {
      for (int k = 0; k < rounds; ++k) {
        auto answer = self.Call<int>(echo, k, kPatient);
        if (!answer || *answer != k) wrong.fetch_add(1);
      }
    });
  }
  for (const gen::PID pid : pids) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(wrong == 0);
}

TEST_CASE("wait: time-outs that race with responses") {
  std::atomic<int> wrong{0};
  std::atomic<int> answered{0};
  std::atomic<int> late{0};
  std::vector<gen::PID> pids;
  TestNode t;
  const gen::PID echo =
      t.Spawn({.call = [](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
        const int value = request.Take<int>();
        if (value % 3 == 0) (void)self.Sleep(std::chrono::microseconds(value % 200));
        return gen::Reply(value);
      }});
  const int rounds = kit::Scaled(1'000, 5);
  for (int i = 0; i < 4; ++i) {
    pids.push_back(t.Spawn());
    t.Begin(pids.back(), [&](Subject& self) {
      for (int k = 0; k < rounds; ++k) {
        auto answer = self.Call<int>(echo, k, {.timeout = std::chrono::microseconds(1 + k % 300)});
        if (answer) {
          answered.fetch_add(1);
          if (*answer != k) wrong.fetch_add(1);
        } else if (answer.error() == gen::ErrTimeout) {
          late.fetch_add(1);
        } else {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (const gen::PID pid : pids) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(wrong == 0);
  CHECK(answered + late == 4 * rounds);
}

TEST_CASE("wait: a callee that has died, dies before, while and after handling it") {
  Notes<Question> questions;
  Notes<gen::Error> errors;
  std::vector<std::future<gen::Result<int>>> answers;
  int errored = 0;
  TestNode t;
  const gen::PID caller = t.Spawn();
  auto call = [&](gen::PID to) {
    t.Begin(caller,
            [&, to](Subject& self) { errors.Add(self.Call<int>(to, 1, kPatient).error()); });
    REQUIRE(t.EventuallyWaiting(caller));
  };
  auto told = [&](std::size_t count) {
    return kit::Eventually([&] { return errors.size() == count; });
  };

  // Before: the request waits in its mailbox.
  gen::PID callee = t.Spawn(KeepOpen(questions));
  t.Begin(callee, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  REQUIRE(t.EventuallyWaiting(callee));
  call(callee);
  CHECK(t.node.Kill(callee));
  CHECK(told(1));

  // While: its handler is suspended.
  callee = t.Spawn({.call = [](Subject& self, gen::PID, gen::Ref, gen::Message&) {
    (void)self.Sleep(gen::kInfinite);
    return gen::NoReply();
  }});
  call(callee);
  REQUIRE(t.EventuallyWaiting(callee));
  CHECK(t.node.Kill(callee));
  CHECK(told(2));

  // After: it has returned NoReply.
  callee = t.Spawn(KeepOpen(questions));
  call(callee);
  REQUIRE(kit::Eventually([&] { return questions.size() == 1; }));
  CHECK(t.Run(callee, [](Subject&) {}));
  CHECK(t.node.SendExit(callee, gen::Reason::Error("enough")));
  CHECK(told(3));
  CHECK(errors.All()[2].detail() == "enough");

  // It ends by itself with several open.
  callee = t.Spawn(KeepOpen(questions));
  for (int i = 0; i < 200; ++i) answers.push_back(t.node.CallAsync<int>(callee, i, kPatient));
  REQUIRE(kit::Eventually([&] { return questions.size() == 201; }));
  const Question some = questions.All()[100];
  CHECK(t.node.SendResponse(some.from, some.ref, 9));
  CHECK(t.node.Send(callee, End{gen::Reason::Normal()}));
  for (auto& answer : answers) {
    auto result = answer.get();
    if (!result && result.error() == gen::ErrProcessTerminated) ++errored;
  }
  CHECK(errored == 199);
  for (const gen::Error& error : errors.All()) CHECK(error == gen::ErrProcessTerminated);
}

TEST_CASE("wait: an answered open request is not answered again when its process ends") {
  Notes<Question> questions;
  Notes<int> values;
  TestNode t;
  const gen::PID server = t.Spawn(KeepOpen(questions));
  const gen::PID caller = t.Spawn();
  t.Begin(caller, [&](Subject& self) {
    values.Add(self.Call<int>(server, 1, kPatient).value());
    values.Add(self.Call<int>(server, 2, kPatient).value_or(-1));
  });
  REQUIRE(kit::Eventually([&] { return questions.size() == 1; }));
  const Question first = questions.All()[0];
  CHECK(t.Run(server, [&](Subject& self) { CHECK(self.SendResponse(first.from, first.ref, 10)); }));
  REQUIRE(kit::Eventually([&] { return questions.size() == 2; }));
  CHECK(t.node.Kill(server));
  CHECK(kit::Eventually([&] { return values.size() == 2; }));
  CHECK(values.All() == std::vector<int>{10, -1});
}

TEST_CASE("wait: killed while it waits, a process unwinds its stack") {
  Notes<Question> questions;
  std::atomic<int> unwound{0};
  std::atomic<int> terminated{0};
  Notes<std::string> reasons;
  TestNode t;
  const gen::PID server = t.Spawn(KeepOpen(questions));
  auto handlers = Handlers{.terminate = [&](Subject& self, const gen::Reason& reason) {
    // No waiting any more, at once.
    CHECK_FALSE(self.Sleep(kit::kDeadline));
    CHECK(self.Call<int>(server, 1, kPatient).error() == gen::ErrProcessTerminated);
    reasons.Add(reason.ToString());
    terminated.fetch_add(1);
  }};
  const gen::PID calls = t.Spawn(handlers);
  const gen::PID sleeps = t.Spawn(handlers);
  const gen::PID throws = t.Spawn(handlers);
  t.Begin(calls, [&](Subject& self) {
    Unwound guard(unwound);
    auto answer = self.Call<int>(server, 1, {.timeout = gen::kInfinite});
    CHECK(answer.error() == gen::ErrProcessTerminated);
    // And so does everything that it tries after it.
    CHECK(self.Call<int>(server, 1, kPatient).error() == gen::ErrProcessTerminated);
    CHECK_FALSE(self.Sleep(kit::kDeadline));
  });
  t.Begin(sleeps, [&](Subject& self) {
    Unwound guard(unwound);
    CHECK_FALSE(self.Sleep(kit::kDeadline * 100));
  });
  t.Begin(throws, [&](Subject& self) {
    Unwound guard(unwound);
    (void)self.Call<int>(server, 1, {.timeout = gen::kInfinite}).value();
  });
  REQUIRE(kit::Eventually([&] { return questions.size() == 2; }));
  for (const gen::PID pid : {calls, sleeps, throws}) {
    REQUIRE(t.EventuallyWaiting(pid));
    CHECK(t.node.Kill(pid));
    (void)t.node.Kill(pid);  // a second time
    CHECK(t.Ended(pid));
  }
  CHECK(unwound == 3);
  CHECK(terminated == 3);
  CHECK(questions.size() == 2);  // those made after the kill were never sent
  CHECK(reasons.All()[0] == "killed");
}

TEST_CASE("wait: an exit signal ends a wait, unless it is trapped") {
  Notes<std::string> events;
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID sender = t.Spawn();
  auto send_exit = [&](gen::PID to) {
    CHECK(
        t.Run(sender, [to](Subject& self) { CHECK(self.SendExit(to, gen::Reason::Error("go"))); }));
  };
  const gen::PID ends = t.Spawn({.terminate = [&](Subject&, const gen::Reason& reason) {
    events.Add("ended: " + reason.ToString());
  }});
  t.Begin(ends, [&](Subject& self) {
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}).error() ==
          gen::ErrProcessTerminated);
  });
  REQUIRE(t.EventuallyWaiting(ends));
  send_exit(ends);
  CHECK(t.Ended(ends));
  CHECK(events.All() == std::vector<std::string>{"ended: go"});

  const gen::PID traps = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    events.Add("trapped: " + message.As<gen::MessageExitPID>()->reason.ToString());
    return gen::Continue();
  }});
  t.Begin(traps, [&](Subject& self) {
    self.SetTrapExit(true);
    events.Add(self.Call<bool>(gate.pid(), kit::EnterGate{}, kPatient) ? "answered" : "failed");
  });
  REQUIRE(t.EventuallyWaiting(traps));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  for (int i = 0; i < 3; ++i) send_exit(traps);
  CHECK(t.IsWaiting(traps));
  gate.Open();
  CHECK(t.Run(traps, [](Subject&) {}));
  CHECK(events.All() == std::vector<std::string>{"ended: go", "answered", "trapped: go",
                                                 "trapped: go", "trapped: go"});
}

TEST_CASE("wait: exit signals that are trapped do not wake who waits") {
  constexpr std::size_t kMany = 1000;
  std::atomic<std::size_t> trapped{0};
  TestNode t({.measure_running_time = true});
  kit::Gate gate(t.node);
  const gen::PID sender = t.Spawn();
  const gen::PID traps = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    trapped += message.Is<gen::MessageExitPID>() ? 1 : 0;
    return gen::Continue();
  }});
  t.Begin(traps, [&](Subject& self) {
    self.SetTrapExit(true);
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, kPatient));
    CHECK(trapped == 0);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  REQUIRE(t.EventuallyWaiting(traps));
  const std::uint64_t turns = t.node.ProcessInfo(traps)->turns;
  for (std::size_t i = 0; i < kMany; ++i) {
    CHECK(t.Run(sender,
                [traps](Subject& self) { CHECK(self.SendExit(traps, gen::Reason::Error("go"))); }));
  }
  // The turn in which it began to wait may not be counted yet.
  CHECK(t.node.ProcessInfo(traps)->turns <= turns + 1);
  gate.Open();
  CHECK(kit::Eventually([&] { return trapped == kMany; }));
}

TEST_CASE("wait: who traps exit signals no longer is ended by one that comes at that moment") {
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID sender = t.Spawn();
  const int rounds = kit::Scaled(500, 5);
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> traps{false};
    const gen::PID pid = t.Spawn();
    t.Begin(pid, [&](Subject& self) {
      self.SetTrapExit(true);
      traps = true;
      self.SetTrapExit(false);
      (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
    });
    t.Begin(sender, [&](Subject& self) {
      while (!traps) std::this_thread::yield();
      CHECK(self.SendExit(pid, gen::Reason::Error("go")));
    });
    REQUIRE(t.Ended(pid));
  }
}

TEST_CASE("wait: kills that race with answers") {
  std::atomic<int> begun{0};
  std::atomic<int> unwound{0};
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const int rounds = kit::Scaled(300, 3);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    t.Begin(pid, [&](Subject& self) {
      begun.fetch_add(1);
      Unwound guard(unwound);
      while (self.Call<int>(echo, 1, kPatient)) {
      }
    });
    for (int k = 0; k < i % 7; ++k) std::this_thread::yield();
    (void)t.node.Kill(pid);
    CHECK(t.Ended(pid));
    CHECK(unwound == begun);
  }
  CHECK(t.Run(echo, [](Subject&) {}));
}

TEST_CASE("wait: Call inside Init and Terminate") {
  Notes<int> values;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  auto pid = t.node.Spawn(Make({.init =
                                    [&](Subject& self, const gen::Args&) {
                                      values.Add(self.Call<int>(echo, 1, kPatient).value());
                                      return gen::Continue();
                                    },
                                .terminate =
                                    [&](Subject& self, const gen::Reason&) {
                                      values.Add(self.Call<int>(echo, 2, kPatient).value());
                                      CHECK(self.Sleep(1ms));
                                      values.Add(3);
                                    }}));
  REQUIRE(pid);
  CHECK(t.node.SendExit(*pid, gen::Reason::Shutdown()));
  CHECK(t.Ended(*pid));
  CHECK(values.All() == std::vector<int>{1, 2, 3});
}

TEST_CASE("wait: messages that arrive meanwhile are handled afterwards, in order") {
  Notes<int> notes;
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    notes.Add(message.Take<int>());
    return gen::Continue();
  }});
  t.Begin(pid, [&](Subject& self) {
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, kPatient));
    notes.Add(0);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 5; ++i) CHECK(t.node.Send(pid, i));
  CHECK(t.node.SendWithPriority(pid, -1, gen::MessagePriority::kHigh));
  CHECK(t.node.SendWithPriority(pid, -2, gen::MessagePriority::kMax));
  gate.Open();
  CHECK(kit::Eventually([&] { return notes.size() == 8; }));
  CHECK(notes.All() == std::vector<int>{0, -2, -1, 1, 2, 3, 4, 5});
}

TEST_CASE("wait: an expired request is skipped and counted") {
  std::atomic<int> handled{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID server = t.Spawn({.call = [&](Subject&, gen::PID, gen::Ref, gen::Message&) {
    handled.fetch_add(1);
    return gen::Reply(1);
  }});
  kit::Gate gate(t.node);
  t.Begin(server,
          [&](Subject& self) { CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, kPatient)); });
  REQUIRE(t.EventuallyWaiting(server));
  const gen::PID caller = t.Spawn();
  t.Begin(caller, [&](Subject& self) {
    CHECK(self.Call<int>(server, 1, {.timeout = 1ms}).error() == gen::ErrTimeout);
  });
  REQUIRE(t.EventuallyWaiting(caller));
  time.Pass(2ms);
  CHECK(t.Run(caller, [](Subject&) {}));
  gate.Open();
  CHECK(t.node.Call<int>(server, 1, kPatient).value() == 1);
  CHECK(handled == 1);
  CHECK(t.node.Info().dropped_expired == 1);
  CHECK(t.node.ProcessInfo(server)->messages_dropped == 1);
}

TEST_CASE("wait: a stale exit signal does not interrupt a call") {
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const gen::PID other = t.Spawn();
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.Link(other));
    CHECK(self.SendExit(other, gen::Reason::Kill()));
    // Its signal is on its way, or here: nobody has looked yet.
    while (self.Node().ProcessInfo(other)) std::this_thread::yield();
    const auto start = self.Now();
    while (self.Now() - start < 1'000'000) std::this_thread::yield();
    CHECK(self.Unlink(other));
    CHECK(self.Call<int>(echo, 1, kPatient).value_or(-1) == 1);
    CHECK(self.Sleep(1ms));
  }));
  CHECK(t.Run(pid, [](Subject&) {}));
}

TEST_CASE("wait: CallAsync in a handler") {
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  std::future<gen::Result<int>> answer;
  CHECK(t.Run(t.Spawn(),
              [&](Subject& self) { answer = self.Node().CallAsync<int>(echo, 3, kPatient); }));
  CHECK(answer.get().value() == 3);
  CHECK(t.node.CallAsync<int>(echo, 3, {.timeout = 0s}).get().error() == gen::ErrIncorrect);
}

TEST_CASE("wait: calls share one timer, and a time-out does not wait for a later one") {
  constexpr gen::CallOptions kHour{.timeout = 1h};  // much longer than the test waits for anything
  Notes<Question> questions;
  int sum = 0;
  std::uint64_t timers = 0;
  TestNode t;
  const gen::PID echo = t.Spawn(Echo());
  const gen::PID silent = t.Spawn(KeepOpen(questions));
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) {
    const std::uint64_t of_others = t.node.Info().timers;
    for (int i = 0; i < 1000; ++i) sum += self.Call<int>(echo, 1, kHour).value();
    timers = t.node.Info().timers - of_others;
    for (const auto timeout : {30ms, 10ms, 20ms}) {  // sooner than what is armed, or later
      const std::int64_t began = self.Now();
      CHECK(self.Call<int>(silent, 1, {.timeout = timeout}).error() == gen::ErrTimeout);
      CHECK(std::chrono::nanoseconds(self.Now() - began) >= timeout);
      CHECK(self.Call<int>(echo, 1, kHour).value() == 1);
    }
    CHECK(self.Sleep(5ms));
    CHECK(self.Call<int>(echo, 1, kHour).value() == 1);
  }));
  CHECK(sum == 1000);
  CHECK(timers == 1);
  CHECK(t.node.StopProcess(pid, kit::kDeadline));
  CHECK(kit::Eventually([&] { return t.node.Info().timers == 0; }));
}

}  // namespace
}  // namespace ergon::node
