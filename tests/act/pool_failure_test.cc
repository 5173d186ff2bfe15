// Workers end: replacement, what they leave behind, back-off, messages that wait meanwhile.
#include <algorithm>
#include <random>
#include <string>

#include "pool_fixture.h"

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using testing::FakeHost;
using testing::Job;
using testing::PoolFixture;
using testing::TestPool;

using Ints = std::vector<int>;

TEST_CASE("pool: a worker that ends, for any reason, is replaced in its place") {
  for (const gen::Reason& reason : {gen::Reason::Normal(), gen::Reason::Error("oops"),
                                    gen::Reason::Panic("what"), gen::Reason::Kill()}) {
    CAPTURE(reason.ToString());
    PoolFixture f({.pool_size = 3});
    f.Start();
    const std::uint64_t fresh = f.Replace(102, reason);
    CHECK(fresh == 104);
    CHECK(f.Inspect().at("workers_starting") == "1");
    f.Send(1, 3);  // 101, 103 (102 is skipped), 101
    CHECK(f.host.Queue(fresh).empty());
    f.Ready(fresh);
    CHECK(f.host.rotation.size() == 3);
    CHECK(f.host.redirected);
    f.Send(4, 6);
    CHECK(f.host.Queue(fresh).size() == 1);
    CHECK(f.Number("worker_restarts") == 1);
    CHECK(f.Inspect().at("pool_size") == "3");
    f.WorkAll();
    f.CheckConservation();
  }
}

TEST_CASE("pool: the queue of a dead worker goes to the others, before anything newer") {
  PoolFixture f({.pool_size = 3});
  f.Start();
  f.Send(1, 9);
  f.Replace(101);
  CHECK(f.host.redirected);  // the others work on
  CHECK(f.host.Queue(102) == Ints{2, 5, 8, 1, 7});
  CHECK(f.host.Queue(103) == Ints{3, 6, 9, 4});
  CHECK(f.Number("messages_salvaged") == 3);
  CHECK(f.Number("messages_forwarded") == 9);
  f.WorkAll();
  CHECK(f.Number("messages_handled") == 9);
  f.CheckConservation();
}

TEST_CASE("pool: in a pool of one, order survives a crash") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 4);
  f.host.Work(101, 1);
  f.host.End(101, gen::Reason::Panic("at 2"), true);
  f.Send(5, 6);  // they meet a dead worker, and come to the pool
  CHECK_FALSE(f.host.redirected);
  f.host.Run();
  CHECK(f.host.main_is_held);
  f.Send(7);
  f.host.Run();
  CHECK(f.host.main.size() == 3);  // 3 and 4 wait in the pool's hands, 5, 6, 7 in its mailbox
  CHECK(f.Number("messages_queued") == 5);
  const std::uint64_t fresh = f.host.LastWorker();
  f.Ready(fresh);
  CHECK(f.host.Queue(fresh) == Ints{3, 4, 5, 6, 7});
  CHECK_FALSE(f.host.main_is_held);
  CHECK(f.host.redirected);
  f.Send(8);
  f.WorkAll();
  CHECK(f.host.done == Ints{1, 3, 4, 5, 6, 7, 8});
  CHECK(f.Number("messages_lost_crashed") == 1);
  f.CheckConservation();
}

TEST_CASE("pool: order survives that the replacement dies while it is being given the rest") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 3);
  const std::uint64_t second = f.Replace(101);
  f.Ready(second);
  CHECK(f.host.Queue(second) == Ints{1, 2, 3});
  const std::uint64_t held = f.Replace(second);
  CHECK(held == second);  // the second quick death waits
  f.Send(4);
  f.host.Advance(10ms);
  f.Ready(f.host.LastWorker());
  CHECK(f.host.Queue(f.host.LastWorker()) == Ints{1, 2, 3, 4});
}

TEST_CASE("pool: a message popped before the bad news waits behind what the worker left") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 2);
  f.host.At(101).alive = false;  // dead, but its notices are not here yet
  f.Send(3);
  f.host.Run();
  CHECK(f.host.main_is_held);       // 3
  CHECK(f.host.mailbox_size == 0);  // no bound, so nobody is refused
  f.host.End(101, gen::Reason::Normal());
  f.host.Run();
  f.Ready(f.host.LastWorker());
  CHECK(f.host.Queue(f.host.LastWorker()) == Ints{1, 2, 3});
  CHECK(f.DroppedNumbers().empty());
}

