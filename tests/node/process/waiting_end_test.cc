// What ends a process while it waits, beside what waits in its mailbox and ends nothing.
#include <atomic>
#include <functional>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node::waiting_end_test {
namespace {

constexpr gen::MessagePriority kUrgent = gen::MessagePriority::kMax;

// A process that is held, calls another one for each number that it gets, and notes it.
struct Asking {
  explicit Asking(const std::function<void(Subject&, int)>& before = nullptr) {
    const gen::PID echo = t.Spawn(
        {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(1); }});
    pid = t.Spawn({.message = [this, echo, before](Subject& self, gen::PID, gen::Message& message) {
      if (message.Is<gen::MessageExitPID>()) return gen::Continue();
      const int number = message.Take<int>();
      if (before) before(self, number);
      if (self.Call<int>(echo, Ask{}, kPatient)) ++answered;
      return gen::Continue();
    }});
    t.Begin(pid, [this](Subject&) { gate.Enter(); });
    CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  }
  void SendUrgent(int number) { t.node.SendWithPriority(pid, number, kUrgent).value(); }

  std::atomic<int> answered{0};
  kit::ThreadGate gate;
  TestNode t;
  gen::PID pid;
};

}  // namespace

TEST_CASE("waiting end: a call does not look at each of very many messages that wait") {
  // If it did, this would take a minute.
  constexpr int kMany = kit::Scaled(60'000);
  Asking asking;
  for (int i = 0; i < kMany; ++i) asking.SendUrgent(i);
  asking.gate.Open();
  CHECK(kit::Eventually([&] { return asking.answered == kMany; }));
}

TEST_CASE("waiting end: among messages that were looked at before, what ends the wait is found") {
  // The exit signal is trapped while the first message is handled; before the second call it is trapped no more.
  Asking asking([](Subject& self, int number) { self.SetTrapExit(number == 1); });
  for (const int number : {1, 2, 3}) asking.SendUrgent(number);
  const gen::PID pid = asking.pid;
  CHECK(asking.t.Run(asking.t.Spawn(), [pid](Subject& self) {
    CHECK(self.SendExit(pid, gen::Reason::Error("enough")));
  }));
  asking.gate.Open();
  CHECK(asking.t.Ended(pid));
  CHECK(asking.answered == 1);
}

}  // namespace ergon::node::waiting_end_test
