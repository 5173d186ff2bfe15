// What has caught others: races and corners of the whole runtime.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Crash;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::ManagedPool;
using kit::Prober;
using kit::Sequence;

// -- scheduling --

TEST_CASE("Lost wake-up: a message to a process that is about to go idle is handled") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(2);
  constexpr int kRounds = kit::Scaled(30'000);
  // Each call meets processes and threads that have just become idle; a lost wake-up would be the
  // end.
  kit::Threads callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 3; ++c) {
    callers.Start([&] {
      for (int i = 0; i < kRounds; ++i) {
        const auto answer =
            fixture.node.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline});
        if (!answer || answer->value != i) {
          wrong.fetch_add(1);
          return;
        }
      }
    });
  }
  callers.Join();
  CHECK(wrong == 0);
}

TEST_CASE("Park and steal: what a handler sends is handled by others while it goes on") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(1);
  constexpr int kRounds = kit::Scaled(1'000, 5);
  kit::ProberHandle sender(fixture.node);
  std::atomic<int> handled{0};
  std::atomic<bool> stuck{false};
  sender
      .Run([&](Prober& self) {
        for (int i = 1; i <= kRounds && !stuck; ++i) {
          self.Send(pool.pid(), Job{i,
                                    [&handled, i](kit::Worker&) {
                                      handled = i;
                                      return gen::Continue();
                                    }})
              .value();
          // Does not give its thread back: the other one has to notice, mostly while it parks.
          stuck = !Eventually([&] { return handled == i; });
        }
      })
      .value();
  CHECK_FALSE(stuck);
  CHECK(handled == kRounds);
}

// A process that is always ready: it sends to itself, or to its partner, which sends back.
struct Spin {
  gen::PID next;
};
class Spinner : public act::Actor {
 public:
  explicit Spinner(std::shared_ptr<std::atomic<bool>> stop) : stop_(std::move(stop)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (*stop_) return gen::Continue();
    const gen::PID next = message.Take<Spin>().next;
    Send(next, Spin{next == Self() ? next : Self()}).value();
    return gen::Continue();
  }
  std::shared_ptr<std::atomic<bool>> stop_;
};

// How soon is a workload of the benchmark: `ergon-bench latency_under_load`.
TEST_CASE("Starvation: as many never-ending processes as threads, a fresh one runs") {
  kit::NodeFixture fixture({.workers = 2});
  auto stop = std::make_shared<std::atomic<bool>>(false);
  const auto spinner = [&] { return fixture.node.Spawn(gen::Factory<Spinner>(stop)).value(); };
  SUBCASE("each sends to itself") {
    for (int i = 0; i < 2; ++i) {
      const gen::PID pid = spinner();
      fixture.node.Send(pid, Spin{pid}).value();
    }
  }
  SUBCASE("pairs send to each other") {
    for (int i = 0; i < 2; ++i) {
      const gen::PID first = spinner();
      const gen::PID second = spinner();
      fixture.node.Send(first, Spin{second}).value();
    }
  }
  for (int i = 0; i < 11; ++i) {
    auto pool = fixture.StartPool(1);
    CHECK(
        fixture.node.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline}).value().value ==
        i);
  }
  *stop = true;
}

TEST_CASE("A handler blocks its thread: what was ready behind it is run by others") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(8);
  kit::ThreadGate gate;
  kit::ProberHandle sender(fixture.node);
  sender.Start([&](Prober& self) {
    // The workers become ready on this thread, which then blocks.
    for (int i = 0; i < 800; ++i) self.Send(pool.pid(), Job{i}).value();
    gate.Enter();
  });
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  CHECK(pool.EventuallyHandled(800));
  gate.Open();
}

