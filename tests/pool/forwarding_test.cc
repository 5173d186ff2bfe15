// Who handles what is sent to a pool.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using gen::MessagePriority;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::Job;
using kit::ManagedPool;
using kit::Prober;
using kit::Sequence;
using namespace std::chrono_literals;

TEST_CASE("A normal send to the pool is handled by exactly one worker; it sees the sender") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  kit::ProberHandle sender(fixture.node);
  const auto workers = pool.Workers();

  sender.Run([&](Prober& self) { self.Send(pool.pid(), Job{7}).value(); }).value();

  REQUIRE(pool.EventuallyHandled(1));
  const auto records = fixture.workers->jobs.All();
  REQUIRE(records.size() == 1);
  CHECK(records[0].value == 7);
  CHECK(records[0].from == sender.pid());
  CHECK(std::count(workers.begin(), workers.end(), records[0].worker) == 1);
  CHECK(fixture.pools->messages.size() == 0);
  CHECK(pool.Stats()["messages_forwarded"] == 1);

  // What the worker sends to `from` reaches the sender, from the worker.
  fixture.node
      .Send(pool.pid(), Job{8,
                            [to = sender.pid()](kit::Worker& worker) {
                              worker.Send(to, Answer{8, worker.Self()}).value();
                              return gen::Continue();
                            }})
      .value();
  REQUIRE(Eventually([&] { return sender.inbox().Answers().size() == 1; }));
  CHECK(sender.inbox().Answers()[0].worker == fixture.workers->jobs.WorkerOf(8));
  // Sent from outside of processes: the node is the sender.
  CHECK(fixture.workers->jobs.All()[1].from == fixture.node.Self());
}

TEST_CASE("A normal call is answered by the worker with the original ref") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();
  kit::ProberHandle caller(fixture.node);

  SUBCASE("by returning a reply") {
    std::atomic<int> value{0};
    caller
        .Run([&](Prober& self) {
          value = self.Call<Answer>(pool.pid(), Ask{5}, {.timeout = kit::kDeadline}).value().value;
        })
        .value();
    CHECK(value == 5);
  }
  SUBCASE("by SendResponse to what the worker saw as the sender and the ref") {
    std::atomic<int> value{0};
    auto respond = [](kit::Worker& worker, gen::PID from, gen::Ref ref) -> gen::CallResult {
      worker.SendResponse(from, ref, Answer{6, worker.Self()}).value();
      return gen::NoReply();
    };
    caller
        .Run([&](Prober& self) {
          value = self.Call<Answer>(pool.pid(), Ask{5, respond}, {.timeout = kit::kDeadline})
                      .value()
                      .value;
        })
        .value();
    CHECK(value == 6);
  }
  SUBCASE("with an error of the worker's") {
    auto respond = [](kit::Worker&, gen::PID, gen::Ref) {
      return gen::ReplyError(gen::Error("no such item"));
    };
    std::string text;
    caller
        .Run([&](Prober& self) {
          text = self.Call<Answer>(pool.pid(), Ask{5, respond}).error().ToString();
        })
        .value();
    CHECK(text == "no such item");
  }

  REQUIRE(pool.EventuallyHandled(1));
  const auto records = fixture.workers->calls.All();
  REQUIRE(records.size() == 1);
  CHECK(records[0].from == caller.pid());
  CHECK(records[0].worker == workers[0]);
  CHECK(fixture.pools->calls.size() == 0);
}

TEST_CASE("Calls from threads that are no process, waiting and not, are answered by workers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  auto first = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline});
  const auto second =
      fixture.node.Call<Answer>(pool.pid(), Ask{2}, {.timeout = kit::kDeadline}).value();
  CHECK(second.value == 2);
  CHECK(first.get().value().value == 1);
  CHECK(fixture.workers->calls.size() == 2);
  CHECK(fixture.pools->calls.size() == 0);

  const auto wrong = fixture.node.Call<std::string>(pool.pid(), Ask{3});
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error() == gen::ErrUnexpectedType);
}

