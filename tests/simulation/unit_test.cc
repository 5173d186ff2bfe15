#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/state_machine.h>
#include <ergon/testkit/unit.h>

namespace ergon::testkit::unit_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Add {
  int amount = 0;
};
struct Get {};
struct Price {
  int of = 0;
};
struct Total {
  int value = 0;
};
struct Remind {};
struct Watch {
  gen::PID pid;
};

// Sums up, tells its parent, asks for prices, reminds itself.
class Counter : public act::Actor {
 public:
  explicit Counter(int start) : value_(start) {}

 private:
  gen::Status Init(const gen::Args& args) override {
    if (args.Get<bool>(0).value_or(false)) return gen::Stop(gen::Reason::Error("told so"));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* add = message.As<Add>()) {
      if (add->amount < 0) throw std::runtime_error("less than nothing");
      value_ += add->amount;
      CHECK(Send(from, Total{value_}));
    } else if (auto* price = message.As<Price>()) {
      auto answer = Call<int>(from, *price);
      if (!answer) Log().Info("no price: {}", answer.error());
      value_ += answer.value_or(-1);
    } else if (message.Is<Remind>()) {
      timer_ = SendAfter(Self(), Add{1}, 10ms).value();
      CHECK(SendAfter(from, Total{0}, 20ms));
    } else if (auto* watch = message.As<Watch>()) {
      if (!watch->pid) throw gen::Error(gen::ErrorCode::kProcessUnknown);
      CHECK(Monitor(watch->pid));
      CHECK(Link(watch->pid));
    } else if (auto* down = message.As<gen::MessageDownPID>()) {
      Log().Info("lost {}", down->reason);
    } else if (message.Is<Get>()) {
      CHECK(timer_.Cancel());
    } else {
      return Actor::HandleMessage(from, message);
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<Get>()) return gen::Reply(value_);
    if (request.Is<Remind>()) return gen::NoReply();
    if (request.Is<Price>()) throw std::runtime_error("it has no price");
    return Actor::HandleCall(from, ref, request);
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return {{"value", std::to_string(value_)}};
  }
  void Terminate(const gen::Reason& reason) override { Log().Info("bye: {}", reason); }

  int value_;
  gen::TimerHandle timer_;
};

TEST_CASE("unit: messages, calls and what was sent") {
  Unit unit(gen::Factory<Counter>(40));
  const gen::PID client = unit.NewPID();
  const gen::PID other = unit.NewPID();
  CHECK(client != other);
  unit.ExpectNothingSent();
  unit.Send(client, Add{2});
  CHECK(unit.Call<int>(client, Get{}).value() == 42);
  CHECK(unit.Call<int>(client, Remind{}).error() == gen::ErrTimeout);
  CHECK(unit.Call<int>(client, Total{}).error() == gen::ErrUnsupported);
  CHECK(unit.Call<std::string>(client, Get{}).error() == gen::ErrUnexpectedType);
  CHECK(unit.Inspect().at("value") == "42");
  unit.ExpectSend<Total>().Once();
  unit.ExpectSend<Total>().To(client).Where([](const Total& t) { return t.value == 42; }).Once();
  unit.ExpectSend<Total>().To(other).Never();
  unit.ExpectSend<Add>().Never();
  unit.Forget();
  unit.ExpectNothingSent();
}

// Answers later, and only what its environment allows.
class Gateway : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (!request.Is<Get>()) return Actor::HandleCall(from, ref, request);
    if (!Env<bool>("open").value_or(false)) return gen::ReplyError(gen::ErrBusy);
    open_.emplace_back(from, ref);
    return gen::NoReply();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* add = message.As<Add>();
    if (add == nullptr) return Actor::HandleMessage(from, message);
    for (const auto& [caller, ref] : open_) CHECK(SendResponse(caller, ref, add->amount));
    open_.clear();
    return gen::Continue();
  }
  std::vector<std::pair<gen::PID, gen::Ref>> open_;
};
struct Size {
  using Reply = int;
};
class Sized : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override { return gen::Reply(7); }
};

TEST_CASE("unit: answers that come later, and values of its environment") {
  Unit closed(gen::Factory<Gateway>());
  CHECK(closed.Call<int>(closed.NewPID(), Get{}).error() == gen::ErrBusy);
  Unit unit(gen::Factory<Gateway>(), {}, {{"open", true}});
  const gen::PID client = unit.NewPID();
  const gen::Ref first = unit.Ask(client, Get{});
  const gen::Ref second = unit.Ask(client, Get{});
  CHECK(unit.AnswerTo<int>(first).error() == gen::ErrTimeout);
  unit.Send(unit.NewPID(), Add{5});
  CHECK(unit.AnswerTo<int>(second).value() == 5);
  CHECK(unit.AnswerTo<std::string>(first).error() == gen::ErrUnexpectedType);
  CHECK(unit.AnswerTo<int>(second).error() == gen::ErrTimeout);  // it has been taken
}

