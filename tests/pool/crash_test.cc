// Crashes meet full mailboxes: what a pool has accepted is handled, or ends with the worker that handled it.
#include <chrono>
#include <stdexcept>
#include <thread>

#include <kit/node_fixture.h>
#include <kit/strategies.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using kit::Numbered;

// Counts what it begins with, and throws with each message whose number is a multiple of `every`.
class Breaker : public act::Actor {
 public:
  Breaker(kit::TallyPtr tally, int every, std::chrono::microseconds work)
      : tally_(std::move(tally)), every_(every), work_(work) {}

 private:
  void Handle(int number) {
    tally_->Add(number);
    const auto end = std::chrono::steady_clock::now() + work_;
    while (work_.count() != 0 && std::chrono::steady_clock::now() < end) {
    }
    if (number % every_ == every_ - 1) throw std::runtime_error("a bad job");
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    Handle(message.As<Numbered>()->number);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    Handle(request.As<Numbered>()->number);
    return gen::Reply(request.As<Numbered>()->number);
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    Handle(event.As<Numbered>()->number);
    return gen::Continue();
  }

  const kit::TallyPtr tally_;
  const int every_;
  const std::chrono::microseconds work_;
};

struct Load {
  int count = 0;  // messages
  int every = 0;  // one of so many is bad
  std::chrono::microseconds work{0};
};

class CrashFixture : public kit::NodeFixture {
 public:
  static gen::NodeOptions Quiet() {
    gen::NodeOptions options;
    options.log_level = gen::LogLevel::kOff;
    return options;
  }
  explicit CrashFixture(const Load& load)
      : NodeFixture(Quiet()), tally(std::make_shared<kit::Tally>(load.count)), load_(load) {}

  [[nodiscard]] act::PoolOptions PoolOptions(const act::PoolStrategy& strategy,
                                             gen::Mailbox mailbox) const {
    act::PoolOptions options = Options(4);
    options.worker_factory = gen::Factory<Breaker>(tally, load_.every, load_.work);
    options.worker_mailbox = std::move(mailbox);
    options.strategy = strategy;
    return options;
  }

  // The law, once everything has come to rest; `accepted` messages were.
  void CheckLaw(kit::PoolHandle& pool, int accepted, bool drops) {
    REQUIRE(pool.EventuallyAtRest());
    REQUIRE(pool.EventuallyComplete(4));
    const auto stats = pool.Stats();
    CAPTURE(stats.ToString());
    CHECK(tally->NoneTwice());
    CHECK(stats["messages_forwarded"] == accepted);
    CHECK(stats["messages_forwarded"] ==
          stats["messages_handled"] + stats["messages_lost_crashed"] + stats["messages_lost_full"]);
    CHECK(tally->Total() == accepted - stats["messages_lost_full"]);
    if (!drops) CHECK(stats["messages_lost_full"] == 0);
  }

  const kit::TallyPtr tally;

 private:
  const Load load_;
};

act::PoolStrategy ByNumber() {
  return act::PoolStrategy::ByKey<Numbered>([](const Numbered& job) { return job.number % 16; });
}

template <class Check>
void ForEachPlace(Check check) {
  for (const auto& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::Random(7), ByNumber(), act::PoolStrategy::SharedQueue()}) {
    for (const gen::Overflow overflow :
         {gen::Overflow::kReject, gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
      CAPTURE(std::string(strategy.ToString()));
      CAPTURE(std::string(gen::ToString(overflow)));
      check(strategy, overflow);
    }
  }
}

TEST_CASE("Crashes under load: threads that wait for room, one bad job in 20, in 1,000, in 3,000") {
  for (const int every : {20, 1'000, 3'000}) {
    ForEachPlace([&](const act::PoolStrategy& strategy, gen::Overflow overflow) {
      const Load load{.count = kit::Scaled(12'000, 6), .every = every};
      if (every > load.count) return;  // none would be bad
      CrashFixture fixture(load);
      auto pool =
          fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(50, overflow)));
      kit::Threads threads;
      for (int s = 0; s < 2; ++s) {
        threads.Start([&, s] {
          for (int i = s; i < load.count; i += 2) {
            (void)fixture.node.SendOrWait(pool.pid(), Numbered{i}, kit::kDeadline);
          }
        });
      }
      threads.Join();
      fixture.CheckLaw(pool, load.count, overflow != gen::Overflow::kReject);
    });
  }
}