TEST_CASE("High and max messages and calls are handled by the pool itself") {
  kit::NodeFixture fixture;
  SUBCASE("from outside") {
    auto pool = fixture.StartPool(2);
    const auto to = pool.pid();
    fixture.node.SendWithPriority(to, Job{1}, MessagePriority::kHigh).value();
    fixture.node.SendWithPriority(to, Job{2}, MessagePriority::kMax).value();
    for (const auto priority : {MessagePriority::kHigh, MessagePriority::kMax}) {
      const auto answer =
          fixture.node.Call<Answer>(to, Ask{3}, {.timeout = kit::kDeadline, .priority = priority});
      CHECK(answer.value().worker == to);
    }
    REQUIRE(Eventually([&] { return fixture.pools->messages.size() == 2; }));
    CHECK(fixture.pools->messages.SortedValues() == std::vector<int>{1, 2});
    CHECK(fixture.pools->calls.size() == 2);
    CHECK(pool.Stats()["messages_forwarded"] == 0);
  }
  SUBCASE("from the pool itself: a request, which it could not answer, is refused") {
    int refused = 0;
    const auto ask = [&refused](ManagedPool& self) {
      for (const auto priority : {MessagePriority::kHigh, MessagePriority::kMax}) {
        const auto answer = self.Call<Answer>(self.Self(), Ask{1}, {.priority = priority});
        if (!answer && answer.error() == gen::ErrDeadlock) ++refused;
      }
    };
    fixture.pools->on_init = ask;
    auto pool = fixture.StartPool(2);
    CHECK(refused == 2);
    CHECK(pool.Run<bool>([&](ManagedPool& self) -> gen::Result<bool> {
      ask(self);
      return true;
    }));
    CHECK(refused == 4);
    CHECK(fixture.pools->calls.size() == 0);
  }
  SUBCASE("from a process, by the call and by its own default") {
    auto pool = fixture.StartPool(2);
    kit::ProberHandle sender(fixture.node, {.send_priority = MessagePriority::kHigh});
    gen::PID answered_by;
    sender
        .Run([&](Prober& self) {
          self.Send(pool.pid(), Job{1}).value();
          answered_by = self.Call<Answer>(pool.pid(), Ask{2}).value().worker;
          // A priority of its own goes before the default.
          self.SendWithPriority(pool.pid(), Job{3}, MessagePriority::kNormal).value();
        })
        .value();
    CHECK(answered_by == pool.pid());
    CHECK(fixture.pools->messages.Values() == std::vector<int>{1});
    REQUIRE(pool.EventuallyHandled(1));
    CHECK(fixture.workers->jobs.Values() == std::vector<int>{3});
  }
  SUBCASE("from the pool's own Init") {
    fixture.pools->on_init = [](ManagedPool& self) {
      self.SendWithPriority(self.Self(), Job{1}, MessagePriority::kHigh).value();
      self.SendWithPriority(self.Self(), Job{2}, MessagePriority::kMax).value();
      self.Send(self.Self(), Job{3}).value();
    };
    auto pool = fixture.StartPool(2);
    REQUIRE(pool.EventuallyHandled(1));
    CHECK(fixture.workers->jobs.Values() == std::vector<int>{3});
    REQUIRE(Eventually([&] { return fixture.pools->messages.size() == 2; }));
    CHECK(fixture.pools->messages.Values() == std::vector<int>{2, 1});
  }
  SUBCASE("from the pool's own handlers") {
    auto pool = fixture.StartPool(2);
    const auto refused = pool.Run<bool>([](ManagedPool& self) {
      self.SendWithPriority(self.Self(), Job{1}, MessagePriority::kHigh).value();
      self.SendWithPriority(self.Self(), Job{2}, MessagePriority::kMax).value();
      self.Send(self.Self(), Job{3}).value();
      // It cannot wait for an answer of its own address, and is told so.
      const auto answer = self.Call<Answer>(self.Self(), Ask{4}, {.timeout = gen::kInfinite});
      return !answer && answer.error() == gen::ErrDeadlock;
    });
    CHECK(refused.value());
    REQUIRE(pool.EventuallyHandled(1));
    CHECK(fixture.workers->jobs.Values() == std::vector<int>{3});
    REQUIRE(Eventually([&] { return fixture.pools->messages.size() == 2; }));
    CHECK(fixture.pools->messages.Values() == std::vector<int>{2, 1});
  }
  SUBCASE("from a worker to its parent") {
    auto pool = fixture.StartPool(2);
    fixture.node
        .Send(
            pool.pid(),
            Job{1,
                [](kit::Worker& worker) {
                  worker.SendWithPriority(worker.Parent(), Job{2}, MessagePriority::kHigh).value();
                  worker.Send(worker.Parent(), Job{3}).value();
                  return gen::Continue();
                }})
        .value();
    REQUIRE(Eventually([&] { return fixture.pools->messages.size() == 1; }));
    REQUIRE(pool.EventuallyHandled(2));
    CHECK(fixture.pools->messages.Values() == std::vector<int>{2});
    CHECK(fixture.workers->jobs.SortedValues() == std::vector<int>{1, 3});
  }
}