TEST_CASE("pool: no worker left means that senders come to the pool") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Replace(101);
  CHECK(f.host.redirected);
  f.Replace(102);
  CHECK_FALSE(f.host.redirected);
  CHECK_FALSE(f.host.main_is_held);  // nothing waits yet, so a stop signal gets through
  f.Send(1, 3);
  f.host.Run();
  CHECK(f.host.main_is_held);
  CHECK(f.Number("messages_queued") == 3);
  f.Ready(103);
  CHECK(f.host.Queue(103) == Ints{1, 2, 3});
  CHECK(f.host.redirected);
}

TEST_CASE("pool: what waits counts against the pool's bound") {
  PoolFixture f({.pool_size = 1, .worker_mailbox_size = 3});
  f.Start();
  f.Replace(101);
  f.Send(1);
  f.host.Run();
  f.Send(2, 3);
  for (const int number : {4, 5}) {
    CHECK(f.host.Send(number).error() == gen::ErrProcessMailboxFull);
  }
  f.Ready(f.host.LastWorker());
  CHECK(f.host.Queue(f.host.LastWorker()) == Ints{1, 2, 3});
  CHECK(f.Number("messages_unhandled") == 2);
  f.WorkAll();
  CHECK(f.host.done == Ints{1, 2, 3});
  CHECK(f.DroppedNumbers().empty());
  f.CheckConservation();
}

TEST_CASE(
    "pool: what a dead worker leaves takes its successor's places, and nothing is refused later") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 3});
  f.Start();
  f.Send(1, 6);
  f.Replace(101);  // 102 is full: 1, 3, 5 wait at the pool
  CHECK(f.host.main_is_held);
  CHECK(f.Number("messages_queued") == 6);
  // A place for the one that meets a dead worker first, no more.
  f.Send(7);
  for (int i = 8; i < 20; ++i) CHECK(f.host.Send(i).error() == gen::ErrProcessMailboxFull);
  f.host.Work(102, 2);
  f.host.Advance(1ms);
  CHECK(f.host.Queue(102) == Ints{6, 1, 3});
  f.host.Run();
  f.Ready(f.host.LastWorker());
  CHECK(f.host.Queue(f.host.LastWorker()) == Ints{5, 7});
  CHECK(f.host.redirected);
  f.WorkAll();
  CHECK(f.host.done.size() == 7);
  CHECK(f.DroppedNumbers().empty());
  CHECK(f.Number("messages_lost") == 0);
  f.CheckConservation();
}

TEST_CASE("pool: what nobody has room for waits, also when nobody is being replaced") {
  PoolFixture f({.pool_size = 1, .worker_mailbox_size = 1});
  f.Start();
  f.Send(1);
  f.host.AcceptMain();
  f.Send(2);
  f.host.Run();
  CHECK(f.host.main_is_held);
  f.Send(3);
  CHECK(f.host.Send(4).error() == gen::ErrProcessMailboxFull);
  for (const int number : {1, 2, 3}) {
    CHECK(f.host.Queue(101) == Ints{number});
    f.host.Work(101);
    f.host.Advance(1ms);
  }
  CHECK(f.host.redirected);
  CHECK(f.DroppedNumbers().empty());
  f.CheckConservation();
}

TEST_CASE("pool: full workers and a pending one: messages wait, but not for that one alone") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 1});
  f.Start();
  f.Send(1, 2);
  f.host.fail_async_spawns = 100;
  f.Replace(101);  // its message finds 102 full
  CHECK(f.host.main_is_held);
  CHECK_FALSE(f.host.redirected);
  CHECK(f.DroppedNumbers().empty());
  f.host.Work(102);
  f.host.Advance(1ms);
  CHECK(f.host.Queue(102) == Ints{1});
  CHECK_FALSE(f.host.main_is_held);
  CHECK(f.host.redirected);
}