TEST_CASE("Crashes under load: jobs of a millisecond, as many as the mailboxes take") {
  for (const auto& strategy : {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded()}) {
    const Load load{
        .count = kit::Scaled(1'500, 3), .every = 100, .work = std::chrono::milliseconds(1)};
    CrashFixture fixture(load);
    auto pool = fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(50)));
    std::int64_t most = 0;
    for (int i = 0; i < load.count; ++i) {
      fixture.node.SendOrWait(pool.pid(), Numbered{i}, kit::kDeadline).value();
      if (i % 50 == 0) most = std::max(most, pool.Stats()["messages_queued"]);
    }
    // Their places, one that is let in while a death is news, and one for the sender's thread.
    CHECK(most <= 4 * 50 + 2);
    fixture.CheckLaw(pool, load.count, false);
  }
}

// A process that sends all it has, again and again what was refused, then tells how many were refused.
struct Begin {
  gen::PID pool;
  int first = 0;
  int count = 0;
  bool important = false;
};
class Sender : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    const Begin work = *request.As<Begin>();
    for (int i = work.first; i < work.first + work.count;) {
      const auto sent =
          work.important ? SendImportant(work.pool, Numbered{i}) : Send(work.pool, Numbered{i});
      if (sent) {
        ++i;
      } else if (sent.error() == gen::ErrProcessMailboxFull) {
        (void)Sleep(std::chrono::microseconds(200));
      } else {
        return gen::ReplyError(sent.error());
      }
    }
    return gen::Reply(work.count);
  }
};

TEST_CASE("Crashes under load: processes, plain and important messages") {
  for (const bool important : {false, true}) {
    ForEachPlace([&](const act::PoolStrategy& strategy, gen::Overflow overflow) {
      const Load load{.count = kit::Scaled(4'000, 4), .every = 50};
      CrashFixture fixture(load);
      auto pool =
          fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(10, overflow)));
      std::vector<std::future<gen::Result<int>>> done;
      for (int s = 0; s < 2; ++s) {
        const gen::PID sender = fixture.node.Spawn(gen::Factory<Sender>()).value();
        const int half = load.count / 2;
        done.push_back(fixture.node.CallAsync<int>(
            sender, Begin{pool.pid(), s * half, half, important}, {.timeout = gen::kInfinite}));
      }
      for (auto& answer : done) answer.get().value();
      // The oldest gives way also if it is important, as SendImportant says.
      const bool drops =
          important ? overflow == gen::Overflow::kDropOldest : overflow != gen::Overflow::kReject;
      fixture.CheckLaw(pool, load.count, drops);
    });
  }
}

TEST_CASE(
    "Crashes under load: each request has one outcome, and none is refused that was accepted") {
  ForEachPlace([&](const act::PoolStrategy& strategy, gen::Overflow overflow) {
    const Load load{.count = kit::Scaled(4'000, 4), .every = 20};
    CrashFixture fixture(load);
    auto pool =
        fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(10, overflow)));
    std::atomic<int> answered{0};
    std::atomic<int> crashed{0};
    std::atomic<int> full{0};
    std::atomic<int> other{0};
    kit::Threads threads;
    for (int s = 0; s < 2; ++s) {
      threads.Start([&, s] {
        std::vector<std::future<gen::Result<int>>> open;
        const auto look = [&](gen::Result<int> answer) {
          const bool died = !answer && answer.error() == gen::ErrProcessTerminated;
          const bool refused = !answer && answer.error() == gen::ErrProcessMailboxFull;
          (answer ? answered : died ? crashed : refused ? full : other).fetch_add(1);
        };
        for (int i = s; i < load.count; i += 2) {
          open.push_back(
              fixture.node.CallAsync<int>(pool.pid(), Numbered{i}, {.timeout = gen::kInfinite}));
          if (open.size() < 30) continue;
          for (auto& answer : open) look(answer.get());
          open.clear();
        }
        for (auto& answer : open) look(answer.get());
      });
    }
    threads.Join();
    CHECK(answered + crashed + full == load.count);
    CHECK(other == 0);
    REQUIRE(pool.EventuallyAtRest());
    const auto stats = pool.Stats();
    CAPTURE(stats.ToString());
    CHECK(fixture.tally->NoneTwice());
    CHECK(stats["messages_handled"] == answered);
    CHECK(stats["messages_lost_crashed"] == crashed);
    CHECK(fixture.tally->Total() == answered + crashed);
    if (overflow == gen::Overflow::kReject) {
      CHECK(stats["messages_lost_full"] == 0);
      CHECK(stats["messages_unhandled"] == full);
    }
    CHECK(stats["messages_lost_full"] <= full);
  });
}