TEST_CASE("A mailbox changes hands between threads: nothing is lost, the order is kept") {
  kit::NodeFixture fixture({.workers = 4, .throughput = 1});
  constexpr int kCount = kit::Scaled(20'000);
  auto pool = fixture.StartPool(1);
  kit::ProberHandle sender(fixture.node);
  // A turn for each message, on whatever thread takes it.
  auto other = fixture.StartPool(4);
  kit::Threads noise;
  for (int i = 0; i < 2; ++i) {
    noise.Start([&] {
      while (!noise.stopped()) (void)fixture.node.Call<Answer>(other.pid(), Ask{1});
    });
  }
  sender
      .Run([&](Prober& self) {
        for (int i = 0; i < kCount; ++i) {
          self.Send(pool.pid(), Job{i}).value();
          if (i % 100 == 0) (void)self.Call<Answer>(pool.pid(), Ask{i}).value();
        }
      })
      .value();
  REQUIRE(pool.EventuallyHandled(kCount + kCount / 100));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, kCount));
}

// -- ends --

// Counts what it handles.
class Sink : public act::Actor {
 public:
  explicit Sink(std::shared_ptr<std::atomic<int>> handled) : handled_(std::move(handled)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    handled_->fetch_add(1);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    handled_->fetch_add(1);
    return gen::Reply(1);
  }
  std::shared_ptr<std::atomic<int>> handled_;
};

TEST_CASE("Sends that race with the end: handled, refused or counted, never success and lost") {
  kit::NodeFixture fixture;
  constexpr int kRounds = kit::Scaled(300, 10);
  constexpr int kMostWaiting = 10'000;
  auto handled = std::make_shared<std::atomic<int>>(0);
  std::atomic<int> accepted{0};
  std::atomic<int> timeouts{0};
  for (int round = 0; round < kRounds; ++round) {
    const gen::PID target = fixture.node.Spawn(gen::Factory<Sink>(handled)).value();
    std::atomic<bool> go{false};
    const int before = *handled;
    std::atomic<int> sent{0};
    kit::Threads senders;
    for (int s = 0; s < 2; ++s) {
      senders.Start([&] {
        while (!go) {
        }
        while (fixture.node.Send(target, 1)) {
          accepted.fetch_add(1);
          // The one that ends it needs a processor, too, and what waits needs memory.
          if (sent.fetch_add(1) - (*handled - before) > kMostWaiting) std::this_thread::yield();
        }
      });
    }
    senders.Start([&] {
      while (!go) {
      }
      for (;;) {
        // A call that was accepted gets its answer or an error, never its time-out.
        const auto answer = fixture.node.Call<int>(target, 1, {.timeout = kit::kDeadline});
        if (!answer) {
          if (answer.error() == gen::ErrTimeout) timeouts.fetch_add(1);
          break;
        }
        accepted.fetch_add(1);
      }
    });
    go = true;
    std::this_thread::yield();
    if (round % 3 == 0) {
      fixture.node.Kill(target).value();
    } else if (round % 3 == 1) {
      fixture.node.SendExit(target, gen::Reason::Shutdown()).value();
    } else {
      fixture.node.StopProcess(target, kit::kDeadline).value();
    }
    senders.Join();
  }
  CHECK(timeouts == 0);
  // Calls that ended with an error may have been refused or dropped.
  CHECK(Eventually([&] {
    const auto info = fixture.node.Info();
    const auto known =
        static_cast<std::uint64_t>(*handled) + info.dropped_terminated + info.dropped_unknown;
    return known >= static_cast<std::uint64_t>(accepted) &&
           known <= static_cast<std::uint64_t>(accepted) + kRounds;
  }));
}

TEST_CASE("Sends through a pool whose workers end all the time") {
  kit::NodeFixture fixture;
  constexpr int kCount = kit::Scaled(20'000);
  auto pool = fixture.StartPool(3);
  kit::Threads senders;
  std::atomic<int> refused{0};
  for (int s = 0; s < 2; ++s) {
    senders.Start([&, s] {
      for (int i = 0; i < kCount; ++i) {
        const int value = s * kCount + i;
        const Job job = i % 500 == 7 ? Job{value, Crash("now and then")} : Job{value};
        if (!fixture.node.Send(pool.pid(), job)) refused.fetch_add(1);
      }
    });
  }
  senders.Join();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 2u * kCount; }));
  CHECK(refused == 0);
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 2 * kCount));
  REQUIRE(pool.EventuallyAtRest());
  const auto stats = pool.Stats();
  CHECK(stats["messages_forwarded"] == 2 * kCount);
  CHECK(stats["messages_lost"] == 2 * (kCount / 500));
}

