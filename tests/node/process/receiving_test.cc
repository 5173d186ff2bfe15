// Processes made of functions, from outside.
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ergon/gen/host/process_host.h>
#include <ergon/node/node.h>
#include <kit/eventually.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;

struct ReceivedNumber {
  int value;
};
struct ReceivedOrder {
  static constexpr const char* kTag = "order";
};
struct ReceivedText {
  std::string value;
};
struct Square {
  using Reply = int;
  int value;
};

node::Node StartQuiet() {
  return node::Start("receive@localhost", {.log_level = gen::LogLevel::kOff}).value();
}

// What a process made of a function has told the test.
struct Told {
  std::promise<std::string> promise;
  std::future<std::string> future = promise.get_future();
  void operator()(std::string text) { promise.set_value(std::move(text)); }
};

TEST_CASE("function: a process from a function receives in the order sent, and ends with it") {
  auto node = StartQuiet();
  auto told = std::make_shared<Told>();
  auto pid = node.Spawn([told](gen::Process& self) {
    std::string all;
    while (auto next = self.Receive<ReceivedNumber, ReceivedText>()) {
      if (auto* number = std::get_if<ReceivedNumber>(&*next)) {
        all += std::to_string(number->value) + " ";
      } else {
        (*told)(all + std::get<ReceivedText>(*next).value);
        return;
      }
    }
  });
  REQUIRE(pid);
  for (int i = 0; i < 5; ++i) CHECK(node.Send(*pid, ReceivedNumber{i}));
  CHECK(node.Send(*pid, ReceivedText{"end"}));
  CHECK(told->future.get() == "0 1 2 3 4 end");
  CHECK(node.WaitProcess(*pid, kit::kDeadline));
}

TEST_CASE("function: selective receive leaves the others in their order") {
  auto node = StartQuiet();
  auto told = std::make_shared<Told>();
  auto pid = node.Spawn([told](gen::Process& self) {
    std::string all = self.Receive<ReceivedText>()->value;
    for (int i = 0; i < 3; ++i) all += std::to_string(self.Receive<ReceivedNumber>()->value);
    (*told)(all);
  });
  REQUIRE(pid);
  for (int i = 0; i < 3; ++i) CHECK(node.Send(*pid, ReceivedNumber{i}));
  CHECK(node.Send(*pid, ReceivedText{"first "}));
  CHECK(told->future.get() == "first 012");
}

TEST_CASE("function: a time-out, and a look without waiting") {
  auto node = StartQuiet();
  auto told = std::make_shared<Told>();
  auto pid = node.Spawn([told](gen::Process& self) {
    auto none = self.Receive<ReceivedNumber>(0ns);
    auto late = self.Receive<ReceivedNumber>(20ms);
    auto negative = self.Receive<ReceivedNumber>(-1ms);
    auto there = self.Receive<ReceivedText>(kit::kDeadline);  // was passed over
    (*told)(none.error().ToString() + ", " + late.error().ToString() + ", " +
            negative.error().ToString() + ", " + there->value);
  });
  REQUIRE(pid);
  CHECK(node.Send(*pid, ReceivedText{"there"}));
  CHECK(told->future.get() ==
        "timed out, timed out, incorrect value: timeout: -1ms, must not be negative, there");
}

TEST_CASE("function: requests are answered, and left open when it ends") {
  auto node = StartQuiet();
  auto pid = node.Spawn([](gen::Process& self) {
    while (auto next = self.Receive<gen::Asked<Square>, gen::OtherMessage>()) {
      if (auto* square = std::get_if<gen::Asked<Square>>(&*next)) {
        if (square->value.value < 0) return gen::Reason::Error("no more");
        (void)self.Reply(*square, square->value.value * square->value.value);
      } else if (auto& other = std::get<gen::OtherMessage>(*next); other.request) {
        (void)self.SendResponseError(other.from, *other.request, gen::Error("a " + other.type));
      }
    }
    return gen::Reason();
  });
  REQUIRE(pid);
  const gen::CallOptions patient{.timeout = kit::kDeadline};
  CHECK(node.Call(*pid, Square{7}, patient).value() == 49);
  CHECK(node.Send(*pid, ReceivedNumber{1}));
  CHECK(node.Call<int>(*pid, ReceivedNumber{1}, patient).error().detail().find("ReceivedNumber") !=
        std::string::npos);
  CHECK(node.Call<int>(*pid, ReceivedOrder{}, patient).error().detail() == "a order");
  auto end = node.Call(*pid, Square{-1}, patient);
  CHECK(end.error() == gen::ErrProcessTerminated);
  CHECK(end.error().detail() == "no more");
}

