// ContinueWith, and the idle time of an actor.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/manual_time.h>

#include "subject.h"

namespace ergon::node {
namespace {

struct DiaryLine {
  std::string text;
};
struct AskDiary {
  using Reply = std::string;
};

// Writes down what it handles, in order.
class Diarist : public act::Actor {
 public:
  Diarist(std::shared_ptr<std::vector<std::string>> diary, std::function<void()> wait)
      : diary_(std::move(diary)), wait_(std::move(wait)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    CHECK(Send(Self(), DiaryLine{"sent in Init"}));
    return ContinueWith([this] {
      wait_();  // others send meanwhile
      diary_->emplace_back("first");
      return ContinueWith([this] {
        diary_->emplace_back("second");
        return gen::Continue();
      });
    });
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const std::string text = message.As<DiaryLine>()->text;
    diary_->push_back(text);
    if (text == "throw")
      return ContinueWith([]() -> gen::Status { throw std::runtime_error("no"); });
    if (text == "slices") return Slice(100'000);
    if (text == "stop") return ContinueWith([] { return gen::Stop(gen::Reason::Error("enough")); });
    return ContinueWith([this, text] {
      diary_->push_back("after " + text);
      return gen::Continue();
    });
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    std::string all;
    for (const std::string& line : *diary_) all += line + "; ";
    return gen::ReplyAndContinue(all, ContinueWith([this] {
                                   diary_->emplace_back("asked");
                                   return gen::Continue();
                                 }));
  }

  gen::Status Slice(int left) {
    if (left > 0) return ContinueWith([this, left] { return Slice(left - 1); });
    diary_->emplace_back("all slices");
    return gen::Continue();
  }

  std::shared_ptr<std::vector<std::string>> diary_;
  std::function<void()> wait_;
};

TEST_CASE("continue: after Init and after a message, before anything else") {
  TestNode t;
  auto diary = std::make_shared<std::vector<std::string>>();
  kit::ThreadGate gate;
  const gen::PID pid = t.node.Spawn(gen::Factory<Diarist>(diary, gate.Holder())).value();
  CHECK(t.node.SendWithPriority(pid, DiaryLine{"urgent"}, gen::MessagePriority::kMax));
  CHECK(t.node.Send(pid, DiaryLine{"a"}));
  CHECK(t.node.Send(pid, DiaryLine{"b"}));
  gate.Open();
  CHECK(t.node.Call(pid, AskDiary{}).value() ==
        "first; second; urgent; after urgent; sent in Init; after sent in Init; a; after a; b; "
        "after b; ");
  CHECK(t.node.Call(pid, AskDiary{}).value().ends_with("after b; asked; "));
}

TEST_CASE("continue: the spawn does not wait for it, and its end is the process's") {
  TestNode t;
  for (const char* how : {"throw", "stop"}) {
    auto diary = std::make_shared<std::vector<std::string>>();
    kit::ThreadGate gate;
    const gen::PID pid = t.node.Spawn(gen::Factory<Diarist>(diary, gate.Holder())).value();
    gate.Open();
    auto reason = std::make_shared<std::promise<std::string>>();
    auto watch = t.node.Spawn([pid, how, reason](gen::Process& self) {
      (void)self.Monitor(pid);
      (void)self.Send(pid, DiaryLine{how});
      reason->set_value(self.Receive<gen::MessageDownPID>()->reason.ToString());
    });
    REQUIRE(watch);
    const std::string text = reason->get_future().get();
    CHECK(text.find(std::string(how) == "throw" ? "panic: no" : "enough") == 0);
  }
}

TEST_CASE("continue: as often as one likes, on one stack") {
  TestNode t;
  auto diary = std::make_shared<std::vector<std::string>>();
  const gen::PID pid = t.node.Spawn(gen::Factory<Diarist>(diary, [] {})).value();
  CHECK(t.node.Send(pid, DiaryLine{"slices"}));
  CHECK(t.node.Call(pid, AskDiary{}).value().ends_with("slices; all slices; "));
}

TEST_CASE("continue: killed before, it is not called") {
  TestNode t;
  std::atomic<bool> called{false};
  kit::ThreadGate gate;
  class SlowToGo : public act::Actor {
   public:
    SlowToGo(std::function<void()> enter, std::atomic<bool>* called)
        : enter_(std::move(enter)), called_(called) {}

   private:
    gen::Status HandleMessage(gen::PID, gen::Message&) override {
      enter_();
      return ContinueWith([this] {
        *called_ = true;
        return gen::Continue();
      });
    }
    std::function<void()> enter_;
    std::atomic<bool>* called_;
  };
  const gen::PID pid = t.node.Spawn(gen::Factory<SlowToGo>(gate.Holder(), &called)).value();
  CHECK(t.node.Send(pid, DiaryLine{}));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Kill(pid));
  gate.Open();
  CHECK(t.Ended(pid));
  CHECK_FALSE(called);
}

TEST_CASE("continue: what is not called is destroyed before its actor") {
  class Forgetful : public act::Actor {
   public:
    Forgetful(std::shared_ptr<bool> alive, std::function<void()> destroyed)
        : alive_(std::move(alive)), destroyed_(std::move(destroyed)) {}
    ~Forgetful() override { *alive_ = false; }

   private:
    gen::Status HandleMessage(gen::PID, gen::Message&) override {
      const std::shared_ptr<int> guard(new int(0), [destroyed = destroyed_](const int* number) {
        destroyed();
        delete number;
      });
      (void)ContinueWith([guard] { return gen::Stop(gen::Reason::Normal()); });
      return gen::Continue();  // without it
    }
    const std::shared_ptr<bool> alive_;
    const std::function<void()> destroyed_;
  };
  const auto alive = std::make_shared<bool>(true);
  std::atomic<int> destroyed{0};
  TestNode t;
  const auto note = [&] { destroyed = *alive ? 1 : 2; };
  const gen::PID pid = t.node.Spawn(gen::Factory<Forgetful>(alive, note)).value();
  CHECK(t.node.Send(pid, DiaryLine{}));
  CHECK(t.node.StopProcess(pid));
  CHECK(t.Ended(pid));
  CHECK(destroyed == 1);
}

class IdleSleeper : public act::Actor {
 public:
  explicit IdleSleeper(std::atomic<int>* idle) : idle_(idle) {}