TEST_CASE("Timers of high and max priority are for the pool itself, others for workers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto to = pool.pid();
  CHECK(fixture.node.SendAfter(to, Job{1}, 0ns, MessagePriority::kHigh));
  CHECK(pool.Run<bool>([to](ManagedPool& self) -> gen::Result<bool> {
    auto handle = self.SendAfter(to, Job{2}, 0ns, MessagePriority::kMax);
    if (handle) handle = self.SendEvery(to, Job{3}, 1ms, MessagePriority::kHigh);
    if (handle) handle = self.SendAfter(to, Job{4}, 0ns);
    return handle ? gen::Result<bool>(true) : handle.error();
  }));
  const auto has_handled = [&](std::ptrdiff_t times, int value) {
    const std::vector<int> own = fixture.pools->messages.Values();
    return std::count(own.begin(), own.end(), value) >= times;
  };
  CHECK(Eventually([&] { return has_handled(1, 1) && has_handled(1, 2) && has_handled(2, 3); }));
  REQUIRE(pool.EventuallyHandled(1));
  CHECK(fixture.workers->jobs.Values() == std::vector<int>{4});
}

TEST_CASE("What the pool does not handle itself is logged with its type") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  fixture.node.SendWithPriority(pool.pid(), 3.5, MessagePriority::kHigh).value();
  CHECK(Eventually([&] { return fixture.log.Contains("float 3.5"); }));
  // A worker logs what it does not know, too.
  fixture.node.Send(pool.pid(), std::vector<bool>{true}).value();
  CHECK(Eventually([&] { return fixture.log.Contains("std::vector<bool"); }));
  CHECK(pool.EventuallyHandled(1));
}

TEST_CASE("Sends to an idle pool visit the workers in order, the head first, round by round") {
  kit::NodeFixture fixture;
  constexpr int kSize = 4;
  auto pool = fixture.StartPool(kSize);
  const auto workers = pool.Workers();
  REQUIRE(workers.size() == kSize);

  for (int i = 0; i < 3 * kSize + 1; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(3 * kSize + 1));
  for (int i = 0; i < 3 * kSize + 1; ++i) {
    CAPTURE(i);
    CHECK(fixture.workers->jobs.WorkerOf(i) == workers[i % kSize]);
  }

  // Calls take turns in the same rotation.
  for (int i = 1; i <= 2 * kSize; ++i) {
    const auto answer =
        fixture.node.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline}).value();
    CHECK(answer.worker == workers[i % kSize]);
  }
}

TEST_CASE("Workers are started in the order of the rotation") {
  kit::NodeFixture fixture;
  std::vector<gen::PID> started;
  std::mutex mutex;
  fixture.workers->SetInit([&](kit::Worker& worker) {
    std::lock_guard lock(mutex);
    started.push_back(worker.Self());
    return gen::Continue();
  });
  auto pool = fixture.StartPool(5);
  CHECK(pool.Workers() == started);
}

TEST_CASE("One sender and one worker: order is kept") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  constexpr int kCount = kit::Scaled(20'000, 10);
  kit::ProberHandle sender(fixture.node);
  sender
      .Run([&](Prober& self) {
        for (int i = 0; i < kCount; ++i) self.Send(pool.pid(), Job{i}).value();
      })
      .value();
  REQUIRE(pool.EventuallyHandled(kCount));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, kCount));
}

TEST_CASE("Several workers: each handles its share in order, the whole is not ordered") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();

  // The first message waits in its worker; the others do not wait for it.
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Hold(gate)}).value();
  for (int i = 1; i < 30; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 20; }));
  CHECK_FALSE(fixture.workers->done.Has(0));
  gate.Open();
  REQUIRE(pool.EventuallyHandled(30));
  CHECK(fixture.workers->done.Values() != Sequence(0, 30));

  for (int w = 0; w < 3; ++w) {
    std::vector<int> share;
    for (int i = w; i < 30; i += 3) share.push_back(i);
    CHECK(fixture.workers->jobs.ValuesOf(workers[w]) == share);
  }
}