TEST_CASE("function: a request that waits too long is not received, and its caller is told") {
  auto node = StartQuiet();
  auto told = std::make_shared<Told>();
  auto pid = node.Spawn([told](gen::Process& self) {
    (void)self.Receive<ReceivedText>();  // passes the request over
    auto square = self.Receive<gen::Asked<Square>>(0ns);
    (*told)(square ? "received" : square.error().ToString());
  });
  REQUIRE(pid);
  CHECK(node.Call(*pid, Square{2}, {.timeout = 30ms}).error() == gen::ErrTimeout);
  CHECK(node.Send(*pid, ReceivedText{}));
  CHECK(told->future.get() == "timed out");
  CHECK(kit::Eventually([&] { return node.MessageBalance().dropped_expired == 1; }));
}

TEST_CASE("function: an exception is its end") {
  auto node = StartQuiet();
  auto pid = node.Spawn([](gen::Process& self) {
    (void)self.Receive<ReceivedNumber>();
    throw std::runtime_error("no");
  });
  auto told = std::make_shared<Told>();
  auto watch = node.Spawn([told, pid = *pid](gen::Process& self) {
    (void)self.Monitor(pid);
    (void)self.Send(pid, ReceivedNumber{1});
    auto down = self.Receive<gen::MessageDownPID>();
    (*told)(down->reason.ToString());
  });
  REQUIRE(watch);
  CHECK(told->future.get().find("panic: no") == 0);
}

TEST_CASE("function: kill, exit signals and stop end the wait") {
  auto node = StartQuiet();
  const auto forever = [](gen::Process& self) {
    while (self.Receive<ReceivedNumber>()) {
    }
  };
  auto killed = node.Spawn(forever);
  CHECK(node.Kill(*killed));
  CHECK(node.WaitProcess(*killed, kit::kDeadline));
  auto exited = node.Spawn(forever);
  CHECK(node.SendExit(*exited, gen::Reason::Error("go")));
  CHECK(node.WaitProcess(*exited, kit::kDeadline));
  auto stopped = node.Spawn(forever);
  for (int i = 0; i < 1000; ++i) CHECK(node.Send(*stopped, ReceivedNumber{i}));
  CHECK(node.StopProcess(*stopped, kit::kDeadline));
  CHECK(node.MessageBalance().handled == 1000);
}

TEST_CASE("function: it traps exits, and a signal waits for its Receive") {
  auto node = StartQuiet();
  auto told = std::make_shared<Told>();
  auto pid = node.Spawn([told](gen::Process& self) {
    self.SetTrapExit(true);
    auto child = self.Spawn(
        [](gen::Process& worker) {
          (void)worker.Receive<ReceivedNumber>();
          return gen::Reason::Error("worn out");
        },
        {.link_parent = true});
    (void)self.Send(*child, ReceivedNumber{1});
    (void)self.Receive<ReceivedText>();
    auto exit = self.Receive<gen::MessageExitPID>();
    (*told)(exit->reason.ToString());
  });
  CHECK(kit::Eventually([&] { return node.Info().processes_ended == 1; }));  // the child
  CHECK(node.Send(*pid, ReceivedText{}));
  CHECK(told->future.get() == "worn out");
}

TEST_CASE("function: what was passed over counts in the mailbox's bound") {
  auto node = StartQuiet();
  std::promise<void> begun;
  std::promise<void> first;
  std::promise<void> emptied;
  auto pid = node.Spawn(
      [&](gen::Process& self) {
        begun.set_value();
        (void)self.Receive<ReceivedText>();
        first.set_value();
        (void)self.Receive<ReceivedText>();
        while (self.Receive<ReceivedNumber>(0ns)) {
        }
        emptied.set_value();
        (void)self.Receive<ReceivedText>();
      },
      {.mailbox_size = 10});
  begun.get_future().wait();
  const auto fill = [&] {
    int sent = 0;
    while (node.Send(*pid, ReceivedNumber{sent})) {
      ++sent;
      CHECK(kit::Eventually(
          [&] { return node.ProcessInfo(*pid)->state == gen::ProcessState::kIdle; }));
    }
    return sent;
  };
  // While the process looks at a message that does not wait in its mailbox: one more may come in.
  const auto is_full = [](int accepted) { return accepted == 10 || accepted == 11; };
  const int accepted = fill();
  CHECK(is_full(accepted));
  // Eventually: an idle process may have a message that its worker has not come to, so that the last may be
  // looked at just now.
  CHECK(kit::Eventually(
      [&] { return node.MessageBalance().queued == static_cast<std::uint64_t>(accepted); }));
  CHECK(node.ProcessInfo(*pid)->mailbox_size == 10);
  CHECK(node.SendWithPriority(*pid, ReceivedText{}, gen::MessagePriority::kHigh));
  first.get_future().wait();
  CHECK(fill() == 0);
  CHECK(node.SendWithPriority(*pid, ReceivedText{}, gen::MessagePriority::kHigh));
  emptied.get_future().wait();
  CHECK(node.MessageBalance().queued == 0);
  CHECK(is_full(fill()));
  CHECK(node.StopProcess(*pid, kit::kDeadline));
}

