#include <ergon/act/become.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>

#include "fake_host.h"

namespace ergon::act::testing {
namespace {

// Notes who has handled what; the tests say what it becomes.
class Changeling : public Actor {
 public:
  using Actor::Become;
  using Actor::BecomeStacked;
  using Actor::Unbecome;

  HandlerSet Named(std::string name) {
    return {.message = [this, name](gen::PID, gen::Message& message) {
      log += name + std::to_string(message.As<Job>()->number) + " ";
      return gen::Continue();
    }};
  }

  std::string log;

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    log += "own" + std::to_string(message.As<Job>()->number) + " ";
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    log += "call ";
    return gen::Reply(1);
  }
  gen::Status HandleResponse(gen::Ref, gen::Response&) override {
    log += "response ";
    return gen::Continue();
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    log += "inspect ";
    return {};
  }
};

struct Stage {
  Stage() { CHECK(host.Start(actor)); }
  void Send(int number) {
    CHECK(host.Send(number));
    host.Run();
  }
  template <class T>
  void Other(gen::EnvelopeKind kind, T value) {
    CHECK(host.Deliver(kind, core::Lane::kMain, std::move(value), 5));
    host.Run();
  }
  FakeHost host;
  Changeling actor;
};

TEST_CASE("become: a set replaces the one before, and Unbecome returns to the actor's own") {
  Stage it;
  it.Send(1);
  CHECK_FALSE(it.actor.Unbecome());
  it.actor.Become(it.actor.Named("a"));
  it.Send(2);
  it.actor.Become(it.actor.Named("b"));
  it.Send(3);
  CHECK(it.actor.Unbecome());
  it.Send(4);
  CHECK_FALSE(it.actor.Unbecome());
  CHECK(it.actor.log == "own1 a2 b3 own4 ");
}

TEST_CASE("become: stacked sets come back one by one") {
  Stage it;
  it.actor.BecomeStacked(it.actor.Named("a"));
  it.actor.BecomeStacked(it.actor.Named("b"));
  it.actor.Become(it.actor.Named("c"));  // in place of b
  it.Send(1);
  CHECK(it.actor.Unbecome());
  it.Send(2);
  CHECK(it.actor.Unbecome());
  it.Send(3);
  CHECK(it.actor.log == "c1 a2 own3 ");
}

TEST_CASE("become: what the set does not have is the actor's own, not that of the set below") {
  Stage it;
  it.actor.BecomeStacked(it.actor.Named("a"));
  it.actor.BecomeStacked({.call = [&](gen::PID, gen::Ref, gen::Message&) {
    it.actor.log += "set ";
    return gen::Reply(2);
  }});
  it.Send(1);
  it.Other(gen::EnvelopeKind::kRequest, Job{2});
  it.Other(gen::EnvelopeKind::kResponse, 3);
  it.Other(gen::EnvelopeKind::kInspect, gen::InspectRequest{});
  CHECK(it.actor.log == "own1 set response inspect ");
  CHECK(*it.host.responses.front().envelope->ValueAs<int>() == 2);
  it.actor.Become({.response = [&](gen::Ref ref, gen::Response& response) {
    it.actor.log += std::to_string(ref.id) + "=" + std::to_string(*response.As<int>()) + " ";
    return gen::Continue();
  }});
  it.Other(gen::EnvelopeKind::kResponse, 3);
  it.Other(gen::EnvelopeKind::kRequest, Job{2});
  CHECK(it.actor.log == "own1 set response inspect 5=3 call ");
}

TEST_CASE("become: inside a handler it counts from the next message on, and what runs stays") {
  Stage it;
  const auto alive = std::make_shared<int>(7);
  it.actor.Become({.message = [&it, kept = alive](gen::PID, gen::Message&) {
    it.actor.Become(it.actor.Named("b"));
    it.actor.Become(it.actor.Named("c"));
    CHECK(it.actor.Unbecome());
    CHECK_FALSE(it.actor.Unbecome());
    it.actor.BecomeStacked(it.actor.Named("d"));
    it.actor.log += "kept" + std::to_string(*kept) + " ";
    return gen::Continue();
  }});
  CHECK(alive.use_count() == 2);
  it.Send(1);
  CHECK(alive.use_count() == 1);  // gone with its handler's end
  it.Send(2);
  CHECK(it.actor.log == "kept7 d2 ");
}

TEST_CASE("become: a handler of a set may end the process") {
  Stage it;
  it.actor.Become({.message = [](gen::PID, gen::Message&) -> gen::Status {
    return gen::Stop(gen::Reason::Error("done"));
  }});
  it.Send(1);
  CHECK(it.host.end_reason == gen::Reason::Error("done"));
}

TEST_CASE("become: the stack alone") {
  HandlerStack stack;
  CHECK(stack.empty());
  CHECK_FALSE(stack.Pop());
  stack.Replace({});
  stack.Push({});
  stack.Replace({});
  CHECK(stack.size() == 2);
  CHECK(stack.Pop());
  CHECK(stack.Pop());
  CHECK(stack.empty());
}

}  // namespace
}  // namespace ergon::act::testing
