// Back-pressure: a process that sends to a full mailbox waits for its turn.
#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ergon/act/pool.h>

#include <kit/gate.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Item {
  int number = 0;
};

// Notes the items that it gets, and lets each enter `gate`.
Handlers NoteItems(Notes<int>& notes, kit::ThreadGate& gate) {
  return {.message = [&notes, hold = gate.Holder()](Subject&, gen::PID, gen::Message& message) {
    hold();
    notes.Add(message.Take<Item>().number);
    return gen::Continue();
  }};
}

// As many items as there is room for, from `first` on; returns the first that was refused.
int Fill(TestNode& t, gen::PID to, int first = 0) {
  while (t.node.Send(to, Item{first})) ++first;
  return first;
}

gen::Mailbox ByNumber(int bound) {
  return gen::Mailbox::BoundedPriority<Item>(bound, [](const Item& item) { return -item.number; });
}

TEST_CASE("SendOrWait: a process waits for room, and nobody else does") {
  for (const gen::Mailbox& mailbox : {gen::Mailbox::Bounded(2), ByNumber(2)}) {
    CAPTURE(mailbox.ToString());
    Notes<int> notes;
    kit::ThreadGate gate;
    TestNode t({.workers = 2});
    const gen::PID busy = t.Spawn(NoteItems(notes, gate), {.mailbox = mailbox});
    CHECK(t.node.Send(busy, Item{0}));
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    const int sent = Fill(t, busy, 1);
    const gen::PID sender = t.Spawn();
    std::atomic<bool> done{false};
    t.Begin(sender, [&](Subject& self) {
      CHECK(self.SendOrWait(busy, Item{sent}, gen::kInfinite));
      done = true;
    });
    REQUIRE(t.EventuallyWaiting(sender));
    CHECK(t.Run(t.Spawn(), [](Subject&) {}));  // on the other thread
    CHECK(!done);
    gate.Open();
    REQUIRE(kit::Eventually([&] { return notes.size() == static_cast<std::size_t>(sent) + 1; }));
    CHECK(kit::Eventually([&] { return done.load(); }));
    const std::vector<int> all = notes.All();
    CHECK(std::count(all.begin(), all.end(), sent) == 1);
  }
}