TEST_CASE("function: a full one is stopped, too") {
  auto node = StartQuiet();
  auto pid = node.Spawn([](gen::Process& self) { (void)self.Receive<ReceivedText>(); },
                        {.mailbox_size = 2});
  while (node.Send(*pid, ReceivedNumber{})) {
  }
  CHECK(node.StopProcess(*pid, kit::kDeadline));
}

TEST_CASE("function: suspended, it receives nothing; resumed, what had come before") {
  auto node = StartQuiet();
  std::promise<void> first;
  std::promise<int> second;
  auto pid = node.Spawn([&](gen::Process& self) {
    (void)self.Receive<ReceivedText>();
    first.set_value();
    second.set_value(self.Receive<ReceivedNumber>()->value);
  });
  CHECK(node.Send(*pid, ReceivedNumber{1}));
  CHECK(kit::Eventually([&] { return node.ProcessInfo(*pid)->state == gen::ProcessState::kIdle; }));
  CHECK(node.Suspend(*pid));
  CHECK(node.SendWithPriority(*pid, ReceivedText{}, gen::MessagePriority::kHigh));
  first.get_future().wait();
  CHECK(node.Send(*pid, ReceivedNumber{2}));
  CHECK(node.Resume(*pid));
  CHECK(second.get_future().get() == 1);
}

TEST_CASE("function: a time-out holds under a flood of others") {
  auto node = StartQuiet();
  std::atomic<bool> done{false};
  std::promise<std::string> told;
  auto pid = node.Spawn([&](gen::Process& self) {
    const auto looked = self.Receive<ReceivedText>(0ns);
    const auto waited = self.Receive<ReceivedText>(5ms);
    told.set_value(looked.error().ToString() + ", " + waited.error().ToString());
    while (self.Receive<ReceivedNumber>()) {
    }
  });
  {
    std::jthread flood([&] {
      while (!done) (void)node.Send(*pid, ReceivedNumber{});
    });
    CHECK(told.get_future().get() == "timed out, timed out");
    done = true;
  }
  CHECK(node.Kill(*pid));
}

TEST_CASE("function: a mailbox with an order of its own is received from in that order") {
  auto node = StartQuiet();
  std::promise<std::string> told;
  auto pid = node.Spawn(
      [&](gen::Process& self) {
        std::string all;
        (void)self.Receive<ReceivedText>();
        for (int i = 0; i < 3; ++i) all += std::to_string(self.Receive<ReceivedNumber>()->value);
        told.set_value(all);
        (void)self.Receive<ReceivedText>();
      },
      {.mailbox = gen::Mailbox::Priority<ReceivedNumber>(
           [](const ReceivedNumber& number) { return number.value; })});
  CHECK(node.Suspend(*pid));
  for (const int value : {3, 1, 2}) CHECK(node.Send(*pid, ReceivedNumber{value}));
  CHECK(node.Send(*pid, ReceivedText{}));
  CHECK(node.Resume(*pid));
  CHECK(told.get_future().get() == "123");
  CHECK(node.Send(*pid, ReceivedNumber{4}));
  CHECK(node.StopProcess(*pid, kit::kDeadline));
  CHECK(kit::Eventually([&] { return node.MessageBalance().dropped_terminated == 1; }));
  CHECK(node.MessageBalance().Unaccounted() == 0);
}

TEST_CASE("function: what comes before it has begun is received, whatever its priority") {
  auto node = StartQuiet();
  for (int round = 0; round < 300; ++round) {
    std::promise<void> done;
    auto pid = node.Spawn(
        [&](gen::Process& self) {
          (void)self.Receive<ReceivedNumber>();
          (void)self.Receive<ReceivedText>();
          done.set_value();
        },
        {.mailbox_size = 1});
    CHECK(node.Send(*pid, ReceivedNumber{}));
    CHECK(node.SendWithPriority(*pid, ReceivedText{}, gen::MessagePriority::kMax));
    done.get_future().wait();
  }
}

