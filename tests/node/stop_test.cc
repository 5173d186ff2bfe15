#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ergon/act/supervisor.h>

#include <kit/child.h>
#include <kit/diary.h>
#include <kit/gate.h>
#include <kit/supervisor.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

Handlers Note(Notes<std::string>& notes, std::string name) {
  return {.message =
              [&notes, name](Subject&, gen::PID, gen::Message& message) {
                notes.Add(name + std::to_string(message.Take<int>()));
                return gen::Continue();
              },
          .terminate =
              [&notes, name](Subject&, const gen::Reason& reason) {
                notes.Add(name + " " + reason.ToString());
              }};
}

TEST_CASE("stop: what a process accepts while it is asked to end is handled, or refused") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> handled{0};
    std::atomic<int> accepted{0};
    TestNode t;
    const gen::PID pid = t.Spawn({.message =
                                      [&](Subject&, gen::PID, gen::Message&) {
                                        ++handled;
                                        return gen::Continue();
                                      }},
                                 {.mailbox_size = 20});
    kit::Threads threads;
    for (int i = 0; i < 4; ++i) {
      threads.Start([&, waits = i % 2 == 0] {
        for (;;) {
          const auto sent = waits ? t.node.SendOrWait(pid, 1, 1h) : t.node.Send(pid, 1);
          if (sent) {
            ++accepted;
          } else if (sent.error() != gen::ErrProcessMailboxFull) {
            CHECK(sent.error() == gen::ErrProcessTerminated);
            return;
          }
        }
      });
    }
    CHECK(kit::Eventually([&] { return accepted.load() > 100; }));
    CHECK(t.node.StopProcess(pid, 1h));
    threads.Join();
    CHECK(handled == accepted);
    CHECK(t.node.Info().dropped_terminated == 0);
  }
}

TEST_CASE("stop: what comes before, between and after two orders to end is handled") {
  Notes<int> handled;
  kit::ThreadGate gate;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    handled.Add(message.Take<int>());
    return gen::Continue();
  }});
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Send(pid, 1));
  CHECK(t.node.StopProcess(pid, 0ms).error() == gen::ErrTimeout);
  CHECK(t.node.Send(pid, 2));
  CHECK(t.node.StopProcess(pid, 0ms).error() == gen::ErrTimeout);
  CHECK(t.node.Send(pid, 3));
  gate.Open();
  CHECK(t.node.WaitProcess(pid));
  CHECK(handled.All() == std::vector<int>{1, 2, 3});
}

TEST_CASE("stop: processes without a parent end one after the other, the newest first") {
  Notes<std::string> notes;
  TestNode t;
  t.Spawn(Note(notes, "a"));
  t.Spawn(Note(notes, "b"));
  t.Spawn(Note(notes, "c"));
  t.node.Stop();
  CHECK(notes.All() == std::vector<std::string>{"c shutdown", "b shutdown", "a shutdown"});
  CHECK(t.node.Info().processes == 0);
}

TEST_CASE("stop: the reason is that of the first one who stops the node") {
  TestNode t;
  CHECK(t.node.StopReason() == gen::Reason::Normal());  // it runs
  SUBCASE("nobody gives one") {
    t.node.Stop();
    CHECK(t.node.StopReason() == gen::Reason::Shutdown());
    CHECK_FALSE(t.log.Contains("the node stops: shutdown"));
  }
  SUBCASE("from a handler") {
    CHECK(t.Run(t.Spawn(), [](Subject& self) {
      self.Node().Stop(gen::Reason::Error("the database is gone"));
      self.Node().StopForce(gen::Reason::Error("too late"));
      CHECK(self.Node().StopReason() == gen::Reason::Error("the database is gone"));
    }));
    t.node.Wait();
    CHECK(t.node.StopReason() == gen::Reason::Error("the database is gone"));
    CHECK(t.log.Count("the node stops: the database is gone") == 1);
    CHECK(t.log.Count("the node stops already: too late") == 1);
  }
  SUBCASE("by force") {
    t.node.StopForce(gen::Reason::Error("the disk is full"));
    CHECK(t.node.StopReason() == gen::Reason::Error("the disk is full"));
  }
}

TEST_CASE("stop: NodeOptions::defer may ask why the node stops") {
  std::vector<std::jthread> stoppers;
  std::string told;
  gen::Node* node = nullptr;
  gen::NodeOptions options;
  options.defer = [&](std::function<void()> stop) {
    told = node->StopReason().ToString();
    stoppers.emplace_back(std::move(stop));
  };
  TestNode t(options);
  node = &t.node;
  t.Begin(t.Spawn(), [](Subject& self) { self.Node().Stop(); });
  t.node.Wait();
  stoppers.clear();
  CHECK(told == "shutdown");
}