TEST_CASE("unit: a request may name the type of its answer") {
  Unit unit(gen::Factory<Sized>());
  CHECK(unit.Call(unit.NewPID(), Size{}).value() == 7);
}

TEST_CASE("unit: an expectation that fails says what there was") {
  Unit unit(gen::Factory<Counter>(0));
  const gen::PID client = unit.NewPID();
  unit.Send(client, Add{2});
  try {
    unit.ExpectSend<Add>().To(client).Once();
    FAIL("no exception");
  } catch (const ExpectationFailed& failure) {
    const std::string text = failure.what();
    CAPTURE(text);
    CHECK(text.find("Add to be sent to " + client.ToString()) != std::string::npos);
    CHECK(text.find("1 times, but it was 0") != std::string::npos);
    CHECK(text.find("Total to " + client.ToString()) != std::string::npos);
  }
  CHECK_THROWS_AS(unit.ExpectNothingSent(), ExpectationFailed);
  CHECK_THROWS_AS(unit.ExpectSend<Total>().Never(), ExpectationFailed);
  const auto log_failure = [&] {
    try {
      unit.ExpectLog(gen::LogLevel::kInfo, "anything");
    } catch (const ExpectationFailed& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK(log_failure() == "expected a log line of level info with 'anything'; there were: none");
  unit.OnCall<Price>([](const Price&) { return gen::ErrBusy; });
  unit.Send(client, Price{1});
  CHECK(log_failure().ends_with("; there were:\n  info: no price: busy"));
}

TEST_CASE("unit: its calls are answered by the test") {
  Unit unit(gen::Factory<Counter>(0));
  const gen::PID shop = unit.NewPID();
  unit.Send(shop, Price{1});  // nobody answers
  CHECK(unit.Call<int>(shop, Get{}).value() == -1);
  unit.OnCall<Price>([](const Price& price) { return 10 * price.of; });
  unit.Send(shop, Price{3});
  CHECK(unit.Call<int>(shop, Get{}).value() == 29);
  unit.OnCall<Price>([](const Price&) { return gen::ErrProcessTerminated; });
  unit.Send(shop, Price{3});
  unit.ExpectLog(gen::LogLevel::kInfo, "no price: process terminated");
  CHECK(unit.Call<int>(shop, Get{}).value() == 28);
}

TEST_CASE("unit: the answer of the test is a value now, and an error then") {
  Unit unit(gen::Factory<Counter>(0));
  const gen::PID shop = unit.NewPID();
  unit.OnCall<Price>([](const Price& price) -> gen::Result<int> {
    if (price.of == 0) return gen::ErrNotAllowed;
    return price.of;
  });
  unit.Send(shop, Price{3});
  CHECK(unit.Call<int>(shop, Get{}).value() == 3);
  unit.Send(shop, Price{0});
  unit.ExpectLog(gen::LogLevel::kInfo, "no price: not allowed");
}

TEST_CASE("unit: only a behaviour can be tested by itself") {
  CHECK_THROWS_AS(Unit{gen::ProcessFactory()}, std::invalid_argument);
  CHECK_THROWS_AS(Unit{gen::ProcessFactory([](gen::Process&) {})}, std::invalid_argument);
  const gen::ProcessFactory makes_nothing([] { return std::unique_ptr<gen::ProcessBehavior>(); },
                                          nullptr);
  CHECK_THROWS_AS(Unit{makes_nothing}, std::invalid_argument);
}

// Asks again whenever it has an answer, so many times.
class Poller : public act::Actor {
 public:
  explicit Poller(int times) : left_(times) {}

 private:
  gen::Status Init(const gen::Args&) override {
    Ask();
    return gen::Continue();
  }
  gen::Status HandleResponse(gen::Ref, gen::Response&) override {
    if (--left_ > 0) Ask();
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(left_);
  }
  void Ask() { Request(Parent(), Price{left_}).value(); }
  int left_;
};

TEST_CASE("unit: a process that asks again at each answer") {
  Unit unit(gen::Factory<Poller>(100'000));
  unit.OnCall<Price>([](const Price& price) { return price.of; });
  unit.Respond(unit.OpenRequests().at(0), 0);
  CHECK(unit.Call<int>(unit.NewPID(), Get{}).value() == 0);
}

TEST_CASE("unit: time") {
  Unit unit(gen::Factory<Counter>(0));
  const gen::PID client = unit.NewPID();
  unit.Send(client, Remind{});
  unit.Advance(9ms);
  unit.ExpectNothingSent();
  unit.Advance(1ms);
  CHECK(unit.Call<int>(client, Get{}).value() == 1);
  unit.ExpectSend<Total>().To(client).Never();
  unit.Advance(10ms);
  unit.ExpectSend<Total>().To(client).Once();
  unit.Send(client, Remind{});
  unit.Send(client, Get{});  // cancels
  unit.Advance(1h);
  CHECK(unit.Call<int>(client, Get{}).value() == 1);
}

TEST_CASE("unit: monitors, links and ends") {
  Unit unit(gen::Factory<Counter>(0));
  const gen::PID client = unit.NewPID();
  const gen::PID watched = unit.NewPID();
  CHECK_THROWS_AS(unit.Down(watched, gen::Reason::Normal()), std::logic_error);
  unit.Send(client, Watch{watched});
  CHECK(unit.links() == std::vector<gen::PID>{watched});
  REQUIRE(unit.monitors().size() == 1);
  unit.Down(watched, gen::Reason::Error("gone"));
  unit.ExpectLog(gen::LogLevel::kInfo, "lost gone");
  CHECK_FALSE(unit.ended().has_value());
  unit.Exit(watched, gen::Reason::Normal());
  CHECK_FALSE(unit.ended().has_value());
  unit.Exit(watched, gen::Reason::Error("gone"));
  REQUIRE(unit.ended().has_value());
  CHECK(unit.ended()->ToString() == "gone");
  unit.ExpectLog(gen::LogLevel::kInfo, "bye: gone");
  CHECK_THROWS_AS(unit.Send(client, Add{1}), std::logic_error);
}

// Traps exit signals, and counts them.
class Trapper : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<gen::MessageExitPID>()) ++exits_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    return request.Is<Get>() ? gen::Reply(exits_) : gen::Reply(Parent());
  }
  int exits_ = 0;
};

TEST_CASE("unit: the end of its parent ends a process that traps exit signals") {
  for (const gen::Reason& reason : {gen::Reason::Normal(), gen::Reason::Error("gone")}) {
    Unit unit(gen::Factory<Trapper>());
    const gen::PID client = unit.NewPID();
    const gen::PID parent = unit.Call<gen::PID>(client, Add{1}).value();
    unit.Exit(client, reason);
    CHECK(unit.Call<int>(client, Get{}).value() == 1);
    unit.Exit(parent, reason);
    REQUIRE(unit.ended().has_value());
    CHECK(*unit.ended() == reason);
  }
}

// Monitors a process, and ends all of its monitors.
class Fickle : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* watch = message.As<Watch>()) {
      monitors_.push_back(Monitor(watch->pid).value());
    } else {
      for (const gen::Ref monitor : monitors_) CHECK(Demonitor(monitor));
      CHECK(Demonitor(monitors_.back()).error() == gen::ErrProcessUnknown);
    }
    return gen::Continue();
  }
  std::vector<gen::Ref> monitors_;
};

