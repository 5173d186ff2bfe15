// Mailboxes as processes have them; see also tests/gen/mailbox_test.cc.
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/gen/mailbox.h>

#include <kit/gate.h>
#include <kit/node_fixture.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Job {
  int rank = 0;
  int id = 0;
};

gen::Mailbox ByRank() {
  return gen::Mailbox::Priority<Job>([](const Job& job) { return job.rank; });
}

// A process that notes the jobs it handles; one thread at a time looks.
struct Clerk {
  explicit Clerk(TestNode& t, const gen::Mailbox& mailbox)
      : node(t), pid(t.Spawn(Behavior(), {.mailbox = mailbox})) {}

  Handlers Behavior() {
    return {.message =
                [this](Subject&, gen::PID, gen::Message& message) {
                  ids.push_back(message.As<Job>()->id);
                  count.fetch_add(1);
                  return gen::Continue();
                },
            .call =
                [this](Subject&, gen::PID, gen::Ref, gen::Message& request) {
                  ids.push_back(request.As<Job>()->id);
                  count.fetch_add(1);
                  return gen::Reply(request.As<Job>()->id);
                }};
  }
  void Suspend() { CHECK(node.node.Suspend(pid)); }
  // Lets it go on, and returns what it has handled when it is done with `expected` jobs.
  std::vector<int> Resume(int expected) {
    CHECK(node.node.Resume(pid));
    CHECK(kit::Eventually([&] { return count.load() == expected; }));
    CHECK(kit::Eventually([&] { return node.node.ProcessInfo(pid)->messages_queued == 0; }));
    return ids;
  }

  TestNode& node;
  std::vector<int> ids;
  std::atomic<int> count{0};
  gen::PID pid;
};

using Ids = std::vector<int>;

TEST_CASE("mailbox kinds: a suspended process handles what is urgent only") {
  TestNode t;
  Clerk clerk(t, {});
  clerk.Suspend();
  CHECK(t.node.ProcessInfo(clerk.pid)->suspended);
  for (int i = 1; i <= 3; ++i) CHECK(t.node.Send(clerk.pid, Job{0, i}));
  CHECK(t.node.SendWithPriority(clerk.pid, Job{0, 10}, gen::MessagePriority::kMax));
  CHECK(t.node.SendWithPriority(clerk.pid, Job{0, 20}, gen::MessagePriority::kHigh));
  CHECK(t.node.Inspect(clerk.pid));
  CHECK(kit::Eventually([&] { return clerk.count.load() == 2; }));
  CHECK(t.node.ProcessInfo(clerk.pid)->messages_queued == 3);
  CHECK(t.node.Suspend(clerk.pid));  // it is already
  CHECK(clerk.Resume(5) == Ids{10, 20, 1, 2, 3});
  CHECK(!t.node.ProcessInfo(clerk.pid)->suspended);
}

TEST_CASE("mailbox kinds: Suspend waits for the handler, and knows who is gone") {
  TestNode t;
  kit::ThreadGate gate;
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Suspend(pid, 1ms).error() == gen::ErrTimeout);
  gate.Open();
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->suspended; }));
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  CHECK(t.node.Suspend(pid).error() == gen::ErrProcessTerminated);
  CHECK(t.node.Resume(gen::PID()).error() == gen::ErrProcessUnknown);
  const gen::PID asker = t.Spawn();
  CHECK(t.Run(asker, [&](Subject& self) {
    const gen::Error suspend = self.Node().Suspend(asker).error();
    CHECK(suspend == gen::ErrNotAllowed);
    CHECK(suspend.detail().starts_with("Node::Suspend would block"));
    CHECK(self.Node().Resume(asker).error().detail().starts_with("Node::Resume would block"));
    CHECK(self.Node().Inspect(asker).error().detail().starts_with("Node::Inspect would block"));
    const gen::Error spawn = self.Node().SpawnRegister("a", Make({})).error();
    CHECK(spawn.detail().starts_with("Node::SpawnRegister would block"));
  }));
}

TEST_CASE("mailbox kinds: a suspended process that is asked to end handles what waits") {
  TestNode t;
  Clerk clerk(t, {});
  clerk.Suspend();
  CHECK(t.node.Send(clerk.pid, Job{0, 1}));
  CHECK(t.node.StopProcess(clerk.pid, kit::kDeadline));
  CHECK(clerk.ids == Ids{1});
  Clerk last(t, ByRank());  // and at the end of the node
  last.Suspend();
  CHECK(t.node.Send(last.pid, Job{0, 2}));
  t.node.Stop();
  CHECK(last.ids == Ids{2});
}

