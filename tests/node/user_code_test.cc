// What code of the user's throws where the runtime calls it, and nobody waits: see the table in tests/README.md.
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/hook_chain.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/core/work_sharing.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/mailbox.h>

#include <kit/child.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

class ThrowingHooks : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable&, int) override { throw std::runtime_error("before"); }
  void AfterTurn(core::Schedulable&, int, core::TurnEnd) override { throw 5; }
  void AfterCompletion(core::Schedulable&, int) override { throw std::runtime_error("completed"); }
};

class Nameless : public act::Actor {
  [[nodiscard]] std::string BehaviorName() const override { throw std::runtime_error("no name"); }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    Log().Warning("a line of its own");
    return gen::Continue();
  }
};

// The program goes on with each of them.
void UseThrowingOptions(bool chained) {
  gen::NodeOptions options{.workers = 2};
  options.hooks = std::make_shared<ThrowingHooks>();
  if (chained) {
    options.hooks = std::make_shared<core::HookChain>(
        std::vector<std::shared_ptr<core::DispatcherHooks>>{options.hooks, options.hooks});
  }
  options.wall_clock = []() -> std::chrono::system_clock::time_point {
    throw std::runtime_error("no clock");
  };
  Node node = Start("test@localhost", options).value();
  CHECK(
      node.AddCronJob({.name = "job", .spec = "* * * * *", .action = gen::CronAction::Send("x")}));
  CHECK(node.CronJobInfo("job")->next_run.has_value());
  const gen::PID pid = node.Spawn(Make({})).value();
  CHECK(node.Call<bool>(pid, Do{[](Subject& self) { (void)self.Sleep(1ms); }},
                        {.timeout = kit::kDeadline})
            .has_value());
  // On the thread that answers, and on that of the timers.
  std::atomic<int> told{0};
  const auto answer_late = [&told](Subject& self) {
    while (told == 0) (void)self.Sleep(1ms);
  };
  for (const auto timeout : {std::chrono::nanoseconds(1ms), gen::kInfinite}) {
    auto request = core::MakeEnvelope<Do>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                          core::Lane::kMain, Do{answer_late});
    node.CallEnvelopeAsync(pid, std::move(request), timeout,
                           [&](const gen::Result<core::EnvelopePtr>&) {
                             told.fetch_add(1);
                             throw std::runtime_error("done");
                           });
    CHECK(kit::Eventually([&] { return told == (timeout == gen::kInfinite ? 2 : 1); }));
  }
  CHECK(node.Kill(pid));
  CHECK(node.ProcessInfo(node.Spawn(gen::Factory<Nameless>()).value()));
  node.Stop();
}

TEST_CASE("user code: child with options that throw" * doctest::skip()) {
  kit::ChildBegins();
  UseThrowingOptions(false);
  UseThrowingOptions(true);
  std::fputs("the end\n", stderr);
}

TEST_CASE("user code: hooks, clocks and answers that throw are told, and the program goes on") {
  kit::Child child("user code: child with options that throw");
  const std::string told = child.Errors();
  CHECK(child.Status() == 0);
  CAPTURE(told);
  for (const char* const line : {"ergon: BeforeTurn of the hooks threw: before\n",
                                 "ergon: AfterTurn of the hooks threw: an exception of type int\n",
                                 "ergon: AfterCompletion of the hooks threw: completed\n",
                                 "ergon: wall_clock threw: no clock\n",
                                 "ergon: the function of CallEnvelopeAsync threw: done\n",
                                 "ergon: BehaviorName threw: no name\n", "the end\n"}) {
    CAPTURE(line);
    CHECK(told.find(line) != std::string::npos);
  }
}