TEST_CASE("Sends and calls by pid, by name and by alias behave the same") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  fixture.node.RegisterName("jobs", pool.pid()).value();
  const auto alias =
      pool.Run<gen::Alias>([](ManagedPool& self) { return self.CreateAlias(); }).value();

  const std::vector<gen::Target> targets = {pool.pid(),
                                            "jobs",
                                            gen::Atom("jobs"),
                                            gen::ProcessID{"jobs", fixture.node.Name()},
                                            gen::ProcessID{"jobs", {}},
                                            alias};
  kit::ProberHandle sender(fixture.node);
  int turn = 0;
  for (const gen::Target& target : targets) {
    CAPTURE(target.ToString());
    const auto next = [&] { return workers[turn++ % 2]; };

    fixture.node.Send(target, Job{turn}).value();
    const gen::PID first = next();
    CHECK(fixture.node.Call<Answer>(target, Ask{turn}).value().worker == next());
    gen::PID third;
    sender
        .Run([&](Prober& self) {
          self.Send(target, Job{turn}).value();
          third = next();
          const auto answer = self.Call<Answer>(target, Ask{turn}).value();
          if (answer.worker != next()) throw std::logic_error("another worker answered");
        })
        .value();
    REQUIRE(pool.EventuallyHandled(turn));
    CHECK(fixture.workers->jobs.WorkerOf(turn - 4) == first);
    CHECK(fixture.workers->jobs.WorkerOf(turn - 2) == third);

    fixture.node.SendWithPriority(target, Job{turn}, MessagePriority::kHigh).value();
    CHECK(fixture.node.CallWithPriority<Answer>(target, Ask{turn}, MessagePriority::kHigh)
              .value()
              .worker == pool.pid());
    CHECK(fixture.node.Inspect(target).value().at("pool_size") == "2");
  }
  CHECK(fixture.pools->messages.size() == targets.size());

  CHECK(fixture.node.Send("nobody", Job{}).error() == gen::ErrProcessUnknown);
  CHECK(fixture.node.Call<Answer>("nobody", Ask{}).error() == gen::ErrProcessUnknown);
}

TEST_CASE("Events go to a worker; down and exit messages to the pool itself") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  kit::ProberHandle other(fixture.node);

  SUBCASE("event") {
    gen::Ref token;
    other.Run([&](Prober& self) { token = self.RegisterEvent("prices").value(); }).value();
    pool.Run<bool>([](ManagedPool& self) -> gen::Result<bool> {
          if (auto done = self.MonitorEvent(gen::Event{"prices", {}}); !done) return done.error();
          return true;
        })
        .value();
    other
        .Run([&](Prober& self) {
          for (int i = 0; i < 4; ++i) {
            if (self.SendEvent("prices", token, i).value() != 1) {
              throw std::logic_error("wrong number of subscribers");
            }
          }
        })
        .value();
    REQUIRE(pool.EventuallyHandled(4));
    CHECK(fixture.workers->events.ValuesOf(workers[0]) == std::vector<int>{0, 2});
    CHECK(fixture.workers->events.ValuesOf(workers[1]) == std::vector<int>{1, 3});
    CHECK(fixture.pools->events == 0);

    // The end of the event is the pool's affair.
    other.Run([&](Prober& self) { self.UnregisterEvent("prices").value(); }).value();
    CHECK(Eventually([&] { return fixture.pools->event_downs == 1; }));
  }
  SUBCASE("down") {
    pool.Run<bool>([pid = other.pid()](ManagedPool& self) -> gen::Result<bool> {
          if (auto ref = self.Monitor(pid); !ref) return ref.error();
          return true;
        })
        .value();
    other.Quit();
    CHECK(Eventually([&] { return fixture.pools->downs == 1; }));
    CHECK(pool.Stats()["messages_forwarded"] == 0);
  }
  SUBCASE("exit, trapped") {
    pool.Run<bool>([pid = other.pid()](ManagedPool& self) -> gen::Result<bool> {
          self.SetTrapExit(true);
          if (auto done = self.Link(pid); !done) return done.error();
          return true;
        })
        .value();
    other.Quit(gen::Reason::Error("broken"));
    CHECK(Eventually([&] { return fixture.pools->exits == 1; }));
    // Sent, not linked.
    kit::ProberHandle stranger(fixture.node);
    stranger
        .Run([&](Prober& self) { self.SendExit(pool.pid(), gen::Reason::Error("leave")).value(); })
        .value();
    CHECK(Eventually([&] { return fixture.pools->exits == 2; }));
    CHECK(pool.Size() == 2);
    CHECK(pool.Stats()["messages_forwarded"] == 0);
  }
  SUBCASE("exit, not trapped") {
    kit::ProberHandle watcher(fixture.node);
    watcher.Watch(pool.pid());
    watcher.Watch(workers[0]);
    watcher
        .Run([&](Prober& self) { self.SendExit(pool.pid(), gen::Reason::Error("leave")).value(); })
        .value();
    REQUIRE(watcher.EventuallyDown(pool.pid()));
    CHECK(watcher.inbox().ReasonOf(pool.pid()) == gen::Reason::Error("leave"));
    REQUIRE(watcher.EventuallyDown(workers[0]));
    CHECK(fixture.EventuallyGone(workers[1]));
  }
  CHECK(fixture.pools->messages.size() == 0);
  CHECK(fixture.workers->jobs.size() == 0);
}