TEST_CASE("unit: a monitor that has ended tells of no end") {
  Unit unit(gen::Factory<Fickle>());
  const gen::PID watched = unit.NewPID();
  unit.Send(watched, Watch{watched});
  unit.Send(watched, Watch{watched});
  CHECK(unit.monitors().size() == 2);
  unit.Send(watched, Get{});
  CHECK(unit.monitors().empty());
  CHECK_THROWS_AS(unit.Down(watched, gen::Reason::Normal()), std::logic_error);
}

// Answers as another node may: with 64 bits.
class Wide : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(std::int64_t{7});
  }
};

TEST_CASE("unit: an answer is taken as a node takes it") {
  Unit unit(gen::Factory<Wide>());
  CHECK(unit.Call<int>(unit.NewPID(), Get{}).value() == 7);
  CHECK(unit.Call<std::string>(unit.NewPID(), Get{}).error() == gen::ErrUnexpectedType);
}

TEST_CASE("unit: exceptions and a failed Init") {
  Unit unit(gen::Factory<Counter>(0));
  unit.Send(unit.NewPID(), Add{-1});
  CHECK(
      unit.ended()->ToString() ==
      "panic: less than nothing (handling ergon::testkit::unit_test::(anonymous namespace)::Add)");
  Unit asked(gen::Factory<Counter>(0));
  const auto answer = asked.Call<int>(asked.NewPID(), Price{});
  CHECK(answer.error() == gen::ErrProcessTerminated);
  CHECK(answer.error().detail().find("the process has ended: panic: it has no price") == 0);
  Unit refuses(gen::Factory<Counter>(0));
  refuses.Send(refuses.NewPID(), Watch{});
  CHECK(refuses.ended()->ToString().find("panic: process is unknown") == 0);
  const Unit failed(gen::Factory<Counter>(0), gen::MakeArgs(true));
  CHECK(failed.ended()->ToString() == "told so");
  CHECK_THROWS_AS(failed.ExpectLog(gen::LogLevel::kInfo, "bye"), ExpectationFailed);
}