 private:
  gen::Status Init(const gen::Args& args) override {
    const auto limit = args.Get<std::chrono::nanoseconds>(0).value();
    auto set = SetIdleTimeout(limit);
    if (!set) return gen::Stop(gen::Reason::Error(set.error().ToString()));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<End>()) CHECK(SetIdleTimeout(0ns));
    return gen::Continue();
  }
  gen::Status HandleIdle() override {
    if (idle_ == nullptr) return Actor::HandleIdle();
    ++*idle_;
    return gen::Continue();
  }
  std::atomic<int>* idle_;
};

// A node with an idle sleeper. Its time passes when the test says so.
struct Dormitory : TestNode {
  explicit Dormitory(std::chrono::nanoseconds limit, std::atomic<int>* idle = nullptr,
                     const kit::ManualTime& time_in = {})
      : TestNode(time_in.Into()),
        time(time_in),
        pid(node.Spawn(gen::Factory<IdleSleeper>(idle), {}, gen::MakeArgs(limit)).value()) {}

  // And it has handled that.
  template <class T>
  void Tell(T message) {
    CHECK(node.Send(pid, std::move(message)));
    ++told;
    CHECK(kit::Eventually([&] { return node.ProcessInfo(pid)->messages_handled == told; }));
  }
  // And it has looked whether it is idle: that comes before the inspection. It goes on living.
  void Pass(std::chrono::nanoseconds step) {
    time.Pass(step);
    CHECK(node.Inspect(pid));
  }

  kit::ManualTime time;
  gen::PID pid;
  std::uint64_t told = 0;
};

TEST_CASE("idle: who is not needed ends, and messages put that off") {
  Dormitory t(40ms);
  // Longer than that, with something to do in each quarter of it.
  for (int quarter = 0; quarter < 12; ++quarter) {
    t.Tell(DiaryLine{});
    t.Pass(10ms);
  }
  for (int quarter = 0; quarter < 3; ++quarter) t.Pass(10ms);
  t.Pass(9ms);
  t.time.Pass(1ms);
  CHECK(kit::Eventually([&] { return !t.IsAlive(t.pid); }));
}

// Is told when the others end, one after the other.
class WatchesOthers : public act::Actor {
 public:
  WatchesOthers(std::vector<gen::PID> others, std::atomic<int>* downs)
      : others_(std::move(others)), downs_(downs) {}