TEST_CASE("stop: what waits in the mailboxes is handled first, also from processes that stop") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID first = t.Spawn(Note(notes, "a"));
  Handlers sends = Note(notes, "b");
  sends.message = [&, first](Subject& self, gen::PID, gen::Message& message) {
    CHECK(self.Sleep(1ms));
    CHECK(self.Send(first, message.Take<int>()));
    return gen::Continue();
  };
  const gen::PID second = t.Spawn(sends);
  for (int i = 0; i < 5; ++i) CHECK(t.node.Send(second, i));
  t.node.Stop();
  // The first one works while the second one ends, and ends last.
  std::vector<std::string> of_first = notes.All();
  CHECK(std::erase(of_first, "b shutdown") == 1);
  CHECK(of_first == std::vector<std::string>{"a0", "a1", "a2", "a3", "a4", "a shutdown"});
  CHECK(t.node.Info().dropped_terminated == 0);
}

TEST_CASE("stop: linked children go with their parent, others follow, all with Terminate") {
  Notes<std::string> notes;
  int linked = 0;
  int free = 0;
  TestNode t;
  const gen::PID parent = t.Spawn(Note(notes, "parent"));
  CHECK(t.Run(parent, [&](Subject& self) {
    for (int i = 0; i < 10; ++i) {
      self.Spawn(Make(Note(notes, "linked")), {.link_parent = true}).value();
    }
    for (int i = 0; i < 10; ++i) self.Spawn(Make(Note(notes, "free"))).value();
  }));
  t.node.Stop();
  for (const std::string& note : notes.All()) {
    linked += note == "linked shutdown" ? 1 : 0;
    free += note == "free shutdown" ? 1 : 0;
  }
  CHECK(linked == 10);
  CHECK(free == 10);
  CHECK(notes.size() == 21);
}

TEST_CASE("stop: who has no parent any more is asked, and ends its own children") {
  Notes<std::string> notes;
  TestNode t({.shutdown_timeout = gen::kInfinite});
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    const gen::PID free = self.Spawn(Make(Note(notes, "free"))).value();
    CHECK(
        self.Call<bool>(free, Do{[&](Subject& middle) {
                          middle.Spawn(Make(Note(notes, "linked")), {.link_parent = true}).value();
                          // It does not heed a stop, only the end of its parent.
                          middle
                              .Spawn(gen::ProcessFactory([](gen::Process& itself) {
                                       while (itself.Sleep(1h)) {
                                       }
                                     }),
                                     {.link_parent = true})
                              .value();
                        }}));
  }));
  t.node.Stop();
  CHECK(notes.All()[0] == "free shutdown");
  CHECK(notes.size() == 2);
}

TEST_CASE("stop: a supervisor without a parent restarts nobody") {
  std::atomic<int> begun{0};
  kit::Diary diary;
  TestNode t;
  const gen::PID parent = t.Spawn();
  std::vector<act::SupervisorChildSpec> children;
  for (const char* name : {"a", "b", "c"}) {
    children.push_back({.name = name, .factory = Make({.init = [&](Subject&, const gen::Args&) {
                                        ++begun;
                                        return gen::Continue();
                                      }})});
  }
  CHECK(t.Run(parent, [&](Subject& self) {
    self.Spawn(kit::MakeSupervisor({.children = children}, &diary)).value();
  }));
  t.node.Stop();
  CHECK(begun == 3);
  CHECK(diary.Lines() == std::vector<std::string>{"start a", "start b", "start c",
                                                  "end c: shutdown", "end b: shutdown",
                                                  "end a: shutdown", "terminate: shutdown"});
}

TEST_CASE("stop: twice, at once, and afterwards") {
  std::vector<std::thread> threads;
  TestNode t;
  const gen::PID pid = t.Spawn();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      if (i == 3) t.node.StopForce();
      t.node.Stop();
      CHECK(t.node.Info().processes == 0);
    });
  }
  for (auto& thread : threads) thread.join();
  t.node.Stop();
  t.node.StopForce();
  t.node.Wait();
  CHECK(t.node.WaitForSignal());  // there is nothing to wait for
  CHECK(t.node.WaitProcess(pid));
  CHECK(t.node.ProcessList().empty());
}