TEST_CASE("user code: a behaviour whose name throws is called by its class, whoever asks") {
  TestNode t({.measure_latency = true, .log_levels = {{"ergon::none", gen::LogLevel::kDebug}}});
  const gen::PID pid = t.node.Spawn(gen::Factory<Nameless>()).value();
  const auto info = t.node.ProcessInfo(pid);
  REQUIRE(info);
  CHECK(info->behavior.ends_with("Nameless"));
  CHECK(t.node.Inspect(pid, {"behavior"}).value().at("behavior") == info->behavior);
  CHECK(t.node.Send(pid, 1));
  CHECK(kit::Eventually([&] { return t.log.Contains("a line of its own"); }));
  CHECK(t.log.Contains(info->behavior));
  std::ostringstream dump;
  t.node.Dump(dump);
  CHECK(dump.str().find(info->behavior) != std::string::npos);
  CHECK(t.IsAlive(pid));
  // The thread that stops the node names what it has to kill.
  CHECK(t.node.Suspend(pid));
}

TEST_CASE("user code: a defer that throws leaves the node as it was, and who has asked is told") {
  std::atomic<bool> fails{true};
  Notes<std::string> reasons;
  std::vector<std::thread> stoppers;
  gen::NodeOptions options;
  options.defer = [&](std::function<void()> stop) {
    if (fails) throw std::runtime_error("not now");
    stoppers.emplace_back(std::move(stop));
  };
  {
    TestNode t(options);
    const gen::PID asker = t.Spawn({.terminate = [&](Subject&, const gen::Reason& reason) {
      reasons.Add(reason.ToString());
    }});
    const gen::PID other = t.Spawn();
    t.Begin(asker, [](Subject& self) { self.Node().Stop(); });
    CHECK(t.Ended(asker));
    REQUIRE(reasons.size() == 1);
    CHECK(reasons.All()[0].starts_with("panic: not now"));
    CHECK(t.Run(other, [](Subject&) {}));
    CHECK(t.node.Spawn(Make({})));
    fails = false;
    t.Begin(other, [](Subject& self) { self.Node().Stop(); });
    CHECK(t.Ended(other));
  }
  REQUIRE(stoppers.size() == 1);
  stoppers[0].join();
}

// ---- parts of the runtime of one's own

class BreakingClock final : public core::Clock {
 public:
  [[nodiscard]] std::int64_t Now() const override {
    if (broken) throw std::runtime_error("no time");
    return 0;
  }
  std::atomic<bool> broken{false};
};

class BreakingPolicy final : public core::Dispatcher {
 public:
  BreakingPolicy() : Dispatcher({.workers = 1}) {}
  bool Start(std::string* error) override { return inner_->Start(error); }
  std::string Stop() override { return inner_->Stop(); }
  void SignalStop() override { inner_->SignalStop(); }
  void Schedule(core::Schedulable& schedulable) override {
    if (broken) throw std::runtime_error("no queue");
    inner_->Schedule(schedulable);
  }
  [[nodiscard]] const char* name() const override { return "breaking"; }
  [[nodiscard]] core::DispatcherStats Stats() const override { return inner_->Stats(); }
  std::atomic<bool> broken{false};

 private:
  const std::unique_ptr<core::Dispatcher> inner_ = core::MakeWorkSharing({.workers = 1});
};

// The children are ended before they have waited.
TEST_CASE("user code: child whose clock throws" * doctest::skip()) {
  kit::ChildBegins();
  const auto clock = std::make_shared<BreakingClock>();
  const auto timers = std::make_shared<core::TimerQueue>(*clock);
  Node node = Start("test@localhost", {.clock = clock, .timers = timers}).value();
  const gen::PID pid = node.Spawn(Make({})).value();
  clock->broken = true;
  (void)node.Send(pid, 1);
  node.Wait();
}

TEST_CASE("user code: child that cannot wake those who wait for timers" * doctest::skip()) {
  kit::ChildBegins();
  const auto clock = std::make_shared<core::ManualClock>();
  const auto timers = std::make_shared<core::TimerQueue>(*clock);
  Node node = Start("test@localhost", {.clock = clock, .timers = timers}).value();
  const gen::PID pid = node.Spawn(Make({})).value();
  timers->SetWake([] { throw std::runtime_error("no bell"); });
  (void)timers->PrepareSleep();
  (void)node.Send(pid, Do{[](Subject& self) { (void)self.Sleep(1ms); }});
  node.Wait();
}

