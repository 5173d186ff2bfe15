#include <ergon/act/actor.h>

#include <stdexcept>

#include <doctest/doctest.h>

#include "fake_host.h"

namespace ergon::act {
namespace {

using testing::FakeHost;
using testing::Job;

struct Question {};

// Writes down what it is asked.
class Recorder : public Actor {
 public:
  std::vector<std::string> calls;
  bool fail_init = false;

 private:
  gen::Status Init(const gen::Args& args) override {
    calls.push_back("Init " + std::to_string(args.size()));
    if (fail_init) return gen::Stop(gen::Reason::Error("no"));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* exit = message.As<gen::MessageExitPID>()) {
      calls.push_back("exit " + exit->reason.ToString());
      return gen::Continue();
    }
    if (auto* down = message.As<gen::MessageDownPID>()) {
      calls.push_back("down " + down->reason.ToString());
      return gen::Continue();
    }
    const int number = message.Take<Job>().number;
    if (number < 0) throw std::runtime_error("negative");
    if (number == 0) return gen::Stop(gen::Reason::Normal());
    calls.push_back(from.ToString() + " " + std::to_string(number));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref ref, gen::Message& request) override {
    calls.push_back("call " + ref.ToString());
    const int number = request.Take<Job>().number;
    if (number == 0) return gen::NoReply();
    if (number == 1) return gen::ReplyAndStop(11, gen::Reason::Normal());
    return gen::Reply(10 * number);
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    calls.push_back("event " + event.event().ToString() + " " +
                    std::to_string(event.As<Job>()->number));
    return gen::Continue();
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>& items) override {
    return {{"items", std::to_string(items.size())}};
  }
  void Terminate(const gen::Reason& reason) override { calls.push_back(reason.ToString()); }
};

class Plain : public Actor {};

void Send(FakeHost& host, int number) {
  (void)host.Send(number);
  host.Run();
}

gen::MessageEvent MakeEvent(int number) {
  auto value = core::MakeEnvelope<Job>(0, core::Lane::kMain, number);
  return {gen::Event{"prices", "test@localhost"}, 0, std::move(value)};
}

TEST_CASE("actor: Init, messages, Terminate once") {
  FakeHost host;
  Recorder actor;
  REQUIRE(host.Start(actor, gen::MakeArgs(1, 2)));
  Send(host, 5);
  Send(host, 0);
  CHECK(host.ended);
  CHECK(host.end_reason.IsNormal());
  CHECK(actor.calls == std::vector<std::string>{
                           "Init 2", FakeHost::Pid(FakeHost::kClient).ToString() + " 5", "normal"});
}

TEST_CASE("actor: after a failed Init there is no Terminate") {
  FakeHost host;
  Recorder actor;
  actor.fail_init = true;
  CHECK_FALSE(host.Start(actor));
  CHECK(host.end_reason == gen::Reason::Error("no"));
  static_cast<gen::ProcessBehavior&>(actor).ProcessTerminate(host.end_reason);
  CHECK(actor.calls == std::vector<std::string>{"Init 0"});
}

TEST_CASE("actor: an exception leaves the handler and reaches Terminate as a panic") {
  FakeHost host;
  Recorder actor;
  REQUIRE(host.Start(actor));
  Send(host, -1);
  CHECK(actor.calls.back() == "panic: negative");
}

TEST_CASE("actor: a reply goes to the caller with its ref, NoReply sends nothing") {
  FakeHost host;
  Recorder actor;
  REQUIRE(host.Start(actor));
  const auto call = [&](int number, std::uint64_t ref) {
    (void)host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kMain, Job{number}, ref);
    host.Run();
  };
  call(4, 77);
  REQUIRE(host.responses.size() == 1);
  CHECK(host.responses[0].to == FakeHost::Pid(FakeHost::kClient));
  CHECK(host.responses[0].ref == gen::Ref{77, "test@localhost", 7});
  CHECK(*host.responses[0].envelope->ValueAs<int>() == 40);
  call(0, 78);
  CHECK(host.responses.size() == 1);
  CHECK_FALSE(host.ended);
  call(1, 79);
  REQUIRE(host.responses.size() == 2);
  CHECK(*host.responses[1].envelope->ValueAs<int>() == 11);
  CHECK(host.ended);
}

TEST_CASE("actor: exits, downs, events and inspections reach their handlers") {
  FakeHost host;
  Recorder actor;
  REQUIRE(host.Start(actor));
  host.traps_exit = true;
  host.Signal(gen::EnvelopeKind::kExit,
              gen::MessageExitPID{FakeHost::Pid(50), gen::Reason::Shutdown()}, FakeHost::Pid(50));
  host.Signal(gen::EnvelopeKind::kDown,
              gen::MessageDownPID{FakeHost::Pid(50), {}, gen::Reason::NoProcess()},
              FakeHost::Pid(50));
  (void)host.Deliver(gen::EnvelopeKind::kEvent, core::Lane::kMain, MakeEvent(3));
  (void)host.Deliver(gen::EnvelopeKind::kInspect, core::Lane::kUrgent,
                     gen::InspectRequest{{"a", "items"}}, 5);
  host.Run();
  CHECK(actor.calls == std::vector<std::string>{"Init 0", "exit shutdown", "down noproc",
                                                "event Event#<prices@test@localhost> 3"});
  REQUIRE(host.responses.size() == 1);
  CHECK(host.responses[0].envelope->ValueAs<gen::Inspection>()->at("items") == "2");
}

TEST_CASE("actor: what nobody handles is logged, and a caller is told") {
  FakeHost host;
  Plain actor;
  REQUIRE(host.Start(actor));
  Send(host, 1);
  REQUIRE(host.logs.size() == 1);
  CHECK(host.logs[0].level == gen::LogLevel::kWarning);
  CHECK(host.logs[0].text.find("Job") != std::string::npos);
  CHECK(host.logs[0].text.find(FakeHost::Pid(FakeHost::kClient).ToString()) != std::string::npos);

  (void)host.Deliver(gen::EnvelopeKind::kEvent, core::Lane::kMain, MakeEvent(3));
  (void)host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kMain, Question{}, 6);
  (void)host.Deliver(gen::EnvelopeKind::kInspect, core::Lane::kUrgent, gen::InspectRequest{}, 7);
  host.Run();
  CHECK(host.logs.size() == 3);
  REQUIRE(host.responses.size() == 2);
  CHECK(host.responses[0].envelope->ValueAs<gen::Inspection>()->empty());
  const auto* error = host.responses[1].envelope->ValueAs<gen::Error>();
  REQUIRE(error != nullptr);
  CHECK(*error == gen::ErrUnsupported);
  CHECK(error->ToString().find("Question") != std::string::npos);
}

TEST_CASE("actor: without a process its functions say so") {
  class Eager : public Actor {
   public:
    Eager() { (void)Send(Self(), 1); }
  };
  CHECK_THROWS_WITH_AS(Eager(), doctest::Contains("use it from Init on"), std::logic_error);
}

TEST_CASE("actor: asked to stop, it ends") {
  FakeHost host;
  Recorder actor;
  REQUIRE(host.Start(actor));
  host.Stop(gen::Reason::Shutdown());
  CHECK(host.ended);
  CHECK(actor.calls.back() == "shutdown");
}

}  // namespace
}  // namespace ergon::act