TEST_CASE("SendOrWait: in the order in which they have come, also threads and newcomers") {
  Notes<int> notes;
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const gen::PID busy = t.Spawn(NoteItems(notes, gate), {.mailbox_size = 1});
  CHECK(t.node.Send(busy, Item{0}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  int next = Fill(t, busy, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i, ++next) {
    if (i % 2 == 0) {
      const gen::PID sender = t.Spawn();
      t.Begin(sender, [busy, next](Subject& self) {
        CHECK(self.SendOrWait(busy, Item{next}, kit::kDeadline));
      });
      REQUIRE(t.EventuallyWaiting(sender));
    } else {
      std::atomic<pid_t> thread{0};
      threads.emplace_back([&t, &thread, busy, next] {
        thread = gettid();
        CHECK(t.node.SendOrWait(busy, Item{next}, kit::kDeadline));
      });
      REQUIRE(kit::Eventually([&] { return thread != 0 && kit::Sleeps(thread); }));
    }
  }
  CHECK(t.node.SendOrWait(busy, Item{-1}, 0ns).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  for (std::thread& thread : threads) thread.join();
  REQUIRE(kit::Eventually([&] { return notes.size() == static_cast<std::size_t>(next); }));
  const std::vector<int> order = notes.All();
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("SendOrWait: what was refused comes back, with the reason") {
  Notes<int> notes;
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const gen::PID busy = t.Spawn(NoteItems(notes, gate), {.mailbox_size = 1});
  CHECK(t.node.Send(busy, Item{0}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  (void)Fill(t, busy, 1);
  const gen::PID sender = t.Spawn({}, {.mailbox_size = 1});
  CHECK(t.Run(sender, [&](Subject& self) {
    auto text = std::make_unique<int>(7);
    CHECK(self.SendOrWait(busy, std::move(text), 1ms).error() == gen::ErrProcessMailboxFull);
    REQUIRE(text != nullptr);
    CHECK(*text == 7);
    CHECK(self.SendOrWait(busy, std::move(text), 0ns).error() == gen::ErrProcessMailboxFull);
    CHECK(text != nullptr);
    CHECK(self.SendOrWait(busy, 1, -1ns).error() == gen::ErrIncorrect);
    CHECK(self.SendOrWait("nobody", 1, 1s).error() == gen::ErrProcessUnknown);
    while (self.Send(self.Self(), Do{[](Subject&) {}})) continue;
    const auto own = self.SendOrWait(self.Self(), 1, 1s);
    CHECK(own.error() == gen::ErrDeadlock);
    CHECK(own.error().ToString().find("its own mailbox") != std::string::npos);
    // High priority needs no room.
    CHECK(self.SendWithPriority(busy, Item{9}, gen::MessagePriority::kHigh));
  }));

  // Who waits for one that ends is told.
  std::atomic<int> told{0};
  for (int i = 0; i < 3; ++i) {
    const gen::PID waits = t.Spawn();
    t.Begin(waits, [&](Subject& self) {
      auto number = std::make_unique<int>(5);
      CHECK(self.SendOrWait(busy, std::move(number), gen::kInfinite).error() ==
            gen::ErrProcessTerminated);
      CHECK(number != nullptr);
      ++told;
    });
    REQUIRE(t.EventuallyWaiting(waits));
  }
  // One that is killed while it waits takes its message along.
  const gen::PID killed = t.Spawn();
  t.Begin(killed, [&](Subject& self) {
    CHECK(self.SendOrWait(busy, Item{99}, gen::kInfinite).error() == gen::ErrProcessTerminated);
  });
  REQUIRE(t.EventuallyWaiting(killed));
  CHECK(t.node.Kill(killed));
  CHECK(t.Ended(killed));
  CHECK(t.node.Kill(busy));
  gate.Open();
  CHECK(kit::Eventually([&] { return told == 3; }));
  for (const int number : notes.All()) CHECK(number != 99);
}

TEST_CASE("SendOrWait: room that a handler has made before it waits itself") {
  Notes<int> notes;
  TestNode t;
  // It takes one item, and then waits for the process that waits for room.
  gen::PID sender;
  const gen::PID busy = t.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message& message) {
             const int number = message.Take<Item>().number;
             if (number == 0) {
               CHECK(self.Call<bool>(sender, Do{[](Subject&) {}}, {.timeout = kit::kDeadline}));
             }
             notes.Add(number);
             return gen::Continue();
           }},
      {.mailbox_size = 1});
  sender = t.Spawn();
  CHECK(t.node.Suspend(busy));
  CHECK(t.node.Send(busy, Item{0}));
  t.Begin(sender, [&](Subject& self) { CHECK(self.SendOrWait(busy, Item{1}, kit::kDeadline)); });
  REQUIRE(t.EventuallyWaiting(sender));
  CHECK(t.node.Resume(busy));
  REQUIRE(kit::Eventually([&] { return notes.size() == 2; }));
  CHECK(notes.All() == std::vector<int>{0, 1});
}

TEST_CASE("SendOrWait: threads that try all the time do not keep a process waiting") {
  Notes<int> notes;
  kit::ThreadGate gate;
  gate.Open();
  TestNode t({.workers = 2});
  std::atomic<bool> stop{false};
  std::atomic<int> taken{0};
  const gen::PID busy = t.Spawn({.message =
                                     [&](Subject&, gen::PID, gen::Message&) {
                                       ++taken;
                                       return gen::Continue();
                                     }},
                                {.mailbox_size = 2});
  kit::Threads threads;
  for (int i = 0; i < 2; ++i) {
    threads.Start([&] {
      while (!stop) (void)t.node.Send(busy, Item{1});
    });
  }
  const gen::PID sender = t.Spawn();
  CHECK(t.Run(sender, [&](Subject& self) {
    for (int i = 0; i < 1000; ++i) CHECK(self.SendOrWait(busy, Item{2}, kit::kDeadline));
  }));
  stop = true;
}

// To a pool: so many workers more, or fewer.
struct Resize {
  int more = 0;
  std::atomic<bool>* done = nullptr;
};

// Two such pools may stand behind one address.
class Workers : public act::Pool {
 public:
  explicit Workers(act::PoolOptions options) : options_(std::move(options)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override { return options_; }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const Resize* resize = message.As<Resize>();
    if (resize == nullptr) return Pool::HandleMessage(from, message);
    if (resize->more > 0) {
      (void)AddWorkers(resize->more);
    } else {
      (void)RemoveWorkers(-resize->more);
    }
    *resize->done = true;
    return gen::Continue();
  }

  act::PoolOptions options_;
};

TEST_CASE("SendOrWait: the only worker of a full pool does not wait for itself") {
  TestNode t;
  gen::Error error = gen::ErrUnexpectedType;  // nobody's
  std::atomic<bool> done{false};
  const Handlers worker{.message = [&](Subject& self, gen::PID, gen::Message& message) {
    if (message.Take<Item>().number != 0) return gen::Continue();
    while (self.Send(self.Parent(), Item{1})) continue;
    error = self.SendOrWait(self.Parent(), Item{2}, gen::kInfinite).error();
    done = true;
    return gen::Continue();
  }};
  const act::PoolOptions options{
      .pool_size = 1, .worker_factory = Make(worker), .worker_mailbox_size = 2};
  const gen::PID pool = t.node.Spawn(gen::Factory<Workers>(options)).value();
  t.node.Send(pool, Item{0}).value();
  REQUIRE(kit::Eventually([&] { return done.load(); }));
  CHECK(error == gen::ErrDeadlock);
  CHECK(error.detail().find("it is the only worker of") != std::string::npos);
}

std::vector<act::PoolStrategy> Strategies() {
  return {act::PoolStrategy::Rotation(),
          act::PoolStrategy::LeastLoaded(),
          act::PoolStrategy::Random(7),
          act::PoolStrategy::ByKey<Item>([](const Item& item) { return item.number % 5; }),
          act::PoolStrategy::SharedQueue(),
          act::PoolStrategy::Broadcast<Item>()};
}

TEST_CASE("SendOrWait: pools of every strategy, with crashes, while they grow and shrink") {
  constexpr int kSenders = 6;
  constexpr int kItems = kit::Scaled(300, 3);
  for (const act::PoolStrategy& strategy : Strategies()) {
    for (const bool nested : {false, true}) {
      const bool is_broadcast = strategy.ToString() == "broadcast";
      const std::string name = std::string(strategy.ToString()) + (nested ? ", nested" : "");
      CAPTURE(name);
      std::atomic<int> handled{0};
      std::atomic<int> crashed{0};
      std::atomic<int> accepted{0};
      std::atomic<bool> resized{true};
      TestNode t({.workers = 2});
      const Handlers worker{.message = [&](Subject&, gen::PID, gen::Message& message) {
        if (message.Take<Item>().number % 50 == 49) {
          ++crashed;
          throw std::runtime_error("49");
        }
        ++handled;
        return gen::Continue();
      }};
      act::PoolOptions options{.pool_size = 3,
                               .worker_factory = Make(worker),
                               .worker_mailbox_size = 2,
                               .strategy = strategy,
                               .restart_backoff_min = 100us,
                               .restart_backoff_max = 1ms};
      if (nested) {
        options.worker_factory = gen::Factory<Workers>(options);
        options.pool_size = 2;
        options.strategy = act::PoolStrategy::Rotation();
      }
      const gen::PID pool = t.node.Spawn(gen::Factory<Workers>(options)).value();
      std::atomic<int> done{0};
      for (int i = 0; i < kSenders; ++i) {
        t.Begin(t.Spawn(), [&](Subject& self) {
          for (int k = 0; k < kItems; ++k) {
            if (self.SendOrWait(pool, Item{k}, kit::kDeadline)) ++accepted;
          }
          ++done;
        });
      }
      int change = 1;
      while (done < kSenders) {
        // No faster than the pool does so, and than those end that were taken out.
        if (resized && t.node.Info().processes < 40) {
          resized = false;
          (void)t.node.SendWithPriority(pool, Resize{change, &resized},
                                        gen::MessagePriority::kHigh);
          change = -change;
        }
        std::this_thread::sleep_for(200us);
      }
      CHECK(accepted == kSenders * kItems);
      if (!is_broadcast) {
        CHECK(kit::Eventually([&] { return handled + crashed == accepted; }));
      }
      t.node.Stop();
    }
  }
}

TEST_CASE("send or wait: a function that receives serves those who wait before it waits itself") {
  for (const auto timeout : {gen::kInfinite, std::chrono::nanoseconds(0)}) {
    TestNode t;
    const int items = kit::Scaled(20'000);
    std::atomic<int> taken{0};
    const gen::PID receiver = t.node
                                  .Spawn(
                                      [&taken, timeout, items](gen::Process& self) {
                                        while (taken < items) {
                                          const auto item = self.Receive<Item>(timeout);
                                          if (item) {
                                            ++taken;
                                          } else if (item.error() != gen::ErrTimeout) {
                                            return;
                                          } else {
                                            self.Yield();
                                          }
                                        }
                                      },
                                      {.mailbox_size = 1})
                                  .value();
    std::atomic<int> next{0};
    std::atomic<int> refused{0};
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&] {
          while (next++ < items && refused == 0) {
            if (!t.node.SendOrWait(receiver, Item{}, kit::kDeadline)) ++refused;
          }
        });
      }
    }
    CHECK(refused == 0);
    CHECK(t.Ended(receiver) == (refused == 0));
  }
}

}  // namespace
}  // namespace ergon::node