TEST_CASE("user code: child whose policy throws at who sends" * doctest::skip()) {
  kit::ChildBegins();
  const auto policy = std::make_shared<BreakingPolicy>();
  Node node = Start("test@localhost", {.dispatcher = policy}).value();
  const gen::PID pid = node.Spawn(Make({})).value();
  CHECK(kit::Eventually([&] { return node.ProcessInfo(pid)->state == gen::ProcessState::kIdle; }));
  policy->broken = true;
  try {
    (void)node.Send(pid, 1);
  } catch (const std::exception&) {  // it would be the sender's
  }
}

TEST_CASE("user code: clocks, wake-ups of timers and policies that throw end the program") {
  struct Case {
    const char* child;
    const char* words;
  };
  for (const Case& one :
       {Case{"user code: child whose clock throws", "no time"},
        Case{"user code: child that cannot wake those who wait for timers", "no bell"},
        Case{"user code: child whose policy throws at who sends", "no queue"}}) {
    CAPTURE(one.child);
    kit::Child child(one.child);
    const std::string errors = child.Errors();
    CAPTURE(errors);
    CHECK(errors.find(one.words) != std::string::npos);
    CHECK(child.IsAborted());
  }
}

TEST_CASE("user code: a clock that throws when a thread asks for the time throws there") {
  const auto clock = std::make_shared<BreakingClock>();
  const auto timers = std::make_shared<core::TimerQueue>(*clock);
  TestNode t({.clock = clock, .timers = timers});
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(
      kit::Eventually([&] { return t.node.ProcessInfo(pid)->state == gen::ProcessState::kIdle; }));
  clock->broken = true;  // nothing runs that would ask, too
  CHECK_THROWS_AS((void)t.node.ProcessInfo(pid), std::runtime_error);
  clock->broken = false;
  CHECK(t.node.ProcessInfo(pid));
  CHECK(t.Run(pid, [](Subject&) {}));
}

enum class Broken { kNothing, kEnqueue, kEnqueueThrows, kDequeue, kReturn };

// Gives nothing out any more, or takes nothing back.
class BrokenQueue final : public gen::MailboxQueue {
 public:
  explicit BrokenQueue(std::shared_ptr<std::atomic<Broken>> broken) : broken_(std::move(broken)) {}
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage&) override {
    messages_.push_back(std::move(message));
    if (*broken_ == Broken::kEnqueueThrows) throw std::runtime_error("full");
    return *broken_ != Broken::kEnqueue;
  }
  gen::OwnedMessage Dequeue() override {
    if (*broken_ == Broken::kDequeue) throw std::runtime_error("torn");
    if (messages_.empty()) return {};
    gen::OwnedMessage message = std::move(messages_.front());
    messages_.erase(messages_.begin());
    return message;
  }
  void Return(gen::OwnedMessage message) override {
    if (*broken_ == Broken::kReturn) throw std::runtime_error("not taken back");
    messages_.insert(messages_.begin(), std::move(message));
  }
  std::size_t size() const noexcept override { return messages_.size(); }

 private:
  const std::shared_ptr<std::atomic<Broken>> broken_;
  std::vector<gen::OwnedMessage> messages_;
};

TEST_CASE("user code: a mailbox of one's own that throws ends its process, and no other") {
  const auto broken = std::make_shared<std::atomic<Broken>>(Broken::kNothing);
  Notes<std::string> notes;
  TestNode t;
  const gen::PID other = t.Spawn();
  gen::ProcessOptions options;
  options.mailbox =
      gen::Mailbox::Custom([broken] { return std::make_unique<BrokenQueue>(broken); });
  const gen::PID pid = t.Spawn(
      {.terminate = [&](Subject&, const gen::Reason& reason) { notes.Add(reason.ToString()); }},
      options);
  CHECK(t.Run(pid, [](Subject&) {}));
  *broken = Broken::kDequeue;
  auto answer = t.node.CallAsync<int>(pid, 5, {.timeout = kit::kDeadline});
  CHECK(t.Ended(pid));
  CHECK(answer.get().error() == gen::ErrProcessTerminated);  // what it has kept back is not lost
  CHECK(t.node.MessageBalance().Unaccounted() == 0);
  CHECK(notes.All().size() == 1);
  CHECK(notes.All()[0].starts_with("panic: torn"));
  CHECK(t.Run(other, [](Subject&) {}));
}

