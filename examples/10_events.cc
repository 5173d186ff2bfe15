// Events: a producer that works only while somebody listens, a periodic send that drives it, a buffer
// for those who come late, and a link that tells them of the end.
#include <chrono>
#include <cstdio>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/node/node.h>

using namespace ergon;
using namespace std::chrono_literals;

constexpr int kReadings = 5;

struct Measure {};
struct WaitForAll {};

class Thermometer : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent("temperature", {.buffer = 3, .notify = true}).value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (message.Is<gen::MessageEventStart>()) {  // the first subscriber has come
      ticker_ = SendEvery(Self(), Measure{}, 1ms).value();
    } else if (message.Is<Measure>()) {
      SendEvent("temperature", token_, ++reading_).value();
      if (reading_ == kReadings) ticker_.Cancel();     // no tick is handled after it
    } else if (message.Is<gen::MessageEventStop>()) {  // the last one has gone
      ticker_.Cancel();
    } else {
      return Actor::HandleMessage(from, message);
    }
    return gen::Continue();
  }
  gen::Ref token_;  // whoever has it may publish
  gen::TimerHandle ticker_;
  int reading_ = 0;
};

class Display : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    MonitorEvent({"temperature", {}}).value();
    return gen::Continue();
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    std::printf("%d ", seen_ = *event.As<int>());  // all subscribers share the value
    if (seen_ == kReadings && asked_) (void)SendResponse(from_, ref_, true);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message&) override {
    if (seen_ == kReadings) return gen::Reply(true);
    asked_ = true;
    from_ = from;
    ref_ = ref;
    return gen::NoReply();
  }
  int seen_ = 0;
  bool asked_ = false;
  gen::PID from_;
  gen::Ref ref_;
};

class Chart : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    const std::vector<gen::MessageEvent> missed = LinkEvent({"temperature", {}}).value();
    std::printf("| missed:");
    for (const gen::MessageEvent& event : missed) std::printf(" %d", *event.As<int>());
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* end = message.As<gen::MessageExitEvent>()) {
      std::printf(" | %s has ended: %s\n", end->event.name.ToString().c_str(),
                  end->reason.ToString().c_str());
    }
    return gen::Stop(gen::Reason::Normal());
  }
};

int main() {
  auto node = node::Start("events@localhost").value();
  gen::PID thermometer = node.Spawn(gen::Factory<Thermometer>()).value();
  gen::PID display = node.Spawn(gen::Factory<Display>()).value();
  node.Call<bool>(display, WaitForAll{}).value();
  node.StopProcess(display).value();

  gen::PID chart = node.Spawn(gen::Factory<Chart>()).value();
  node.StopProcess(thermometer).value();  // and its event with it
  node.WaitProcess(chart).value();
  node.Stop();
}
// prints: 1 2 3 4 5 | missed: 3 4 5 | temperature has ended: normal