// How many of a node's functions do not return kNodeTerminated.
int NotTerminated(gen::Node& node, const gen::Target& to, gen::PID pid) {
  int others = 0;
  auto check = [&](const auto& result) {
    if (result || result.error() != gen::ErrNodeTerminated) ++others;
  };
  check(node.Send(to, 1));
  check(node.SendImportant(to, 1));
  check(node.SendOrWait(to, 1, 1ms));
  check(node.SendAfter(to, 1, 1ms));
  check(node.SendEvery(to, 1, 1ms));
  check(node.SendExit(to, gen::Reason::Shutdown()));
  check(node.Call<int>(to, 1));
  check(node.CallAsync<int>(to, 1).get());
  check(node.Inspect(to));
  check(node.StopProcess(to));
  check(node.Suspend(to));
  check(node.Resume(to));
  check(node.Spawn(Make({})));
  check(node.SpawnRegister("new", Make({})));
  check(node.RegisterName("new", pid));
  check(node.UnregisterName("named"));
  check(node.Kill(pid));
  check(node.ProcessInfo(pid));
  check(node.JoinGroup("group", pid));
  check(node.LeaveGroup("group", pid));
  check(node.OneOf("group"));
  check(node.SendToGroup("group", 1));
  check(node.SetLogLevel(gen::LogLevel::kDebug));
  check(node.SetProcessLogLevel(to, gen::LogLevel::kDebug));
  check(node.SetMailboxSize(10));
  check(node.SetProcessMailboxSize(to, 10));
  check(node.Change({.mailbox_size = 10}));
  check(node.ReloadOptions());
  check(node.LoadApplication({.name = "application"}));
  check(node.UnloadApplication("application"));
  check(node.StartApplication("application"));
  check(node.StopApplication("application"));
  check(node.StopApplicationForce("application"));
  check(node.ApplicationInfo("application"));
  check(node.AddCronJob({.name = "job"}));
  check(node.RemoveCronJob("job"));
  check(node.EnableCronJob("job"));
  check(node.DisableCronJob("job"));
  check(node.CronJobInfo("job"));
  return others;
}

TEST_CASE("stop: afterwards all is refused with kNodeTerminated, whoever it is about") {
  TestNode t;
  const gen::PID pid = t.node.SpawnRegister("named", Make({})).value();
  gen::Alias alias;
  gen::Node* inner = nullptr;  // as processes, and threads of theirs, see it
  CHECK(t.Run(pid, [&](Subject& self) {
    alias = self.CreateAlias().value();
    inner = &self.Node();
  }));
  const gen::PID ended = t.Spawn();
  t.node.Kill(ended).value();
  CHECK(t.Ended(ended));
  CHECK(t.node.Send(ended, 1).error() == gen::ErrProcessTerminated);
  CHECK(t.node.Send("nobody", 1).error() == gen::ErrProcessUnknown);
  t.node.Stop();
  for (gen::Node* const node : {static_cast<gen::Node*>(&t.node), inner}) {
    CAPTURE(node == inner);
    CHECK(NotTerminated(*node, pid, pid) == 0);
    CHECK(NotTerminated(*node, ended, ended) == 0);
    CHECK(NotTerminated(*node, "named", pid) == 0);
    CHECK(NotTerminated(*node, "nobody", pid) == 0);
    CHECK(NotTerminated(*node, alias, pid) == 0);
    CHECK(NotTerminated(*node, gen::PID(), gen::PID()) == 0);
    CHECK(node->WaitProcess(pid));  // it has ended, which is what was waited for
  }
}

// ---- a node that would have to wait for its own handler

TEST_CASE("stop: child that destroys its node in a handler" * doctest::skip()) {
  kit::ChildBegins();
  auto node = std::make_unique<Node>(Start("test@localhost").value());
  const gen::PID pid = node->Spawn(Make({})).value();
  (void)node->Call<bool>(pid, Do{[&](Subject&) { node.reset(); }});
}

TEST_CASE("stop: child that calls exit in a handler" * doctest::skip()) {
  kit::ChildBegins();
  static Node node = Start("test@localhost").value();
  const gen::PID pid = node.Spawn(Make({})).value();
  (void)node.Call<bool>(pid, Do{[](Subject&) { std::exit(3); }});  // NOLINT(concurrency-mt-unsafe)
}