TEST_CASE("function: what it has not received is counted when it ends") {
  auto node = StartQuiet();
  auto pid = node.Spawn([](gen::Process& self) { (void)self.Receive<ReceivedText>(); });
  for (int i = 0; i < 10; ++i) CHECK(node.Send(*pid, ReceivedNumber{i}));
  CHECK(node.Send(*pid, ReceivedText{}));
  CHECK(node.WaitProcess(*pid, kit::kDeadline));
  const auto balance = node.MessageBalance();
  CHECK(balance.accepted == 11);
  CHECK(balance.handled == 1);
}

TEST_CASE("function: who has handlers does not receive") {
  auto node = StartQuiet();
  class Handlers : public gen::ProcessBehavior {
   public:
    explicit Handlers(std::shared_ptr<Told> told) : told_(std::move(told)) {}
    gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args&) override {
      (*told_)(host.Receive<ReceivedNumber>().error().ToString());
      return gen::Continue();
    }
    gen::Status ProcessMessage(core::Envelope&) override { return gen::Continue(); }
    void ProcessTerminate(const gen::Reason&) override {}
    std::shared_ptr<Told> told_;
  };
  auto told = std::make_shared<Told>();
  CHECK(node.Spawn(gen::Factory<Handlers>(told)));
  CHECK(told->future.get().find("Receive:") != std::string::npos);
}

TEST_CASE("function: who has been killed already takes along a child whose Init receives") {
  auto node = StartQuiet();
  class ReceivesInInit : public gen::ProcessBehavior {
   public:
    ReceivesInInit(std::shared_ptr<Told> told, std::chrono::nanoseconds timeout)
        : told_(std::move(told)), timeout_(timeout) {}
    gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args&) override {
      while (host.Receive<ReceivedNumber>(timeout_).error() == gen::ErrTimeout) {
      }
      (*told_)("ended");
      return gen::Continue();
    }
    gen::Status ProcessMessage(core::Envelope&) override { return gen::Continue(); }
    void ProcessTerminate(const gen::Reason&) override {}
    bool Receives() const noexcept override { return true; }
    std::shared_ptr<Told> told_;
    std::chrono::nanoseconds timeout_;
  };
  auto told = std::make_shared<Told>();
  std::chrono::nanoseconds timeout = gen::kInfinite;
  SUBCASE("and waits") {}
  SUBCASE("and polls") { timeout = 0ns; }
  auto parent = node.Spawn([told, timeout](gen::Process& self) {
    CHECK(self.Node().Kill(self.Self()));  // it runs until it waits
    (void)self.Spawn(gen::Factory<ReceivesInInit>(told, timeout));
  });
  REQUIRE(parent);
  CHECK(told->future.get() == "ended");
  CHECK(node.WaitProcess(*parent, kit::kDeadline));
  CHECK(kit::Eventually([&] { return node.Info().processes == 0; }));
}

TEST_CASE("function: two that play, from both sides of the wait") {
  auto node = StartQuiet();
  constexpr int kRounds = 20000;
  auto told = std::make_shared<Told>();
  const auto player = [told](gen::Process& self) {
    for (;;) {
      auto ball = self.Receive<gen::SentBy<ReceivedNumber>>();
      if (!ball) return;
      if (ball->value.value == 0) return (*told)("done");
      (void)self.Send(ball->from, ReceivedNumber{ball->value.value - 1});
    }
  };
  auto one = node.Spawn(player);
  auto two = node.Spawn([one = *one, player](gen::Process& self) {
    (void)self.Send(one, ReceivedNumber{kRounds});
    player(self);
  });
  REQUIRE(two);
  CHECK(told->future.get() == "done");
}

TEST_CASE("function: many senders, nothing is lost, and others get their turns") {
  auto node = StartQuiet();
  constexpr int kEach = kit::Scaled(20'000, 4);
  std::atomic<long> sum{0};
  std::atomic<int> texts{0};
  auto pid = node.Spawn([&](gen::Process& self) {
    for (int i = 0; i < 4 * kEach; ++i) {
      auto next = self.Receive<ReceivedNumber>();
      if (!next) return;
      sum += next->value;
      if (i % 1000 == 0) {
        auto text = self.Receive<ReceivedText>(0ns);
        if (text) ++texts;
      }
    }
    while (texts < 4) {
      if (self.Receive<ReceivedText>()) ++texts;
    }
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) {
          (void)node.Send(*pid, ReceivedNumber{1});
          if (i == kEach / 2) (void)node.Send(*pid, ReceivedText{});
        }
      });
    }
  }
  CHECK(node.WaitProcess(*pid, kit::kDeadline));
  CHECK(sum == 4 * kEach);
  CHECK(texts == 4);
  CHECK(node.MessageBalance().handled == 4 * kEach + 4);
}

}  // namespace
}  // namespace ergon