TEST_CASE("Killed while a handler runs, twice: it is the last one, and one end") {
  kit::NodeFixture fixture({.workers = 3});
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  watcher.Watch(workers[0]);
  kit::ThreadGate gate;
  fixture.node.Send(workers[0], Job{1, Block(gate)}).value();
  fixture.node.Send(workers[0], Job{2}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  fixture.node.Kill(workers[0]).value();
  (void)fixture.node.Kill(workers[0]);
  fixture.node.SendExit(workers[0], gen::Reason::Error("too late")).value();
  gate.Open();
  REQUIRE(watcher.EventuallyDown(workers[0]));
  CHECK(watcher.inbox().ReasonOf(workers[0]) == gen::Reason::Kill());
  CHECK(fixture.workers->done.Has(1));
  // The message behind it was sent to the worker itself; as its successor's it is not lost either.
  CHECK(Eventually([&] { return fixture.workers->jobs.Times(2) == 1; }));
  CHECK(fixture.workers->jobs.WorkerOf(2) != workers[0]);
  CHECK(Eventually([&] { return fixture.workers->ReasonsOf(workers[0]).size() == 1; }));
  CHECK(watcher.inbox().DownsOf(workers[0]) == 1);
  CHECK(fixture.node.Kill(workers[0]).error() == gen::ErrProcessTerminated);
  CHECK(pool.EventuallyComplete(2));
}

TEST_CASE("A process ends itself inside its handler, in all the ways there are") {
  kit::NodeFixture fixture;
  kit::ProberHandle watcher(fixture.node);
  kit::ProberHandle victim(fixture.node);
  watcher.Watch(victim.pid());
  gen::Reason reason;
  SUBCASE("by an exit signal to itself, which it handles next") {
    reason = gen::Reason::Error("leave");
    victim.Start([reason](Prober& self) { self.SendExit(self.Self(), reason).value(); });
  }
  SUBCASE("by killing itself") {
    reason = gen::Reason::Kill();
    victim.Start([](Prober& self) { self.Node().Kill(self.Self()).value(); });
  }
  SUBCASE("by an exception") {
    reason = gen::Reason::Panic("boom");
    victim.Start([](Prober&) { throw std::runtime_error("boom"); });
  }
  SUBCASE("by an exception below a call that failed") {
    reason = gen::Reason::Panic("process is unknown");
    victim.Start([](Prober& self) { (void)self.Call<int>("nobody", 1).value(); });
  }
  REQUIRE(watcher.EventuallyDown(victim.pid()));
  const std::string text = watcher.inbox().ReasonOf(victim.pid()).ToString();
  CAPTURE(text);
  CHECK(text.starts_with(reason.ToString()));
  CHECK(watcher.inbox().DownsOf(victim.pid()) == 1);
}

TEST_CASE("Ended while it waits in a call: the call returns, the process ends") {
  kit::NodeFixture fixture;
  kit::ProberHandle watcher(fixture.node);
  kit::ProberHandle victim(fixture.node);
  kit::Gate gate(fixture.node);
  watcher.Watch(victim.pid());
  std::atomic<bool> told{false};
  victim.Start([&, pid = gate.pid()](Prober& self) {
    const auto passed = self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
    told = !passed && passed.error() == gen::ErrProcessTerminated;
  });
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  SUBCASE("killed") { fixture.node.Kill(victim.pid()).value(); }
  SUBCASE("by an exit signal") {
    fixture.node.SendExit(victim.pid(), gen::Reason::Error("leave")).value();
  }
  REQUIRE(watcher.EventuallyDown(victim.pid()));
  CHECK(told);
}

TEST_CASE("Ended during its Init: the spawn fails, and so it is for a child's") {
  kit::NodeFixture fixture;
  kit::Gate gate(fixture.node);
  std::atomic<std::uint64_t> pid{0};
  fixture.workers->SetInit([&, to = gate.pid()](kit::Worker& worker) {
    pid = worker.Self().id;
    const bool may_go_on =
        worker.Call<bool>(to, kit::EnterGate{}, {.timeout = gen::kInfinite}).has_value();
    return may_go_on ? gen::Continue() : gen::Stop(gen::Reason::Error("ended in its Init"));
  });
  const auto factory = gen::Factory<kit::Worker>(fixture.workers);
  kit::ProberHandle parent(fixture.node);
  std::future<gen::Result<gen::PID>> spawned;
  SUBCASE("spawned by the node") {
    spawned = std::async(std::launch::async, [&] { return fixture.node.Spawn(factory); });
  }
  SUBCASE("spawned by a process") {
    spawned = std::async(std::launch::async, [&] {
      gen::Result<gen::PID> result = gen::ErrTimeout;
      parent.Run([&](Prober& self) { result = self.Spawn(factory); }).value();
      return result;
    });
  }
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  const gen::PID child{pid, fixture.node.Self().node, fixture.node.Self().creation};
  fixture.node.Kill(child).value();
  const auto result = spawned.get();
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == gen::ErrProcessTerminated);
  CHECK(fixture.EventuallyGone(child));
}