TEST_CASE("stop: a node that ends inside its own handler ends the program, with words") {
  for (const char* const name : {"stop: child that destroys its node in a handler",
                                 "stop: child that calls exit in a handler"}) {
    CAPTURE(name);
    kit::Child child(name);
    const std::string errors = child.Errors();
    CAPTURE(errors);
    CHECK(errors.find("ergon: node::Node::~Node: test@localhost: a handler of <") !=
          std::string::npos);
    CHECK(errors.find("Subject) of ergon::node::Do ") != std::string::npos);
    CHECK(errors.find("Node().Stop()") != std::string::npos);
    CHECK(child.IsAborted());
  }
}

TEST_CASE("stop: from inside a turn, in Init and in Terminate") {
  for (const bool force : {false, true}) {
    CAPTURE(force);
    TestNode t;
    std::atomic<bool> went_on{false};
    const gen::PID pid = t.Spawn();
    for (int i = 0; i < 5; ++i) t.Spawn();
    t.Begin(pid, [&](Subject& self) {
      force ? self.Node().StopForce() : self.Node().Stop();
      self.Node().Stop();
      self.Node().Wait();  // refused: it would wait for itself
      went_on = true;
    });
    t.node.Wait();
    CHECK(went_on);
    CHECK(t.node.Info().processes == 0);
  }
  {
    TestNode t;
    (void)t.node.Spawn(Make({.init = [](Subject& self, const gen::Args&) {
      self.Node().Stop();
      return gen::Continue();
    }}));
    t.node.Wait();
  }
  {
    TestNode t;
    const gen::PID pid =
        t.Spawn({.terminate = [](Subject& self, const gen::Reason&) { self.Node().Stop(); }});
    CHECK(t.node.Kill(pid));
    t.node.Wait();
  }
}

TEST_CASE("stop: during spawns, from outside and by processes") {
  for (int round = 0; round < kit::Scaled(100); ++round) {
    TestNode t;
    std::atomic<int> started{0};
    std::atomic<int> ended{0};
    auto handlers =
        Handlers{.init =
                     [&](Subject&, const gen::Args&) {
                       started.fetch_add(1);
                       return gen::Continue();
                     },
                 .terminate = [&](Subject&, const gen::Reason&) { ended.fetch_add(1); }};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (;;) {
          auto pid = t.node.Spawn(Make(handlers));
          if (!pid) {
            CHECK((pid.error() == gen::ErrNodeTerminated ||
                   pid.error() == gen::ErrProcessTerminated));
            break;
          }
        }
      });
    }
    const gen::PID breeder = t.Spawn();
    t.Begin(breeder, [&](Subject& self) {
      for (int i = 0; i < 2'000 && self.Spawn(Make(handlers)); ++i) {
      }
    });
    while (started < 20) std::this_thread::yield();
    round % 2 == 0 ? t.node.Stop() : t.node.StopForce();
    for (auto& thread : threads) thread.join();
    CHECK(started == ended);
    CHECK(t.node.Info().processes == 0);
  }
}