// What a pool of two has when both have three messages, and one of them ends by `end`: what that leaves
// behind waits for places, whatever the policy says of new ones.
template <class End>
void CheckNoneGivesWay(const PoolStrategy& strategy, gen::Overflow overflow, End end) {
  CAPTURE(std::string(strategy.ToString()));
  CAPTURE(std::string(gen::ToString(overflow)));
  PoolFixture f(
      {.pool_size = 2, .worker_mailbox = gen::Mailbox::Bounded(3, overflow), .strategy = strategy});
  f.Start();
  f.Send(1, 6);
  f.host.Run();
  end(f);
  f.host.Run();
  CHECK(f.Number("messages_queued") == 6);
  for (int round = 0; round < 10; ++round) {
    CHECK(f.DroppedNumbers().empty());
    for (const auto& [id, worker] : f.host.workers) f.host.Work(id, 1);
    f.host.Run();
    f.host.Advance(1ms);
  }
  std::sort(f.host.done.begin(), f.host.done.end());
  CHECK(f.host.done == Ints{1, 2, 3, 4, 5, 6});
  CHECK(f.Number("messages_lost_full") == 0);
  CHECK(f.Number("messages_unhandled") == 0);
  f.CheckConservation();
}

TEST_CASE("pool: nothing gives way to what a worker leaves behind, whatever the policy") {
  const auto by_key =
      PoolStrategy::ByKey<Job>([](const Job& job) { return static_cast<unsigned>(job.number); });
  for (const auto& strategy : {PoolStrategy::Rotation(), by_key, PoolStrategy::SharedQueue()}) {
    for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
      // A crash; one that drains; one that is removed at once.
      CheckNoneGivesWay(strategy, overflow, [](PoolFixture& f) { f.Ready(f.Replace(101)); });
      CheckNoneGivesWay(strategy, overflow, [](PoolFixture& f) {
        f.Manage([](TestPool& pool) {
          CHECK(pool.RemoveWorkers(1).value() == 1);
          return gen::Continue();
        });
        f.host.End(101, gen::Reason::Panic("while it drains"));
      });
      CheckNoneGivesWay(strategy, overflow, [](PoolFixture& f) {
        f.Manage([](TestPool& pool) {
          CHECK(pool.RemoveWorkersNow(1).value() == 1);
          return gen::Continue();
        });
      });
    }
  }
}

TEST_CASE("pool: what waits for a successor keeps its order in a pool that drops") {
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    PoolFixture f({.pool_size = 2, .worker_mailbox = gen::Mailbox::Bounded(3, overflow)});
    f.Start();
    f.Send(1, 6);
    const std::uint64_t fresh = f.Replace(101);
    f.Ready(fresh);
    CHECK(f.host.Queue(fresh) == Ints{1, 3, 5});
    CHECK(f.DroppedNumbers().empty());
    CHECK(f.Number("messages_lost_full") == 0);
    // From now on new ones make room again.
    CHECK(f.host.redirected);
    f.Send(7);
    CHECK(f.DroppedNumbers() == Ints{overflow == gen::Overflow::kDropNewest ? 7 : 2});
  }
}

TEST_CASE("pool: while what a worker has left waits for places, a pool that drops refuses") {
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    PoolFixture f({.pool_size = 2, .worker_mailbox = gen::Mailbox::Bounded(3, overflow)});
    f.Start();
    f.Send(1, 6);
    f.Manage([](TestPool& pool) {
      CHECK(pool.RemoveWorkersNow(1).value() == 1);
      return gen::Continue();
    });
    f.Send(7);  // one more has a place
    CHECK(f.host.Send(8).error() == gen::ErrProcessMailboxFull);
    f.host.Work(102, 2);
    f.host.Advance(1ms);
    CHECK(f.host.Queue(102) == Ints{6, 1, 3});
    CHECK(f.DroppedNumbers().empty());
    f.host.Work(102);
    f.host.Advance(1ms);
    CHECK(f.host.Queue(102) == Ints{5, 7});
    CHECK(f.host.redirected);
    CHECK(f.DroppedNumbers().empty());
  }
}

TEST_CASE("pool: what came back to a queue of the pool's does not give way to new messages") {
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    PoolFixture f({.pool_size = 1,
                   .worker_mailbox = gen::Mailbox::Bounded(2, overflow),
                   .strategy = PoolStrategy::SharedQueue()});
    f.Start();
    f.Send(1, 3);
    f.host.Run();
    CHECK(f.host.Queue(101) == Ints{1});
    const std::uint64_t fresh = f.Replace(101);  // 1 comes back: 1, 2 and 3 wait
    f.Send(4);
    f.host.Run();
    CHECK(f.DroppedNumbers() == Ints{overflow == gen::Overflow::kDropNewest ? 4 : 2});
    f.Ready(fresh);
    CHECK(f.host.Queue(fresh) == Ints{1});
  }
}