TEST_CASE("Monitors: before, during and after the death, exactly one down each") {
  kit::NodeFixture fixture;
  kit::ProberHandle watcher(fixture.node);
  SUBCASE("before") {
    kit::ProberHandle victim(fixture.node);
    watcher.Watch(victim.pid());
    victim.Quit(gen::Reason::Error("gone"));
    REQUIRE(watcher.EventuallyDown(victim.pid()));
    CHECK(watcher.inbox().ReasonOf(victim.pid()) == gen::Reason::Error("gone"));
    CHECK(watcher.inbox().Downs().size() == 1);
  }
  SUBCASE("after") {
    kit::ProberHandle victim(fixture.node);
    victim.Quit();
    REQUIRE(fixture.EventuallyGone(victim.pid()));
    watcher.Watch(victim.pid());
    REQUIRE(watcher.EventuallyDown(victim.pid()));
    CHECK(watcher.inbox().ReasonOf(victim.pid()) == gen::Reason::NoProcess());
    CHECK(watcher.inbox().Downs().size() == 1);
  }
  SUBCASE("during, many times") {
    constexpr int kRounds = kit::Scaled(500, 10);
    for (int i = 0; i < kRounds; ++i) {
      kit::ProberHandle victim(fixture.node);
      victim.Quit();
      watcher.Watch(victim.pid());
      REQUIRE(watcher.EventuallyDown(victim.pid()));
    }
    CHECK(watcher.inbox().Downs().size() == kRounds);
  }
  SUBCASE("n monitors, n downs") {
    kit::ProberHandle victim(fixture.node);
    for (int i = 0; i < 7; ++i) watcher.Watch(victim.pid());
    victim.Quit();
    CHECK(Eventually([&] { return watcher.inbox().DownsOf(victim.pid()) == 7; }));
    std::vector<gen::Ref> refs;
    for (const auto& down : watcher.inbox().Downs()) refs.push_back(down.ref);
    std::sort(refs.begin(), refs.end());
    CHECK(std::unique(refs.begin(), refs.end()) == refs.end());
  }
  SUBCASE("none after Demonitor, also if it was on its way") {
    constexpr int kRounds = kit::Scaled(500, 10);
    for (int i = 0; i < kRounds; ++i) {
      kit::ProberHandle victim(fixture.node);
      std::size_t at_demonitor = 0;
      watcher
          .Run([&](Prober& self) {
            const gen::Ref ref = self.Monitor(victim.pid()).value();
            victim.Quit();
            if (i % 2 == 0) (void)Eventually([&] { return !fixture.IsAlive(victim.pid()); });
            (void)self.Demonitor(ref);
            at_demonitor = watcher.inbox().Downs().size();
          })
          .value();
      fixture.node.WaitProcess(victim.pid(), kit::kDeadline).value();  // and until all were told
      watcher.Run([](Prober&) {}).value();
      REQUIRE(watcher.inbox().Downs().size() == at_demonitor);
    }
  }
  SUBCASE("a pool is one process like any other") {
    auto pool = fixture.StartPool(2);
    watcher.Watch(pool.pid());
    fixture.node.Kill(pool.pid()).value();
    REQUIRE(watcher.EventuallyDown(pool.pid()));
    CHECK(watcher.inbox().Downs().size() == 1);
  }
}