TEST_CASE("mailbox kinds: by priority, also requests and other types; control comes first") {
  TestNode t;
  Clerk clerk(t, ByRank());
  CHECK(t.node.ProcessInfo(clerk.pid)->mailbox == "priority");
  clerk.Suspend();
  for (int i = 1; i <= 4; ++i) CHECK(t.node.Send(clerk.pid, Job{-i, i}));
  auto answer = t.node.CallAsync<int>(clerk.pid, Job{-3, 30});
  CHECK(t.node.ProcessInfo(clerk.pid)->messages_queued == 5);
  CHECK(t.node.MessageBalance().queued == 5);
  CHECK(t.node.SendWithPriority(clerk.pid, Job{99, 100}, gen::MessagePriority::kMax));
  CHECK(clerk.Resume(6) == Ids{100, 4, 3, 30, 2, 1});
  CHECK(answer.get().value() == 30);
}

TEST_CASE("mailbox kinds: nothing is lost by priority under many senders") {
  constexpr int kSenders = 4;
  constexpr int kEach = kit::Scaled(20'000);
  TestNode t;
  Clerk clerk(t, ByRank());
  kit::Threads senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.Start([&, s] {
      for (int i = 0; i < kEach; ++i) CHECK(t.node.Send(clerk.pid, Job{i % 5, s * kEach + i}));
    });
  }
  senders.Join();
  CHECK(kit::Eventually([&] { return clerk.count.load() == kSenders * kEach; }));
  std::sort(clerk.ids.begin(), clerk.ids.end());
  CHECK(std::adjacent_find(clerk.ids.begin(), clerk.ids.end()) == clerk.ids.end());
}

TEST_CASE("mailbox kinds: drop newest, and a dropped request is told at once") {
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Bounded(2, gen::Overflow::kDropNewest));
  clerk.Suspend();
  for (int i = 1; i <= 4; ++i) CHECK(t.node.Send(clerk.pid, Job{0, i}));
  CHECK(t.node.Call<int>(clerk.pid, Job{0, 5}).error() == gen::ErrProcessMailboxFull);
  const auto info = t.node.ProcessInfo(clerk.pid).value();
  CHECK(info.messages_overflowed == 2);
  CHECK(info.mailbox == "bounded 2, drop newest");
  CHECK(t.node.Info().dropped_mailbox_full == 2);
  CHECK(clerk.Resume(2) == Ids{1, 2});
}

TEST_CASE("mailbox kinds: drop oldest, and a dropped request is told at once") {
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest));
  clerk.Suspend();
  auto dropped = t.node.CallAsync<int>(clerk.pid, Job{0, 1}, {.timeout = gen::kInfinite});
  auto kept = t.node.CallAsync<int>(clerk.pid, Job{0, 2}, {.timeout = gen::kInfinite});
  CHECK(t.node.Send(clerk.pid, Job{0, 3}));
  CHECK(dropped.get().error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.ProcessInfo(clerk.pid)->messages_overflowed == 1);
  CHECK(t.node.ProcessInfo(clerk.pid)->mailbox_size == 2);
  CHECK(clerk.Resume(2) == Ids{2, 3});
  CHECK(kept.get().value() == 2);
}

TEST_CASE("mailbox kinds: drop oldest is strict under many senders") {
  constexpr int kBound = 10;
  constexpr int kSenders = 4;
  constexpr int kEach = kit::Scaled(10'000);
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Bounded(kBound, gen::Overflow::kDropOldest));
  clerk.Suspend();
  kit::Threads senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.Start([&, s] {
      for (int i = 0; i < kEach; ++i) CHECK(t.node.Send(clerk.pid, Job{0, i}));
    });
  }
  senders.Join();
  CHECK(t.node.ProcessInfo(clerk.pid)->messages_queued == kBound);
  CHECK(t.node.Info().dropped_mailbox_full == kSenders * kEach - kBound);
  CHECK(clerk.Resume(kBound).size() == kBound);
}

TEST_CASE("mailbox kinds: the fallback comes before any drop") {
  TestNode t;
  std::atomic<int> passed_on{0};
  const gen::PID fallback = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    CHECK(message.As<gen::MessageFallback>()->tag == "late");
    passed_on.fetch_add(1);
    return gen::Continue();
  }});
  CHECK(t.node.RegisterName("fallback", fallback));
  const gen::PID pid = t.Spawn({}, {.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest),
                                    .fallback = {.name = "fallback", .tag = "late"}});
  CHECK(t.node.Suspend(pid));
  for (int i = 1; i <= 3; ++i) CHECK(t.node.Send(pid, Job{0, i}));
  CHECK(kit::Eventually([&] { return passed_on.load() == 2; }));
  CHECK(t.node.ProcessInfo(pid)->messages_overflowed == 0);
  CHECK(t.node.Kill(pid));
}