TEST_CASE("pool: a shortage is logged when it begins and when it is over") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 1});
  f.Start();
  f.Send(1, 2);
  const auto refuse = [&](int count) {
    for (int i = 0; i < count; ++i) CHECK(f.host.Send(9).error() == gen::ErrProcessMailboxFull);
    f.host.Run();
  };
  for (int i = 0; i < 4; ++i) {
    refuse(5);
    f.host.Advance(900ms);
  }
  REQUIRE(f.host.logs.size() == 1);
  CHECK(f.host.logs[0].text ==
        "the mailboxes of all 2 workers are full (1 message each): senders get errors, or wait, "
        "until there is room");
  f.host.senders_wait = true;  // nobody is refused any more
  f.host.Advance(2900ms);
  CHECK(f.host.logs.size() == 1);
  f.host.senders_wait = false;
  f.WorkAll();
  f.host.Advance(2s);
  REQUIRE(f.host.logs.size() == 2);
  CHECK(f.host.logs[1].text == "there is room again: 20 messages were refused within 6.0 s");
  CHECK(f.host.timers.empty());
  // The next one counts from there.
  f.Send(1, 2);
  refuse(1);
  f.host.Advance(1s);
  REQUIRE(f.host.logs.size() == 4);
  CHECK(f.host.logs[3].text == "there is room again: 1 message was refused within 0.0 s");
  CHECK(f.Number("messages_unhandled") == 21);
}

TEST_CASE("pool: what has no room in a shortage depends on who keeps the messages") {
  const auto told = [](PoolOptions options) {
    PoolFixture f(std::move(options));
    f.Start();
    f.host.NoteShortage();
    f.host.Run();
    REQUIRE(f.host.logs.size() == 1);
    return f.host.logs[0].text;
  };
  const std::string errors = "senders get errors, or wait, until there is room";
  CHECK(told({.pool_size = 1, .worker_mailbox_size = 3}) ==
        "the mailbox of the only worker is full (3 messages each): " + errors);
  CHECK(told({.pool_size = 2, .worker_mailbox_size = 3, .strategy = PoolStrategy::SharedQueue()}) ==
        "as many messages wait at the pool as may wait for 2 workers (3 messages each): " + errors);
  CHECK(told({.pool_size = 2,
              .worker_mailbox = gen::Mailbox::Bounded(3, gen::Overflow::kDropOldest)}) ==
        "the mailboxes of all 2 workers are full (3 messages each): messages are dropped");
  CHECK(
      told(
          {.pool_size = 3, .worker_mailbox_size = 1, .strategy = PoolStrategy::Broadcast<Job>()}) ==
      "the mailbox of one of 3 workers at least is full (1 message each): a full worker misses "
      "messages that go to all; if all are full, " +
          errors);
  CHECK(told({.pool_size = 2, .worker_mailbox = gen::Mailbox::Custom([] {
                                return std::unique_ptr<gen::MailboxQueue>();
                              })}) == "the mailboxes of all 2 workers are full: " + errors);
}

TEST_CASE("pool: a factory that fails is tried again, more and more slowly") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.host.fail_async_spawns = 4;
  f.host.End(101, gen::Reason::Normal());
  f.host.Run();  // the second try waits
  CHECK(f.host.fail_async_spawns == 3);
  REQUIRE_FALSE(f.host.logs.empty());
  CHECK(f.host.logs.back().text == "the replacement of a worker is tried again in 10 ms");
  f.Send(1, 2);
  CHECK(f.host.Queue(102) == Ints{1, 2});  // the other goes on
  f.host.Advance(10ms);
  CHECK(f.host.fail_async_spawns == 2);
  f.host.Advance(20ms);
  CHECK(f.host.fail_async_spawns == 1);
  f.host.Advance(40ms);
  CHECK(f.host.fail_async_spawns == 0);
  f.host.Advance(79ms);
  CHECK(f.host.workers.size() == 2);
  f.host.Advance(1ms);
  CHECK(f.host.workers.size() == 3);
  f.Ready(103);
  CHECK(f.Inspect().at("workers_ready") == "2");
  CHECK(f.Number("worker_restarts") == 1);
}