TEST_CASE("Links: each tells the other once, unlinked ones are left alone") {
  kit::NodeFixture fixture;
  kit::ProberHandle survivor(fixture.node);
  survivor.Run([](Prober& self) { self.SetTrapExit(true); }).value();
  kit::ProberHandle linked(fixture.node);
  kit::ProberHandle unlinked(fixture.node);
  survivor
      .Run([&](Prober& self) {
        self.Link(linked.pid()).value();
        self.Link(linked.pid()).value();  // twice is once
        self.Link(unlinked.pid()).value();
        self.Unlink(unlinked.pid()).value();
      })
      .value();
  unlinked.Quit(gen::Reason::Error("unlinked"));
  fixture.node.WaitProcess(unlinked.pid(), kit::kDeadline).value();  // and until all were told
  linked.Quit(gen::Reason::Error("linked"));
  REQUIRE(Eventually([&] { return !survivor.inbox().Exits().empty(); }));
  survivor.Run([](Prober&) {}).value();
  REQUIRE(survivor.inbox().Exits().size() == 1);
  CHECK(survivor.inbox().Exits()[0].pid == linked.pid());
  CHECK(survivor.inbox().Exits()[0].reason == gen::Reason::Error("linked"));
}

TEST_CASE("Aliases: delete each position of a list of 1..5, then die: every other one fires") {
  kit::NodeFixture fixture;
  for (int count = 1; count <= 5; ++count) {
    for (int deleted = 0; deleted < count; ++deleted) {
      CAPTURE(count);
      CAPTURE(deleted);
      kit::ProberHandle owner(fixture.node);
      kit::ProberHandle watcher(fixture.node);
      std::vector<gen::Alias> aliases;
      owner
          .Run([&](Prober& self) {
            for (int i = 0; i < count; ++i) aliases.push_back(self.CreateAlias().value());
          })
          .value();
      watcher
          .Run([&](Prober& self) {
            for (gen::Alias alias : aliases) self.Monitor(alias).value();
          })
          .value();
      owner.Run([&](Prober& self) { self.DeleteAlias(aliases[deleted]).value(); }).value();
      REQUIRE(Eventually([&] { return watcher.inbox().AliasDowns().size() == 1; }));
      CHECK(watcher.inbox().AliasDowns()[0].alias == aliases[deleted]);
      for (int i = 0; i < count; ++i) {
        const auto sent = fixture.node.Send(aliases[i], Answer{i, {}});
        CHECK(sent.has_value() == (i != deleted));
        if (!sent) CHECK(sent.error() == gen::ErrProcessUnknown);
      }
      owner
          .Run([&](Prober& self) {
            if (self.DeleteAlias(aliases[deleted])) throw std::logic_error("deleted twice");
          })
          .value();
      CHECK(owner.inbox().Answers().size() == static_cast<std::size_t>(count - 1));
      owner.Quit(gen::Reason::Error("gone"));
      REQUIRE(Eventually(
          [&] { return watcher.inbox().AliasDowns().size() == static_cast<std::size_t>(count); }));
      std::vector<gen::Alias> fired;
      for (const auto& down : watcher.inbox().AliasDowns()) fired.push_back(down.alias);
      std::sort(fired.begin(), fired.end());
      std::sort(aliases.begin(), aliases.end());
      CHECK(fired == aliases);
      for (gen::Alias alias : aliases) {
        CHECK(fixture.node.Send(alias, 1).error() == gen::ErrProcessUnknown);
      }
    }
  }
}