TEST_CASE("mailbox kinds: StopProcess handles what waits, in its order, and takes nothing more") {
  TestNode t;
  Clerk clerk(t, ByRank());
  kit::ThreadGate gate;
  t.Begin(clerk.pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 3; ++i) CHECK(t.node.Send(clerk.pid, Job{-i, i}));
  std::thread stopper([&] { CHECK(t.node.StopProcess(clerk.pid)); });
  CHECK(kit::Eventually([&] {
    const auto sent = t.node.Send(clerk.pid, Job{0, 9});
    return !sent && sent.error() == gen::ErrProcessTerminated;
  }));
  gate.Open();
  stopper.join();
  CHECK(clerk.ids.size() >= 3);
  CHECK(Ids(clerk.ids.begin(), clerk.ids.begin() + 3) == Ids{3, 2, 1});
}

TEST_CASE("mailbox kinds: what waits when its process is killed is dropped and answered") {
  TestNode t;
  Clerk clerk(t, ByRank());
  clerk.Suspend();
  CHECK(t.node.Send(clerk.pid, Job{0, 1}));
  auto answer = t.node.CallAsync<int>(clerk.pid, Job{0, 2}, {.timeout = gen::kInfinite});
  CHECK(t.node.Kill(clerk.pid));
  CHECK(answer.get().error() == gen::ErrProcessTerminated);
  CHECK(t.Ended(clerk.pid));
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_terminated == 2; }));
  // The slot's next process begins with a fresh mailbox.
  for (int i = 0; i < 600; ++i) {
    Clerk next(t, ByRank());
    CHECK(t.node.ProcessInfo(next.pid)->messages_queued == 0);
    CHECK(t.node.StopProcess(next.pid));
  }
}

TEST_CASE("mailbox kinds: who was asked to end is not held by a Suspend that comes late") {
  TestNode t;
  kit::ThreadGate gate;
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Suspend(pid, 1ms).error() == gen::ErrTimeout);
  CHECK(t.node.StopProcess(pid, 1ms).error() == gen::ErrTimeout);
  gate.Open();
  CHECK(t.Ended(pid));
}

TEST_CASE("mailbox kinds: a process with a queue of its own may be asked to end twice") {
  TestNode t;
  kit::ThreadGate gate;
  Notes<int> notes;
  const gen::PID pid =
      t.node
          .Spawn(Make(Collect(notes)),
                 {.mailbox = gen::Mailbox::Bounded(10, gen::Overflow::kDropOldest)})
          .value();
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, i));
  CHECK(t.node.StopProcess(pid, 1ms).error() == gen::ErrTimeout);
  CHECK(t.node.StopProcess(pid, 1ms).error() == gen::ErrTimeout);
  gate.Open();
  CHECK(t.Ended(pid));
  CHECK(notes.All() == std::vector<int>{0, 1, 2});
}

// Hands out what is in front.
class QueueInOrder : public gen::MailboxQueue {
 public:
  gen::OwnedMessage Dequeue() override {
    if (messages_.empty()) return {};
    gen::OwnedMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  void Return(gen::OwnedMessage message) override { messages_.push_front(std::move(message)); }
  std::size_t size() const noexcept override { return messages_.size(); }

 protected:
  std::deque<gen::OwnedMessage> messages_;
};

// Has no room once.
class RefusesOnce final : public QueueInOrder {
 public:
  explicit RefusesOnce(std::atomic<bool>& refuses) : refuses_(refuses) {}
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage&) override {
    if (refuses_.exchange(false)) return false;
    messages_.push_back(std::move(message));
    return true;
  }

 private:
  std::atomic<bool>& refuses_;
};

TEST_CASE("mailbox kinds: room that was made before its owner was asked for it is seen at once") {
  std::atomic<bool> refuses{false};
  TestNode t;
  kit::Gate gate(t.node);
  const auto takes = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); };
  const gen::PID busy =
      t.Spawn({.message = takes}, {.mailbox = gen::Mailbox::Custom([&refuses] {
                                     return std::make_unique<RefusesOnce>(refuses);
                                   })});
  t.Begin(busy, [pid = gate.pid()](Subject& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const gen::PID sender = t.Spawn();
  refuses = true;
  // The handler of the other process lasts until this has been sent.
  CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.SendOrWait(busy, 1, kit::kDeadline)); }));
  CHECK(!refuses);
  gate.Open();
}