// What Init wants to be called next ends it.
class EndsAtOnce : public act::Actor {
 public:
  explicit EndsAtOnce(gen::PID client) : client_(client) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SendEvery(client_, Get{}, 1s).value();
    return ContinueWith([] { return gen::Stop(gen::Reason::Error("at once")); });
  }
  void Terminate(const gen::Reason& reason) override { Log().Info("bye: {}", reason); }

  gen::PID client_;
};

TEST_CASE("unit: who has begun terminates, whatever ends it, and its ticks end with it") {
  Unit unit(gen::Factory<EndsAtOnce>(gen::PID{9, "elsewhere", 4}));
  CHECK(unit.ended()->ToString() == "at once");
  unit.ExpectLog(gen::LogLevel::kInfo, "bye: at once");
  unit.Advance(5s);
  unit.ExpectNothingSent();
}

struct AskPrice {
  int of = 0;
};
struct PassTo {
  gen::PID to;
};

// Asks without waiting, and notes what comes back.
class Asker : public act::Actor {
 private:
  gen::Status Init(const gen::Args&) override {
    CHECK(Request(Parent(), AskPrice{1}));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* ask = message.As<AskPrice>()) {
      last_ = Request(from, *ask).value();
    } else if (auto* pass = message.As<PassTo>()) {
      CHECK(Forward(pass->to, message));
    }
    return gen::Continue();
  }
  gen::Status HandleResponse(gen::Ref, gen::Response& response) override {
    if (auto* price = response.As<int>()) {
      sum_ += *price;
    } else {
      Log().Info("no price: {}", response.error());
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(sum_);
  }
  gen::Ref last_;
  int sum_ = 0;
};

TEST_CASE("unit: requests are open until somebody answers them") {
  Unit unit{gen::Factory<Asker>()};
  const gen::PID shop = unit.NewPID();
  CHECK(unit.OpenRequests().size() == 1);  // that of Init
  unit.OnCall<AskPrice>([](const AskPrice& ask) { return 10 * ask.of; });
  unit.Send(shop, AskPrice{2});
  CHECK(unit.Call<int>(shop, Get{}).value() == 20);
  unit.ExpectSend<AskPrice>().To(shop).Once();
  const gen::Ref first = unit.OpenRequests().at(0);
  unit.Respond(first, 1);
  CHECK(unit.Call<int>(shop, Get{}).value() == 21);
  CHECK(unit.OpenRequests().empty());
  CHECK_THROWS_AS(unit.Respond(first, 1), std::logic_error);
  unit.OnCall<AskPrice>([](const AskPrice&) { return gen::ErrProcessTerminated; });
  unit.Send(shop, AskPrice{3});
  unit.ExpectLog(gen::LogLevel::kInfo, "no price: process terminated");
}

TEST_CASE("unit: requests that nobody answers time out as time passes") {
  Unit unit{gen::Factory<Asker>()};
  const auto timeout = gen::CallOptions().timeout;
  unit.Advance(timeout - 1ms);
  CHECK(unit.OpenRequests().size() == 1);
  unit.Advance(1ms);
  CHECK(unit.OpenRequests().empty());
  unit.ExpectLog(gen::LogLevel::kInfo, "no price: " + gen::ErrTimeout.ToString());
}

TEST_CASE("unit: what is forwarded counts as sent") {
  Unit unit{gen::Factory<Asker>()};
  const gen::PID other = unit.NewPID();
  unit.Send(unit.NewPID(), PassTo{other});
  unit.ExpectSend<PassTo>().To(other).Once();
}

// Goes off when nobody has pressed it for a while.
class Lamp : public act::StateMachine<bool> {
 public:
  Lamp() {
    In(false, "off", &Lamp::Off);
    In(true, "on", &Lamp::On);
  }