// -- calls --

TEST_CASE("Calls: the response may come before the wait, on another thread") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(2);
  constexpr int kRounds = kit::Scaled(20'000);
  std::vector<kit::ProberHandle> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(fixture.node);
  std::atomic<int> right{0};
  for (auto& caller : callers) {
    caller.Start([&](Prober& self) {
      for (int i = 0; i < kRounds; ++i) {
        if (self.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline}).value().value == i) {
          right.fetch_add(1);
        }
      }
    });
  }
  CHECK(Eventually([&] { return right == 4 * kRounds; }));
}

TEST_CASE("Calls: answers and time-outs race, none of them reaches another call") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(2);
  constexpr int kRounds = kit::Scaled(2'000, 10);
  kit::ProberHandle caller(fixture.node);
  int wrong = 0;
  int answers = 0;
  int timeouts = 0;
  std::atomic<int> accepted{0};  // by what SendResponse says
  std::atomic<int> ignored{0};
  caller
      .Run([&](Prober& self) {
        // Until each of the two has come first now and then.
        for (int i = 0; i < kRounds || answers < 10 || timeouts < 10; ++i) {
          auto slow = [pause = std::chrono::microseconds(i % 50 * 10), &accepted, &ignored](
                          kit::Worker& worker, gen::PID from, gen::Ref ref) -> gen::CallResult {
            (void)worker.Sleep(pause);
            const auto sent = worker.SendResponse(from, ref, Answer{-1, worker.Self()});
            if (!sent && sent.error() != gen::ErrResponseIgnored)
              return gen::ReplyError(sent.error());
            ++(sent ? accepted : ignored);
            return gen::NoReply();
          };
          const auto late = self.Call<Answer>(pool.pid(), Ask{i, slow}, {.timeout = 250us});
          ++(late ? answers : timeouts);
          if (late && late->value != -1) ++wrong;
          if (!late && late.error() != gen::ErrTimeout) ++wrong;
          const auto next = self.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline});
          if (!next || next->value != i) ++wrong;
        }
      })
      .value();
  CHECK(wrong == 0);
  CHECK(pool.EventuallyAtRest());
  // Each answer that was accepted has reached its caller, and no other has. Who gave up may not have been begun.
  CHECK(accepted == answers);
  CHECK(ignored <= timeouts);
}

TEST_CASE("Calls: a response to nobody is told to the one who answers") {
  kit::NodeFixture fixture;
  kit::ProberHandle dead(fixture.node);
  kit::ProberHandle idle(fixture.node);
  gen::Ref made_up{12345, fixture.node.Self().node, fixture.node.Self().creation};
  dead.Quit();
  REQUIRE(fixture.EventuallyGone(dead.pid()));
  for (gen::PID to : {dead.pid(), idle.pid(), fixture.node.Self()}) {
    CAPTURE(to.ToString());
    CHECK(fixture.node.SendResponse(to, made_up, 1).error() == gen::ErrResponseIgnored);
    CHECK(fixture.node.SendResponseError(to, made_up, gen::ErrTimeout).error() ==
          gen::ErrResponseIgnored);
  }
  idle.Run([](Prober&) {}).value();
}

TEST_CASE("Calls to a process that does not exist, or belongs to another incarnation") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  gen::PID stranger = pool.pid();
  stranger.creation += 1;
  CHECK(fixture.node.Call<Answer>(stranger, Ask{1}, {.timeout = gen::kInfinite}).error() ==
        gen::ErrProcessIncarnation);
  CHECK(fixture.node.Send(stranger, Job{1}).error() == gen::ErrProcessIncarnation);
  CHECK(fixture.node.Send(gen::PID{}, Job{1}).error() == gen::ErrProcessUnknown);
  fixture.node.StopProcess(pool.pid(), kit::kDeadline).value();
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = gen::kInfinite}).error() ==
        gen::ErrProcessTerminated);
}