// Has no memory, now and then.
class Forgetful final : public QueueInOrder {
 public:
  explicit Forgetful(std::atomic<bool>& fails) : fails_(fails) {}
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage&) override {
    if (fails_) throw std::bad_alloc();
    messages_.push_back(std::move(message));
    return true;
  }

 private:
  std::atomic<bool>& fails_;
};

TEST_CASE("mailbox kinds: what a user's own throws is the sender's error, whoever that is") {
  std::atomic<bool> fails{false};
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Custom([&] { return std::make_unique<Forgetful>(fails); }));
  fails = true;
  const auto sent = t.node.Send(clerk.pid, Job{0, 1});
  CHECK(sent.error().code() == gen::ErrorCode::kInternal);
  CHECK(sent.error().detail() ==
        "the mailbox of " + clerk.pid.ToString() + " threw std::bad_alloc");
  CHECK(t.node.Call<int>(clerk.pid, Job{0, 2}, kPatient).error().code() ==
        gen::ErrorCode::kInternal);
  const gen::PID asker = t.Spawn();
  CHECK(t.Run(asker, [&](Subject& self) {
    CHECK(self.Call<int>(clerk.pid, Job{0, 3}, kPatient).error().code() ==
          gen::ErrorCode::kInternal);
    CHECK(self.Request(clerk.pid, Job{0, 4}).error().code() == gen::ErrorCode::kInternal);
  }));
  // Nobody is there to be told: they are counted.
  const auto dropped = t.node.Info().dropped_failed;
  CHECK(t.node.SendAfter(clerk.pid, Job{0, 5}, 1ms));
  const gen::TimerHandle every = t.node.SendEvery(clerk.pid, Job{0, 6}, 1ms).value();
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_failed >= dropped + 2; }));
  (void)every.Cancel();
  fails = false;
  CHECK(t.node.Call<int>(clerk.pid, Job{0, 7}, kPatient).value() == 7);
}

// The last one in is the first one out.
class Newest final : public QueueInOrder {
 public:
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage&) override {
    if (messages_.size() == 3) return false;
    messages_.push_front(std::move(message));
    return true;
  }
};

TEST_CASE("mailbox kinds: a user's own") {
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Custom([] { return std::make_unique<Newest>(); }));
  clerk.Suspend();
  for (int i = 1; i <= 3; ++i) CHECK(t.node.Send(clerk.pid, Job{0, i}));
  CHECK(t.node.Send(clerk.pid, Job{0, 4}).error() == gen::ErrProcessMailboxFull);
  CHECK(clerk.Resume(3) == Ids{3, 2, 1});
  CHECK(t.node.ProcessInfo(clerk.pid)->mailbox == "custom");
}

TEST_CASE("mailbox kinds: wrong options are errors that name them") {
  TestNode t;
  auto error_of = [&](const gen::ProcessOptions& options) {
    const auto pid = t.node.Spawn(Make({}), options);
    REQUIRE(!pid);
    CHECK(pid.error() == gen::ErrIncorrect);
    return std::string(pid.error().detail());
  };
  CHECK(error_of({.mailbox = gen::Mailbox::Bounded(0)}) == "mailbox: bound 0, must be 1..4000000");
  CHECK(error_of({.mailbox_size = 3, .mailbox = ByRank()}) ==
        "mailbox_size: 3, but mailbox is given too: priority");
  CHECK(error_of({.mailbox_size = -1}) ==
        "mailbox_size: -1 is outside 1..4000000 (0: as NodeOptions::mailbox_size says)");
  CHECK(error_of({.stash_size = -1}) == "stash_size: -1, must not be negative");
  CHECK(error_of({.mailbox = gen::Mailbox::Custom(nullptr)}) ==
        "mailbox: its factory returned null");
  CHECK(error_of({.mailbox = gen::Mailbox::Custom([]() -> std::unique_ptr<gen::MailboxQueue> {
                    throw std::runtime_error("no memory today");
                  })}) == "mailbox: its factory threw no memory today");
  CHECK(error_of({.mailbox = gen::Mailbox::Custom([]() -> std::unique_ptr<gen::MailboxQueue> {
                    throw 42;
                  })}) == "mailbox: its factory threw an exception of type int");
  CHECK(t.node.Info().processes == 0);
}

// Has room for one, and counts those that find none.
class OnePlace final : public QueueInOrder {
 public:
  explicit OnePlace(std::atomic<int>& refused) : refused_(refused) {}
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage&) override {
    if (!messages_.empty()) {
      refused_.fetch_add(1);
      return false;
    }
    messages_.push_back(std::move(message));
    return true;
  }

 private:
  std::atomic<int>& refused_;
};