TEST_CASE("pool: a worker that fails in Init counts as a quick death") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1);
  f.Replace(101);
  CHECK(f.host.workers.size() == 2);
  f.Replace(102, gen::Reason::Panic("Init"));
  CHECK(f.host.workers.size() == 2);
  f.host.Advance(10ms);
  REQUIRE(f.host.workers.size() == 3);
  f.Ready(103);
  CHECK(f.host.Queue(103) == Ints{1});
}

TEST_CASE("pool: a long life is rewarded") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  for (int i = 0; i < 5; ++i) {
    f.host.Advance(1s);
    const std::uint64_t fresh = f.Replace(f.host.LastWorker());
    REQUIRE(fresh == 102u + static_cast<unsigned>(i));
    f.Ready(fresh);
  }
}

TEST_CASE("pool: the same place, a hundred deaths") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  for (int i = 0; i < 100; ++i) {
    f.Send(2 * i, 2 * i + 1);
    f.host.End(f.host.LastWorker() == 102 ? 101 : f.host.LastWorker(), gen::Reason::Kill());
    f.host.Run();
    f.host.Advance(5s);
    f.Ready(f.host.LastWorker());
  }
  CHECK(f.Number("worker_restarts") == 100);
  f.WorkAll();
  CHECK(f.host.done.size() == 200);
  CHECK(f.DroppedNumbers().empty());
  f.CheckConservation();
}

TEST_CASE("pool: too many restarts end the pool with an error") {
  PoolFixture f({.pool_size = 2, .max_restarts = 2});
  f.Start();
  f.Send(1, 2);
  f.Ready(f.Replace(101));
  f.Ready(f.Replace(102));
  CHECK_FALSE(f.host.refused);
  f.Replace(103);
  CHECK(f.host.refused);
  f.WorkAll();
  REQUIRE(f.host.ended);
  CHECK(f.host.end_reason.IsFailure());
  CHECK(f.host.end_reason.ToString() == "worker restarts: 3 within 5000 ms exceed max_restarts 2");
  CHECK(f.host.done.size() == 2);  // the other worker had what was left
}

TEST_CASE("pool: places that are being refilled can be removed") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.host.fail_async_spawns = 2;
  f.Replace(101);
  f.Manage([](TestPool& pool) {
    CHECK(pool.WorkerCount() == 2);
    CHECK(pool.Workers().size() == 1);
    // 101's turn is next.
    CHECK(pool.RemoveWorkers(1).value() == 1);
    return gen::Continue();
  });
  CHECK(f.host.rotation.InOrder() == std::vector<std::uint64_t>{102});
  f.host.Advance(10s);
  CHECK(f.host.workers.size() == 2);  // its timer did nothing
  CHECK(f.host.redirected);
}

TEST_CASE("pool: messages sent to a worker directly are not counted as the pool's") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  auto direct = core::MakeEnvelope<Job>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                        core::Lane::kMain, 1);
  REQUIRE(f.host.Forward(FakeHost::Pid(101), direct, false));
  f.Replace(101);
  CHECK(f.host.Queue(102) == Ints{1});
  CHECK(f.Number("messages_forwarded") == 1);  // now it is
  f.WorkAll();
  f.CheckConservation();
}