TEST_CASE("Crashes under load: events") {
  struct Publish {
    int number = 0;
  };
  class Producer : public act::Actor {
    gen::Status Init(const gen::Args&) override {
      token_ = RegisterEvent("news").value();
      return gen::Continue();
    }
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
      const int number = request.As<Publish>()->number;
      return gen::Reply(SendEvent("news", token_, Numbered{number}).value());
    }
    gen::Ref token_;
  };
  for (const auto& strategy : {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
                               act::PoolStrategy::SharedQueue()}) {
    const Load load{.count = kit::Scaled(4'000, 4), .every = 20};
    CrashFixture fixture(load);
    const gen::PID producer = fixture.node.Spawn(gen::Factory<Producer>()).value();
    auto pool = fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(10)));
    REQUIRE(pool.Run<bool>([&](kit::ManagedPool& self) -> gen::Result<bool> {
                  return self.MonitorEvent(gen::Event{"news", "test@localhost"}).has_value();
                })
                .value());
    int accepted = 0;
    for (int i = 0; i < load.count; ++i) {
      accepted += static_cast<int>(
          fixture.node.Call<std::size_t>(producer, Publish{i}, {.timeout = kit::kDeadline})
              .value());
    }
    fixture.CheckLaw(pool, accepted, false);
  }
}

TEST_CASE("One bad job in a hundred does not stop a pool") {
  // A back-off that nobody would live to see the end of: it is for workers that have not handled anything.
  for (const int every : {100, 20}) {
    const Load load{.count = kit::Scaled(20'000, 4), .every = every};
    CrashFixture fixture(load);
    auto options = fixture.PoolOptions(act::PoolStrategy::Rotation(), gen::Mailbox::Bounded(50));
    options.pool_size = 8;
    options.restart_backoff_min = std::chrono::hours(1);
    options.restart_backoff_max = std::chrono::hours(1);
    auto pool = fixture.StartPool(options);
    for (int i = 0; i < load.count; ++i) {
      REQUIRE(fixture.node.SendOrWait(pool.pid(), Numbered{i}, kit::kDeadline));
    }
    REQUIRE(pool.EventuallyAtRest());
    CHECK(pool.Stats()["messages_lost_crashed"] == load.count / every);
    CHECK(fixture.tally->EachOnce());
  }
}

TEST_CASE("One bad job in a hundred does not stop a pool, whatever its strategy") {
  for (const auto& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::Random(7), ByNumber(), act::PoolStrategy::SharedQueue(),
        act::PoolStrategy::Broadcast<Numbered>()}) {
    const std::string name(strategy.ToString());
    CAPTURE(name);
    const bool copies = strategy.kind() == act::PoolStrategy::Kind::kBroadcast;
    const Load load{.count = kit::Scaled(4'000, 4), .every = 100};
    CrashFixture fixture(load);
    auto pool = fixture.StartPool(fixture.PoolOptions(strategy, gen::Mailbox::Bounded(50)));
    for (int i = 0; i < load.count; ++i) {
      REQUIRE(fixture.node.SendOrWait(pool.pid(), Numbered{i}, kit::kDeadline));
    }
    REQUIRE(pool.EventuallyAtRest());
    REQUIRE(pool.EventuallyComplete(4));
    const auto stats = pool.Stats();
    CAPTURE(stats.ToString());
    const std::int64_t bad = load.count / load.every;
    // Of a broadcast each worker that gets its copy of a bad job fails.
    CHECK(stats["messages_lost_crashed"] >= bad);
    CHECK(stats["messages_lost_crashed"] <= (copies ? 4 * bad : bad));
    const std::int64_t begun = stats["messages_handled"] + stats["messages_lost_crashed"];
    CHECK(fixture.tally->Total() == begun);
    CHECK(stats["messages_forwarded"] == begun + stats["messages_lost_missed"]);
    CHECK(fixture.tally->Seen(0, load.count) == 0);
    if (!copies) CHECK(fixture.tally->EachOnce());
  }
}

}  // namespace
}  // namespace ergon