TEST_CASE("mailbox kinds: SendOrWait waits for room, within its time") {
  std::atomic<int> refused{0};
  TestNode t;
  Clerk clerk(t, gen::Mailbox::Custom([&] { return std::make_unique<OnePlace>(refused); }));
  clerk.Suspend();
  CHECK(t.node.SendOrWait(clerk.pid, Job{0, 1}, 0ns));
  CHECK(t.node.SendOrWait(clerk.pid, Job{0, 2}, 1ms).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.SendOrWait(clerk.pid, Job{0, 2}, -1ms).error() == gen::ErrIncorrect);
  std::atomic<bool> sent{false};
  const int before = refused;
  std::thread sender([&] {
    CHECK(t.node.SendOrWait(clerk.pid, Job{0, 3}, kit::kDeadline));
    sent = true;
  });
  CHECK(kit::Eventually([&] { return refused > before; }));
  CHECK(!sent);
  CHECK(clerk.Resume(2) == Ids{1, 3});
  sender.join();
  const gen::PID asker = t.Spawn();
  CHECK(t.Run(asker, [&](Subject& self) {
    CHECK(self.Node().SendOrWait(clerk.pid, Job{0, 4}, 1s).error() == gen::ErrNotAllowed);
  }));
  CHECK(t.node.SendOrWait(gen::PID(), Job{0, 5}, 1s).error() == gen::ErrProcessUnknown);
}

TEST_CASE("mailbox kinds: the fallback gets what a mailbox with a queue would drop") {
  for (const auto& mailbox : {gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest),
                              gen::Mailbox::BoundedPriority<Job>(
                                  1, [](const Job&) { return 0; }, gen::Overflow::kDropNewest)}) {
    std::atomic<int> passed_on{0};
    TestNode t;
    const gen::PID relief = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
      if (message.Is<gen::MessageFallback>()) ++passed_on;
      return gen::Continue();
    }});
    CHECK(t.node.RegisterName("relief", relief));
    const gen::PID pid = t.Spawn({}, {.mailbox = mailbox, .fallback = {.name = "relief"}});
    CHECK(t.node.Suspend(pid));
    for (int i = 1; i <= 3; ++i) CHECK(t.node.Send(pid, Job{0, i}));
    CHECK(kit::Eventually([&] { return passed_on == 2; }));
    CHECK(t.node.Info().dropped_mailbox_full == 0);
    CHECK(t.node.Kill(pid));
  }
}

// Asks for a process when it is destroyed.
class AsksForProcess {
 public:
  explicit AsksForProcess(gen::Node& node) : node_(node) {}
  AsksForProcess(const AsksForProcess&) = delete;
  AsksForProcess& operator=(const AsksForProcess&) = delete;
  ~AsksForProcess() { (void)node_.ProcessInfo(pid); }
  gen::PID pid;

 private:
  gen::Node& node_;
};

TEST_CASE("mailbox kinds: what a mailbox's function holds may use the node while it is destroyed") {
  TestNode t;
  auto asks = std::make_shared<AsksForProcess>(t.node);
  const gen::PID pid = t.Spawn(
      {}, {.mailbox = gen::Mailbox::Priority<Job>([asks](const Job& job) { return job.rank; })});
  asks->pid = pid;
  asks.reset();
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
}

// A rank whose copies throw, from one on.
struct FragileRank {
  FragileRank() = default;
  FragileRank(const FragileRank&) {
    if (left.fetch_sub(1) <= 0) throw std::runtime_error("copied");
  }
  FragileRank& operator=(const FragileRank&) = default;
  ~FragileRank() = default;
  int operator()(const Job& job) const { return job.rank; }
  static inline std::atomic<int> left{0};
};

TEST_CASE("mailbox kinds: a function that throws when it is copied is the error of the spawn") {
  TestNode t;
  FragileRank::left = 1000;
  const gen::ProcessOptions options{.mailbox = gen::Mailbox::Priority<Job>(FragileRank())};
  int copies = 0;
  for (bool is_spawned = false; !is_spawned; ++copies) {
    REQUIRE(copies < 10);
    FragileRank::left = copies;
    const auto pid = t.node.Spawn(Make({}), options);
    is_spawned = pid.has_value();
    if (!is_spawned) CHECK(pid.error() == gen::ErrIncorrect);
  }
  CHECK(copies > 1);
  CHECK(t.node.Info().processes == 1);
}

}  // namespace
}  // namespace ergon::node