 private:
  gen::Status Init(const gen::Args&) override {
    CHECK(SetIdleTimeout(40ms));
    for (const gen::PID other : others_) CHECK(Monitor(other));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<gen::MessageDownPID>()) ++*downs_;
    return gen::Continue();
  }
  const std::vector<gen::PID> others_;
  std::atomic<int>* const downs_;
};

TEST_CASE("idle: notices of others' ends put it off, too") {
  std::atomic<int> downs{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  std::vector<gen::PID> others;
  for (int i = 0; i < 12; ++i) others.push_back(t.Spawn());
  const gen::PID pid = t.node.Spawn(gen::Factory<WatchesOthers>(others, &downs)).value();
  for (const gen::PID other : others) {
    const int before = downs;
    CHECK(t.node.Kill(other));
    CHECK(kit::Eventually([&] { return downs == before + 1; }));
    time.Pass(10ms);
    CHECK(t.node.Inspect(pid));  // it has looked whether it is idle
  }
  for (int quarter = 0; quarter < 3; ++quarter) {
    time.Pass(10ms);
    CHECK(t.node.Inspect(pid));
  }
  time.Pass(10ms);
  CHECK(kit::Eventually([&] { return !t.IsAlive(pid); }));
}

// Asks for an idle time of 40 ms, and then has something to do in its Init.
class SleepsLate : public act::Actor {
 public:
  SleepsLate(std::atomic<int>* idle, std::function<void()> work)
      : idle_(idle), work_(std::move(work)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    CHECK(SetIdleTimeout(40ms));
    work_();
    return gen::Continue();
  }
  gen::Status HandleIdle() override {
    ++*idle_;
    return gen::Continue();
  }
  std::atomic<int>* idle_;
  const std::function<void()> work_;
};

// Asks for an idle time on another thread.
class SleepsElsewhere : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    gen::Result<void> set;
    std::thread([&] { set = SetIdleTimeout(40ms); }).join();
    return gen::Reply(set ? gen::ErrorCode::kInternal : set.error().code());
  }
};

TEST_CASE("idle: asked for on another thread it is refused") {
  TestNode t;
  const gen::PID pid = t.node.Spawn(gen::Factory<SleepsElsewhere>()).value();
  CHECK(t.node.Call<gen::ErrorCode>(pid, 1).value() == gen::ErrorCode::kNotAllowed);
}

TEST_CASE("idle: an Init that asks for it and goes on is no time without work") {
  std::atomic<int> idle{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  auto spawned = std::async(std::launch::async, [&] {
    return t.node.Spawn(gen::Factory<SleepsLate>(&idle, std::function<void()>(gate.Holder())))
        .value();
  });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int quarter = 0; quarter < 8; ++quarter) time.Pass(10ms);
  gate.Open();
  const gen::PID pid = spawned.get();
  CHECK(t.node.Inspect(pid));
  for (int quarter = 0; quarter < 3; ++quarter) {
    time.Pass(10ms);
    CHECK(t.node.Inspect(pid));
    CHECK(idle == 0);
  }
  time.Pass(10ms);
  CHECK(t.node.Inspect(pid));
  CHECK(idle == 1);
}

TEST_CASE("idle: who is suspended, with messages that wait, is not idle") {
  std::atomic<int> idle{0};
  Dormitory t(4ms, &idle);
  CHECK(t.node.Suspend(t.pid));
  CHECK(t.node.Send(t.pid, DiaryLine{}));
  for (int i = 0; i < 50; ++i) t.Pass(1ms);
  CHECK(idle == 0);
  CHECK(t.node.ProcessInfo(t.pid)->messages_queued == 1);
  CHECK(t.node.Resume(t.pid));
  CHECK(t.time.PassUntil([&] { return idle == 1; }, 1ms));
}

TEST_CASE("idle: HandleIdle comes again, until it is switched off") {
  std::atomic<int> idle{0};
  Dormitory t(4ms, &idle);
  for (int passed = 1; passed <= 12; ++passed) {
    t.Pass(1ms);
    CHECK(idle == passed / 4);
  }
  t.Tell(End{});
  for (int i = 0; i < 20; ++i) t.Pass(1ms);
  CHECK(idle == 3);
  CHECK(t.IsAlive(t.pid));
}