 private:
  act::Transition Init(const gen::Args&) override { return GoTo(false); }
  act::Transition Off(act::StateEvent& event) {
    if (event.Is<Get>()) return GoTo(true).Reply(true).StateTimeout(10ms);
    return Unhandled(event);
  }
  act::Transition On(act::StateEvent& event) {
    if (event.IsStateTimeout()) return GoTo(false);
    if (event.Is<Get>()) return Keep().Reply(false).StateTimeout(10ms);
    return Unhandled(event);
  }
};

class Metronome : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    handle_ = SendEvery(Self(), Get{}, 10ms).value();
    SetEnv("tempo", "slow");
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    if (++ticks_ == 3) CHECK(handle_.Cancel());
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(Env("tempo").value() + std::to_string(ticks_));
  }
  gen::TimerHandle handle_;
  int ticks_ = 0;
};

// In a group from the beginning, and sends to it.
class Singer : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    CHECK(JoinGroup("choir"));
    CHECK(MonitorGroup("choir")->size() == 1);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Remind>()) {
      CHECK(SendToGroup("choir", Add{1}).value() == 1);
      CHECK(SendToOneOf("choir", Add{2}).value() == Self());
      CHECK(SendToOneOf("orchestra", Add{3}).error() == gen::ErrProcessUnknown);
    } else {
      CHECK(LeaveGroup("choir"));
      CHECK(LeaveGroup("choir").error() == gen::ErrProcessUnknown);
      CHECK(GroupMembers("choir").empty());
    }
    return gen::Continue();
  }
};

TEST_CASE("unit: it is the only member of the groups that it joins") {
  Unit unit(gen::Factory<Singer>());
  unit.Send(unit.NewPID(), Remind{});
  unit.ExpectSend<Add>().To(unit.Self()).Times(2);
  unit.ExpectSend<Add>().Where([](const Add& add) { return add.amount == 2; }).Once();
  unit.ExpectSend<Add>().Where([](const Add& add) { return add.amount == 3; }).Never();
  unit.Send(unit.NewPID(), Get{});
}

TEST_CASE("unit: periodic sends come as time passes, until they are cancelled") {
  Unit unit(gen::Factory<Metronome>());
  unit.Advance(29ms);
  CHECK(unit.Call<std::string>(unit.NewPID(), 0).value() == "slow2");
  unit.Advance(100ms);
  CHECK(unit.Call<std::string>(unit.NewPID(), 0).value() == "slow3");
}

struct Wait {
  std::chrono::nanoseconds time;
};

// Sends to itself after a time, and again and again, and counts what comes.
class Waiter : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* wait = message.As<Wait>()) {
      auto after = SendAfter(Self(), Get{}, wait->time);
      if (!after) Log().Info("{}", after.error());
      auto every = SendEvery(Self(), Get{}, wait->time);
      if (!every) Log().Info("{}", every.error());
    } else {
      ++count_;
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (auto* wait = request.As<Wait>()) CHECK(Sleep(wait->time));
    return gen::Reply(count_);
  }
  int count_ = 0;
};

TEST_CASE("unit: an infinite time is never, not at once") {
  Unit unit(gen::Factory<Waiter>());
  const gen::PID client = unit.NewPID();
  unit.Advance(1h);
  unit.Send(client, Wait{gen::kInfinite});
  unit.Advance(1h);
  CHECK(unit.Call<int>(client, Get{}).value() == 0);
  unit.Send(client, Wait{gen::kInfinite - 2h - 1ns});  // nearly
  unit.Advance(gen::kInfinite);
  CHECK(unit.Call<int>(client, Get{}).value() == 2);
  CHECK(unit.Call<int>(client, Wait{gen::kInfinite}).value() == 2);
}

TEST_CASE("unit: times that a node refuses are refused") {
  Unit unit(gen::Factory<Waiter>());
  unit.Send(unit.NewPID(), Wait{-1ns});
  unit.ExpectLog(gen::LogLevel::kInfo, "delay: -1ns, must not be negative");
  unit.ExpectLog(gen::LogLevel::kInfo, "period: -1ns, must be more than 0");
}

TEST_CASE("unit: the time-outs of a state machine fire as time passes") {
  Unit unit(gen::Factory<Lamp>());
  CHECK(unit.Inspect().at("state") == "off");
  CHECK(unit.Call<bool>(unit.NewPID(), Get{}).value());
  unit.Advance(9ms);
  CHECK_FALSE(unit.Call<bool>(unit.NewPID(), Get{}).value());
  unit.Advance(9ms);
  CHECK(unit.Inspect().at("state") == "on");
  unit.Advance(1ms);
  CHECK(unit.Inspect().at("state") == "off");
}

}  // namespace
}  // namespace ergon::testkit::unit_test