TEST_CASE("stop: with full mailboxes and waiting callers") {
  int sent = 0;
  std::atomic<int> handled{0};
  std::vector<gen::PID> pids;
  TestNode t;
  kit::Gate gate(t.node);  // the first process, so it is stopped last
  for (int i = 0; i < 10; ++i) {
    pids.push_back(t.Spawn({.message =
                                [&](Subject&, gen::PID, gen::Message&) {
                                  handled.fetch_add(1);
                                  return gen::Continue();
                                }},
                           {.mailbox_size = 100}));
    t.Begin(pids.back(), [to = gate.pid()](Subject& self) {
      (void)self.Call<bool>(to, kit::EnterGate{}, {.timeout = gen::kInfinite});
    });
    REQUIRE(t.EventuallyWaiting(pids.back()));
    while (t.node.Send(pids.back(), 1)) ++sent;
  }
  std::jthread opener([&] {
    CHECK(kit::Eventually([&] { return t.IsStopping(); }));
    gate.Open();
  });
  t.node.Stop();
  CHECK(sent >= 1'000);
  CHECK(handled == sent);
  CHECK(t.node.Info().dropped_terminated == 0);
}

TEST_CASE("stop: StopForce drops what waits, at once") {
  std::atomic<int> handled{0};
  std::atomic<int> unwound{0};
  std::atomic<int> terminated{0};
  TestNode t({.shutdown_timeout = kit::kDeadline * 10});
  const gen::PID pid = t.Spawn({.message =
                                    [&](Subject&, gen::PID, gen::Message&) {
                                      handled.fetch_add(1);
                                      return gen::Continue();
                                    },
                                .terminate =
                                    [&](Subject&, const gen::Reason& reason) {
                                      CHECK(reason == gen::Reason::Kill());
                                      terminated.fetch_add(1);
                                    }});
  t.Begin(pid, [&](Subject& self) {
    Unwound guard(unwound);
    (void)self.Sleep(gen::kInfinite);
  });
  CHECK(t.EventuallyWaiting(pid));
  for (int i = 0; i < 10; ++i) CHECK(t.node.Send(pid, i));
  auto call = t.node.CallAsync<int>(pid, 1, {.timeout = gen::kInfinite});
  // An orderly stop that waits for it is overtaken.
  std::thread stopper([&] { t.node.Stop(); });
  CHECK(kit::Eventually([&] { return t.IsStopping(); }));
  t.node.StopForce();
  stopper.join();
  CHECK(call.get().error() == gen::ErrProcessTerminated);
  CHECK(handled == 0);
  CHECK(unwound == 1);
  CHECK(terminated == 1);
  CHECK(t.node.Info().dropped_terminated == 11);
}

TEST_CASE("stop: after the deadline everything is killed; a busy handler is named and waited for") {
  std::atomic<bool> returned{false};
  TestNode t({.shutdown_timeout = 10ms});
  kit::ThreadGate gate;
  const gen::PID waits = t.Spawn();
  t.Begin(waits, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(waits));
  const gen::PID busy = t.Spawn();
  t.Begin(busy, [&, enter = gate.Holder()](Subject&) {
    enter();
    returned = true;
  });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::thread stopper([&] { t.node.Stop(); });
  CHECK(kit::Eventually([&] { return t.log.Contains("cannot stop yet: " + busy.ToString()); }));
  CHECK(t.Ended(waits));
  CHECK(!t.log.Contains("cannot stop yet: " + waits.ToString()));
  gate.Open();
  stopper.join();
  CHECK(returned);
}

TEST_CASE("stop: calls that nobody answers end with the node") {
  TestNode t;
  const gen::PID keeps =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  auto call = t.node.CallAsync<int>(keeps, 1, {.timeout = gen::kInfinite});
  std::thread blocked([&] {
    CHECK(t.node.Call<int>(keeps, 1, {.timeout = gen::kInfinite}).error() ==
          gen::ErrProcessTerminated);
  });
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(keeps)->messages_handled == 2; }));
  t.node.Stop();
  CHECK(call.get().error() == gen::ErrProcessTerminated);
  blocked.join();
}

TEST_CASE("stop: StopProcess handles what waits, then ends with normal") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID pid = t.Spawn(Note(notes, "a"));
  kit::ThreadGate gate;
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, i));
  CHECK(t.node.StopProcess(pid, 1ms).error() == gen::ErrTimeout);
  gate.Open();
  CHECK(t.Ended(pid));
  CHECK(notes.All() == std::vector<std::string>{"a0", "a1", "a2", "a normal"});
  CHECK(t.node.StopProcess(pid).error() == gen::ErrProcessTerminated);
  CHECK(t.node.WaitProcess(t.Spawn(), 1ms).error() == gen::ErrTimeout);
}

TEST_CASE("stop: while others send, call and time") {
  for (int round = 0; round < kit::Scaled(40, 10); ++round) {
    TestNode t;
    std::vector<gen::PID> pids;
    for (int i = 0; i < 10; ++i) {
      pids.push_back(t.Spawn(
          {.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); },
           .call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(1); }},
          {.mailbox_size = 1'000}));
    }
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      while (!done) {
        for (const gen::PID pid : pids) (void)t.node.Send(pid, 1);
        std::this_thread::yield();
      }
    });
    threads.emplace_back([&] {
      while (!done) {
        for (const gen::PID pid : pids) {
          auto answer = t.node.Call<int>(pid, 1, {.timeout = kit::kDeadline});
          CHECK((answer || answer.error() != gen::ErrTimeout));
        }
      }
    });
    for (const gen::PID pid : pids) {
      // Its Main lane may be full.
      auto work = [&](Subject& self) {
        for (const gen::PID other : pids) {
          if (other == self.Self()) continue;
          (void)self.Call<int>(other, 1, {.timeout = 20us});
          (void)self.SendAfter(other, 1, 1us);
        }
      };
      (void)t.node.SendWithPriority(pid, Do{work}, gen::MessagePriority::kHigh);
    }
    t.node.Stop();
    done = true;
    for (auto& thread : threads) thread.join();
    CHECK(t.node.Info().processes == 0);
  }
}

}  // namespace
}  // namespace ergon::node