// Tells somebody that it is gone.
struct Farewell {
  explicit Farewell(std::function<void()> tell_in) : tell(std::move(tell_in)) {}
  Farewell(Farewell&& other) noexcept : tell(std::exchange(other.tell, nullptr)) {}
  Farewell& operator=(Farewell&&) = delete;
  ~Farewell() {
    if (tell) tell();
  }
  std::function<void()> tell;
};

TEST_CASE("user code: what a mailbox of one's own does not take back may send to its process") {
  const auto broken = std::make_shared<std::atomic<Broken>>(Broken::kNothing);
  std::atomic<int> told{0};
  TestNode t;
  gen::ProcessOptions options;
  options.mailbox =
      gen::Mailbox::Custom([broken] { return std::make_unique<BrokenQueue>(broken); });
  const gen::PID pid = t.Spawn({.message =
                                    [&](Subject& self, gen::PID, gen::Message& message) {
                                      if (message.Is<Farewell>()) {
                                        self.Stash(message);
                                      } else {
                                        ++told;
                                      }
                                      return gen::Continue();
                                    }},
                               options);
  CHECK(t.node.Send(pid, Farewell([&] { CHECK(t.node.Send(pid, 1)); })));
  CHECK(t.Run(pid, [](Subject&) {}));
  *broken = Broken::kReturn;
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK_THROWS_AS(self.UnstashAll(), std::runtime_error);
    *broken = Broken::kNothing;
  }));
  CHECK(kit::Eventually([&] { return told == 1; }));
}

// Has room for one, makes some for a newer one, and then may not take it.
class RoomForOne final : public gen::MailboxQueue {
 public:
  explicit RoomForOne(std::shared_ptr<std::atomic<Broken>> broken) : broken_(std::move(broken)) {}
  bool Enqueue(gen::OwnedMessage& message, gen::OwnedMessage& dropped) override {
    if (message_) dropped = std::move(message_);
    if (*broken_ == Broken::kEnqueueThrows) throw std::runtime_error("full");
    if (*broken_ == Broken::kEnqueue) return false;
    message_ = std::move(message);
    return true;
  }
  gen::OwnedMessage Dequeue() override { return std::exchange(message_, {}); }
  void Return(gen::OwnedMessage message) override { message_ = std::move(message); }
  std::size_t size() const noexcept override { return message_ ? 1 : 0; }

 private:
  const std::shared_ptr<std::atomic<Broken>> broken_;
  gen::OwnedMessage message_;
};

TEST_CASE("user code: what a mailbox of one's own drops before it throws or refuses is told") {
  for (const Broken how : {Broken::kEnqueueThrows, Broken::kEnqueue}) {
    const auto broken = std::make_shared<std::atomic<Broken>>(Broken::kNothing);
    TestNode t;
    gen::ProcessOptions options;
    options.mailbox =
        gen::Mailbox::Custom([broken] { return std::make_unique<RoomForOne>(broken); });
    const gen::PID pid = t.Spawn({}, options);
    CHECK(t.node.Suspend(pid));
    auto answer = t.node.CallAsync<int>(pid, 1, {.timeout = gen::kInfinite});
    CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_queued == 1; }));
    *broken = how;
    CHECK(t.node.Send(pid, 2).error() == (how == Broken::kEnqueue
                                              ? gen::ErrProcessMailboxFull
                                              : gen::Error(gen::ErrorCode::kInternal, "")));
    CHECK(answer.get().error() == gen::ErrProcessMailboxFull);
    CHECK(t.node.Info().dropped_mailbox_full == 1);
    *broken = Broken::kNothing;
    CHECK(t.node.Resume(pid));
    CHECK(t.Run(pid, [](Subject&) {}));
  }
}