TEST_CASE("A node's blocking functions are refused on threads that run handlers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  kit::ProberHandle other(fixture.node);
  std::vector<std::string> not_refused;
  other
      .Run([&](Prober& self) {
        gen::Node& node = self.Node();
        const auto expect = [&](const char* name, const auto& result) {
          if (result || result.error() != gen::ErrNotAllowed) not_refused.emplace_back(name);
        };
        expect("Call", node.Call<Answer>(pool.pid(), Ask{1}));
        expect("Inspect", node.Inspect(pool.pid()));
        expect("Spawn", node.Spawn(gen::Factory<kit::Worker>(fixture.workers)));
        expect("SpawnRegister",
               node.SpawnRegister("x", gen::Factory<kit::Worker>(fixture.workers)));
        expect("StopProcess", node.StopProcess(pool.pid()));
        expect("WaitProcess", node.WaitProcess(pool.pid()));
        // These do not block.
        node.Send(pool.pid(), Job{1}).value();
        (void)node.ProcessList();
        (void)node.Info();
      })
      .value();
  CHECK(not_refused == std::vector<std::string>{});
  CHECK(pool.EventuallyHandled(1));
  CHECK(fixture.node.Resolve("x").error() == gen::ErrProcessUnknown);
}

// -- counters --

TEST_CASE("Counters: in = handled + lost + depth at every point of rest, in a random life") {
  constexpr int kRounds = kit::Scaled(60, 6);
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3, 50);
  std::mt19937 random(4711);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  int size = 3;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    kit::Gate gate(fixture.node);
    for (int step = 0; step < 40; ++step) {
      Job job{step};
      switch (below(12)) {
        case 0:
          job.then = Hold(gate);
          break;
        case 1:
          job.then = Crash("random");
          break;
        case 2:
          job.then = kit::End(gen::Reason::Normal());
          break;
        case 3:
          job.then = Then(Hold(gate), Crash("held"));
          break;
        case 4: {
          const auto workers = pool.Workers();
          if (!workers.empty()) (void)fixture.node.Kill(workers[below(int(workers.size()))]);
          continue;
        }
        case 5:
          if (size < 8) size = static_cast<int>(pool.Grow(1 + below(2)).value());
          continue;
        case 6:
          if (size > 2) size = static_cast<int>(pool.Shrink(1).value());
          continue;
        case 7:
          if (size > 2) size = static_cast<int>(pool.ShrinkNow(1).value());
          continue;
        default:
          break;
      }
      for (int copies = 1 + below(20); copies > 0; --copies) {
        ++(fixture.node.Send(pool.pid(), job) ? accepted : refused);
      }
    }
    gate.Open();
    REQUIRE(pool.EventuallyAtRest());
    REQUIRE(pool.EventuallyComplete(size));
    const auto stats = pool.Stats();
    CAPTURE(stats.ToString());
    REQUIRE(stats["messages_forwarded"] == accepted);
    REQUIRE(stats["messages_handled"] + stats["messages_lost"] == accepted);
    REQUIRE(stats["messages_unhandled"] == refused + stats["messages_lost_full"]);
    REQUIRE(fixture.workers->jobs.size() >= static_cast<std::size_t>(stats["messages_handled"]));
    REQUIRE(Eventually(
        [&] { return fixture.ChildrenOf(pool.pid()).size() == static_cast<std::size_t>(size); }));
  }
}

// -- the node's end --

TEST_CASE("Stop from inside a turn only begins it; Wait returns when all is done") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  std::atomic<bool> went_on{false};
  fixture.node
      .Send(pool.pid(), Job{1,
                            [&](kit::Worker& worker) {
                              worker.Node().Stop();
                              went_on = true;
                              return gen::Continue();
                            }})
      .value();
  fixture.node.Wait();
  CHECK(went_on);
  CHECK(fixture.node.Info().processes == 0);
  CHECK(fixture.pools->terminates == 1);
  fixture.node.Stop();
}