TEST_CASE("idle: a negative time is an error, an infinite one is none") {
  TestNode t;
  const auto none = static_cast<std::atomic<int>*>(nullptr);
  auto refused = t.node.Spawn(gen::Factory<IdleSleeper>(none), {},
                              gen::MakeArgs(std::chrono::nanoseconds(-1ns)));
  CHECK(refused.error().detail().find("idle: -1ns, must not be negative") != std::string::npos);
  const auto never = std::chrono::nanoseconds(gen::kInfinite);
  CHECK(t.node.Spawn(gen::Factory<IdleSleeper>(none), {}, gen::MakeArgs(never)));
}

// Makes requests, and answers those of others when it is told to.
class IdleWithRequests : public act::Actor {
 public:
  explicit IdleWithRequests(std::atomic<int>* idle) : idle_(idle) {}

 private:
  gen::Status Init(const gen::Args&) override {
    CHECK(SetIdleTimeout(40ms));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* whom = message.As<gen::PID>()) CHECK(Request(*whom, 1));
    if (message.Is<End>()) CHECK(SendResponse(from_, ref_, 1));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message&) override {
    from_ = from;
    ref_ = ref;
    return gen::NoReply();
  }
  gen::Status HandleIdle() override {
    ++*idle_;
    return gen::Continue();
  }
  std::atomic<int>* idle_;
  gen::PID from_;
  gen::Ref ref_;
};

TEST_CASE("idle: who waits for the outcome of a request, or has one to answer, is not idle") {
  std::atomic<int> idle{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID pid = t.node.Spawn(gen::Factory<IdleWithRequests>(&idle)).value();
  const auto pass = [&](int quarters) {
    for (int quarter = 0; quarter < quarters; ++quarter) {
      time.Pass(10ms);
      CHECK(t.node.Inspect(pid));
    }
  };
  gen::PID asked_by;
  gen::Ref asked;
  const gen::PID other = t.Spawn(
      {.call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        asked_by = from;
        asked = ref;
        return gen::NoReply();
      }});
  CHECK(t.node.Send(pid, other));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(other)->messages_handled == 1; }));
  pass(8);
  CHECK(idle == 0);
  CHECK(t.Run(other, [&](Subject& self) { CHECK(self.SendResponse(asked_by, asked, 1)); }));
  pass(4);
  CHECK(idle == 0);  // since the look that saw that nothing is left
  pass(1);
  CHECK(idle == 1);
  CHECK(t.Run(other, [&](Subject& self) { CHECK(self.Request(pid, 1)); }));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_handled == 2; }));
  pass(8);
  CHECK(idle == 1);
  CHECK(t.node.Send(pid, End{}));
  CHECK(time.PassUntil([&] { return idle == 2; }, 10ms));
}

// ---- what a node decides for processes that do not say

TEST_CASE("defaults: the node's bound for mailboxes, and who has another") {
  TestNode t({.mailbox_size = 7});
  const auto size = [&](const gen::ProcessOptions& options) {
    return t.node.ProcessInfo(t.Spawn({}, options))->mailbox_size;
  };
  CHECK(size({}) == 7);
  CHECK(size({.mailbox_size = 3}) == 3);
  CHECK(size({.mailbox = gen::Mailbox::Unbounded()}) == 0);
  CHECK(size({.mailbox = gen::Mailbox::Bounded(5)}) == 5);
}

TEST_CASE("defaults: a leader of one's own choice, which children inherit") {
  TestNode t;
  auto refused = t.node.Spawn(Make({}), {.leader = {7, "elsewhere@localhost", 4}});
  CHECK(refused.error().detail().find("leader: ") == 0);
  const gen::PID leader = t.Spawn();
  const gen::PID pid = t.Spawn({}, {.leader = leader});
  CHECK(t.node.ProcessInfo(pid)->leader == leader);
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.Leader() == leader);
    const gen::PID child = self.Spawn(Make({})).value();
    CHECK(self.Node().ProcessInfo(child)->leader == leader);
  }));
}

TEST_CASE("defaults: what is set can be asked for") {
  TestNode t({.log_level = gen::LogLevel::kWarning});
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    CHECK(self.LogLevel() == gen::LogLevel::kWarning);
    self.SetLogLevel(gen::LogLevel::kDebug);
    CHECK(self.LogLevel() == gen::LogLevel::kDebug);
    CHECK(self.SendPriority() == gen::MessagePriority::kNormal);
    self.SetSendPriority(gen::MessagePriority::kHigh);
    CHECK(self.SendPriority() == gen::MessagePriority::kHigh);
  }));
}

}  // namespace
}  // namespace ergon::node