void SendToBrokenQueue(Broken how) {
  kit::ChildBegins();
  const auto broken = std::make_shared<std::atomic<Broken>>(how);
  TestNode t;
  gen::ProcessOptions options;
  options.mailbox =
      gen::Mailbox::Custom([broken] { return std::make_unique<BrokenQueue>(broken); });
  (void)t.node.Send(t.Spawn({}, options), 1);
}

TEST_CASE("child: a mailbox of its own takes what it refuses" * doctest::skip()) {
  SendToBrokenQueue(Broken::kEnqueue);
}
TEST_CASE("child: a mailbox of its own takes something and throws" * doctest::skip()) {
  SendToBrokenQueue(Broken::kEnqueueThrows);
}

TEST_CASE("user code: a mailbox of one's own that keeps what it refuses ends the program") {
  for (const char* const what : {"takes what it refuses", "takes something and throws"}) {
    kit::Child child(std::string("child: a mailbox of its own ") + what);
    CHECK(child.Errors().find("ergon: a mailbox of your own: Enqueue has taken a message, and yet "
                              "returned false, or thrown\n") != std::string::npos);
    CHECK(child.IsAborted());
  }
}

TEST_CASE("user code: a mailbox of one's own that takes nothing back is thrown by UnstashAll") {
  const auto broken = std::make_shared<std::atomic<Broken>>(Broken::kNothing);
  std::atomic<bool> stashes{true};
  Notes<int> handled;
  Notes<std::string> reasons;
  TestNode t;
  gen::ProcessOptions options;
  options.mailbox =
      gen::Mailbox::Custom([broken] { return std::make_unique<BrokenQueue>(broken); });
  const gen::PID pid = t.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message& message) {
             if (stashes) {
               CHECK(self.Stash(message));
             } else {
               handled.Add(message.Take<int>());
             }
             return gen::Continue();
           },
       .call = [](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
         CHECK(self.Stash(request));
         return gen::NoReply();
       },
       .terminate = [&](Subject&, const gen::Reason& reason) { reasons.Add(reason.ToString()); }},
      options);
  const auto stash_three = [&] {
    stashes = true;
    for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, i));
    CHECK(t.Run(pid, [](Subject&) {}));
    CHECK(t.node.ProcessInfo(pid)->messages_held == 3);
    stashes = false;
    *broken = Broken::kReturn;
  };
  stash_three();
  // The newest one is the first to return. A handler may catch what is thrown: the others are stashed still.
  CHECK(t.Run(pid, [](Subject& self) { CHECK_THROWS_AS(self.UnstashAll(), std::runtime_error); }));
  CHECK(t.node.ProcessInfo(pid)->messages_held == 2);
  *broken = Broken::kNothing;
  CHECK(t.Run(pid, [](Subject& self) { CHECK(self.UnstashAll() == 2); }));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(handled.All() == std::vector<int>{0, 1});
  // A request's caller is told.
  auto answer = t.node.CallAsync<int>(pid, 5, kPatient);
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_held == 1; }));
  *broken = Broken::kReturn;
  CHECK(t.Run(pid, [](Subject& self) { CHECK_THROWS_AS(self.UnstashAll(), std::runtime_error); }));
  const auto told = answer.get();
  CHECK(told.error().code() == gen::ErrorCode::kInternal);
  CHECK(told.error().detail().find("not taken back") != std::string::npos);
  stash_three();
  t.Begin(pid, [](Subject& self) { (void)self.UnstashAll(); });
  CHECK(t.Ended(pid));
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.All()[0].starts_with("panic: not taken back"));
  CHECK(t.node.Info().dropped_terminated == 2);
  CHECK(t.node.Info().dropped_failed == 3);  // one each time
}

}  // namespace
}  // namespace ergon::node