TEST_CASE("StopForce from inside a turn") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  fixture.node
      .Send(pool.pid(), Job{1,
                            [](kit::Worker& worker) {
                              worker.Node().StopForce();
                              return gen::Continue();
                            }})
      .value();
  fixture.node.Wait();
  CHECK(fixture.node.Info().processes == 0);
}

TEST_CASE("Stop during spawns: each succeeds or says why not, nothing is left") {
  for (int round = 0; round < kit::Scaled(20, 5); ++round) {
    kit::NodeFixture fixture;
    std::atomic<int> started{0};
    std::atomic<bool> odd_error{false};
    kit::Threads spawners;
    for (int s = 0; s < 2; ++s) {
      spawners.Start([&] {
        for (;;) {
          const auto pool = fixture.TryPool(fixture.Options(3));
          if (!pool) {
            const auto code = pool.error().code();
            if (code != gen::ErrorCode::kNodeTerminated &&
                code != gen::ErrorCode::kProcessTerminated) {
              odd_error = true;
            }
            return;
          }
          started.fetch_add(1);
        }
      });
    }
    REQUIRE(Eventually([&] { return started > 2; }));
    if (round % 2 == 0) {
      fixture.node.Stop();
    } else {
      fixture.node.StopForce();
    }
    spawners.Join();
    CHECK_FALSE(odd_error);
    CHECK(fixture.node.Info().processes == 0);
  }
}

TEST_CASE("Stop with full mailboxes, and twice, also at the same time") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 5);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  int accepted = 0;
  while (fixture.node.Send(pool.pid(), Job{accepted})) ++accepted;
  CHECK(accepted == 10);
  auto first = std::async(std::launch::async, [&] { fixture.node.Stop(); });
  auto second = std::async(std::launch::async, [&] { fixture.node.Stop(); });
  gate.Open();
  CHECK(first.wait_for(kit::kDeadline) == std::future_status::ready);
  CHECK(second.wait_for(kit::kDeadline) == std::future_status::ready);
  fixture.node.Stop();
  fixture.node.StopForce();
  fixture.node.Wait();
  CHECK(fixture.workers->jobs.size() == 12);
  CHECK(fixture.node.Info().processes == 0);
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = gen::kInfinite}).has_value() ==
        false);
}

TEST_CASE("Notices of a former incarnation under the same name do not concern the new one") {
  kit::NodeFixture fixture;
  kit::ProberHandle watcher(fixture.node);
  const auto factory = gen::Factory<ManagedPool>(fixture.pools);
  const auto args = gen::MakeArgs(fixture.Options(2));
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const gen::PID first = fixture.node.SpawnRegister("jobs", factory, {}, args).value();
    gen::Ref by_name;
    watcher.Run([&](Prober& self) { by_name = self.Monitor("jobs").value(); }).value();
    fixture.node.Kill(first).value();
    fixture.node.WaitProcess(first, kit::kDeadline).value();
    const gen::PID second = fixture.node.SpawnRegister("jobs", factory, {}, args).value();
    CHECK(second != first);
    // One notice, of the first; none about the second, which lives.
    REQUIRE(Eventually(
        [&] { return watcher.inbox().NameDowns().size() == static_cast<std::size_t>(round + 1); }));
    CHECK(watcher.inbox().NameDowns().back().ref == by_name);
    // The second is not concerned by signals that are meant for the first.
    (void)fixture.node.Kill(first);
    (void)fixture.node.SendExit(first, gen::Reason::Error("stale"));
    CHECK(fixture.node.Send(first, Job{-1}).error() == gen::ErrProcessTerminated);
    CHECK(fixture.node.Call<Answer>("jobs", Ask{round}).value().value == round);
    CHECK(fixture.IsAlive(second));
    fixture.node.StopProcess(second, kit::kDeadline).value();
  }
  watcher.Run([](Prober&) {}).value();
  CHECK(watcher.inbox().NameDowns().size() == 20);
}

}  // namespace
}  // namespace ergon