TEST_CASE("pool: whatever happens, the numbers add up" * kit::OneThread()) {
  for (int seed = 1; seed <= kit::Scaled(200, 4); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto upto = [&](unsigned bound) { return random() % bound; };
    PoolFixture f({.pool_size = 1 + static_cast<int>(upto(5)),
                   .worker_mailbox_size = static_cast<int>(upto(3)) * 4});
    f.Start();
    std::vector<std::uint64_t> starting;
    std::size_t accepted = 0;
    std::size_t crashed = 0;
    const auto alive = [&] {
      std::vector<std::uint64_t> ids;
      for (auto& [id, worker] : f.host.workers) {
        if (worker.alive && !std::count(starting.begin(), starting.end(), id)) ids.push_back(id);
      }
      return ids;
    };
    std::size_t known = f.host.workers.size();
    const auto note_new = [&] {
      for (; known < f.host.workers.size(); ++known) starting.push_back(101 + known);
    };
    for (int step = 0; step < 300; ++step) {
      const auto ids = alive();
      switch (upto(8)) {
        case 0:
        case 1:
        case 2:
          for (unsigned i = upto(6); i > 0; --i) accepted += f.host.Send(step + 1).has_value();
          break;
        case 3:
          if (!ids.empty()) f.host.Work(ids[upto(ids.size())], upto(5));
          break;
        case 4:
          if (!ids.empty() && upto(2) == 0) {
            const std::uint64_t id = ids[upto(ids.size())];
            auto& queue = f.host.At(id).queue;
            const bool holds = !queue.empty() && queue[0]->ValueAs<Job>() != nullptr;
            crashed += holds;
            f.host.End(id, gen::Reason::Panic("x"), holds);
          }
          break;
        case 5:
          if (!starting.empty()) {
            const std::uint64_t id = starting.back();
            starting.pop_back();
            if (f.host.At(id).alive) {
              f.host.Ready(id);
            }
          }
          break;
        case 6:
          f.host.Advance(std::chrono::milliseconds(upto(50)));
          break;
        case 7:
          f.Manage([&](TestPool& pool) {
            const std::size_t before = f.host.workers.size();
            if (upto(2) == 0) {
              note_new();
              (void)pool.AddWorkers(1);
              known += f.host.workers.size() - before;
            } else if (upto(2) == 0) {
              (void)pool.RemoveWorkers(1);
            } else {
              (void)pool.RemoveWorkersNow(1);
            }
            return gen::Continue();
          });
          break;
      }
      if (upto(2) == 0) f.host.Run();
      note_new();
    }
    // To rest: everybody gets ready and works.
    for (int round = 0; round < 50; ++round) {
      f.host.Run();
      note_new();
      for (const std::uint64_t id : starting) {
        if (f.host.At(id).alive) f.host.Ready(id);
      }
      starting.clear();
      f.host.Run();
      f.WorkAll();
      f.host.Advance(5s);
    }
    REQUIRE_FALSE(f.host.ended);
    CHECK(f.host.redirected);
    CHECK(f.Number("messages_queued") == 0);
    CHECK(f.host.done.size() + crashed + f.host.dropped.size() == accepted);
    CHECK(f.Number("messages_lost_crashed") == crashed);
    CHECK(f.Number("messages_handled") == f.host.done.size());
    CHECK(f.Number("messages_forwarded") == accepted);
    CHECK(f.Number("messages_lost_full") == f.host.dropped.size());
    f.CheckConservation();
  }
}

TEST_CASE("pool: what a worker of a worker has handled counts once, in whatever order they end") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Send(1, 6);
  f.WorkAll();
  REQUIRE(f.Number("messages_handled") == 6);
  // 101 is a pool that is being killed: what its own worker leaves comes past it, before its own end.
  auto& inner = f.host.At(101);
  gen::MessageInheritance left{
      {999, inner.pid.node, inner.pid.creation}, gen::Reason::Kill(), {}, inner.handled};
  left.indirect = true;
  inner.handled = 0;
  f.host.Signal(gen::EnvelopeKind::kInheritance, std::move(left), inner.pid);
  CHECK(f.Number("messages_handled") == 6);
  f.host.End(101, gen::Reason::Kill());
  CHECK(f.Number("messages_handled") == 6);
}

TEST_CASE(
    "pool: in a pool of one, what was on its way when the worker ended comes behind what that "
    "left") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 2);
  const std::uint64_t fresh = f.Replace(101);
  f.Send(4);
  f.host.Run();
  gen::MessageInheritance left;
  left.late = true;
  left.messages.push_back(core::MakeEnvelope<Job>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), core::Lane::kMain, 3));
  left.messages[0]->flags |= core::Envelope::kFlagRouted;
  f.host.Signal(gen::EnvelopeKind::kInheritance, std::move(left), FakeHost::Pid(999));
  f.host.Run();
  f.Ready(fresh);
  CHECK(f.host.Queue(fresh) == Ints{1, 2, 3, 4});
}

}  // namespace
}  // namespace ergon::act