// -- every message exactly once --

void CheckEveryMessageOnce(int workers, bool by_processes) {
  constexpr int kSenders = 8;
  constexpr int kEach = kit::Scaled(100'000, 20);
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(kSenders * kEach);
  auto options = fixture.Options(workers);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);

  if (by_processes) {
    std::vector<kit::ProberHandle> senders;
    for (int s = 0; s < kSenders; ++s) senders.emplace_back(fixture.node);
    for (int s = 0; s < kSenders; ++s) {
      senders[s].Start([to = pool.pid(), s](Prober& self) {
        for (int i = 0; i < kEach; ++i) self.Send(to, kit::Numbered{s * kEach + i}).value();
      });
    }
    for (auto& sender : senders) sender.Run([](Prober&) {}).value();
  } else {
    kit::Threads senders;
    for (int s = 0; s < kSenders; ++s) {
      senders.Start([&fixture, to = pool.pid(), s] {
        for (int i = 0; i < kEach; ++i) fixture.node.Send(to, kit::Numbered{s * kEach + i}).value();
      });
    }
    senders.Join();
  }

  REQUIRE(pool.EventuallyHandled(kSenders * kEach));
  CHECK(tally->EachOnce());
  const auto stats = pool.Stats();
  CHECK(stats["messages_forwarded"] == kSenders * kEach);
  CHECK(stats["messages_unhandled"] == 0);
  CHECK(stats["messages_lost"] == 0);
  CHECK(stats["worker_restarts"] == 0);
}

TEST_CASE("8 senders x 10^5 messages x 1..64 workers: every message once, counters add up") {
  for (const int workers : {1, 4, 64}) {
    CAPTURE(workers);
    CheckEveryMessageOnce(workers, true);
  }
}

TEST_CASE("The same with senders that are threads") { CheckEveryMessageOnce(4, false); }

// A worker may be a pool.

class InnerPool : public act::Pool {
 public:
  explicit InnerPool(kit::ScriptPtr script) : script_(std::move(script)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<kit::Worker>(script_)};
  }

  kit::ScriptPtr script_;
};

TEST_CASE("Nested pools: routing recurses, every message is handled once by an innermost one") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(3);
  options.worker_factory = gen::Factory<InnerPool>(fixture.workers);
  auto pool = fixture.StartPool(options);
  const auto inner = pool.Workers();
  constexpr int kCount = 600;
  for (int i = 0; i < kCount; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == kCount; }));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, kCount));

  std::set<gen::PID> innermost;
  for (gen::PID pid : inner) {
    for (gen::PID child : fixture.ChildrenOf(pid)) {
      innermost.insert(child);
      CHECK(fixture.workers->jobs.ValuesOf(child).size() == kCount / 6);
    }
    // A worker's job is done before it is counted.
    CHECK(Eventually([&] {
      return kit::Stats(fixture.node.Inspect(pid).value())["messages_forwarded"] == kCount / 3;
    }));
  }
  CHECK(innermost.size() == 6);
  const auto answer =
      fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline}).value();
  CHECK(innermost.count(answer.worker) == 1);
  CHECK(Eventually([&] { return pool.Stats()["messages_forwarded"] == kCount + 1; }));

  // What an inner pool has passed on stays handled when it ends.
  fixture.node.Kill(inner[0]).value();
  REQUIRE(Eventually([&] { return pool.Stats()["worker_restarts"] == 1; }));
  CHECK(pool.EventuallyHandled(kCount + 1));
  CHECK(pool.Stats()["messages_lost"] == 0);
}

}  // namespace
}  // namespace ergon
