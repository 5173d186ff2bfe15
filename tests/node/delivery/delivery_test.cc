#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include <ergon/core/queues/injection_hold.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// Writes down the ints it gets.
struct Case {
  const char* what;
  gen::Target target;
  gen::Error error;
};

TEST_CASE("delivery: what cannot be reached is told at once, by every function") {
  TestNode t;
  const gen::PID dead = t.Spawn();
  const gen::PID alive = t.Spawn();
  CHECK(t.node.Kill(dead));
  CHECK(t.Ended(dead));
  auto changed = [&](auto change) {
    gen::PID pid = alive;
    change(pid);
    return pid;
  };
  const std::vector<Case> cases = {
      {"the empty PID", gen::PID(), gen::ErrProcessUnknown},
      {"terminated", dead, gen::ErrProcessTerminated},
      {"a slot that does not exist", changed([](gen::PID& pid) { pid.id |= 0x00ffffff; }),
       gen::ErrProcessUnknown},
      {"a slot number out of range", changed([](gen::PID& pid) { pid.id |= 0xffffffff; }),
       gen::ErrProcessUnknown},
      {"generation 0", changed([](gen::PID& pid) { pid.id &= 0xffffffff; }),
       gen::ErrProcessUnknown},
      {"a generation to come", changed([](gen::PID& pid) { pid.id += std::uint64_t{7} << 32; }),
       gen::ErrProcessUnknown},
      {"a former incarnation", changed([](gen::PID& pid) { pid.creation ^= 1; }),
       gen::ErrProcessIncarnation},
      {"another node", changed([](gen::PID& pid) { pid.node = "other@localhost"; }),
       gen::ErrNoConnection},
      {"the node itself", t.node.Self(), gen::ErrProcessUnknown},
      {"no such name", "nobody", gen::ErrProcessUnknown},
      {"a name elsewhere", gen::ProcessID{"nobody", "other@localhost"}, gen::ErrNoConnection},
      {"no such alias", gen::Alias{12345, t.node.Name(), alive.creation}, gen::ErrProcessUnknown},
  };
  const gen::PID prober = t.Spawn();
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    CHECK(t.node.SendWithPriority(c.target, 1, gen::MessagePriority::kNormal).error() == c.error);
    CHECK(t.node.SendWithPriority(c.target, 1, gen::MessagePriority::kMax).error() == c.error);
    CHECK(t.node.Call<int>(c.target, 1).error() == c.error);
    CHECK(t.node.Inspect(c.target).error() == c.error);
    CHECK(t.node.SendExit(c.target, gen::Reason::Shutdown()).error() == c.error);
    CHECK(t.node.SendExit(c.target, gen::Reason::Kill()).error() == c.error);
    CHECK(t.node.StopProcess(c.target).error() == c.error);
    CHECK(t.node.CallAsync<int>(c.target, 1).get().error() == c.error);
    if (c.error == gen::ErrProcessTerminated) {
      CHECK(t.node.WaitProcess(c.target));  // it has ended
    } else {
      CHECK(t.node.WaitProcess(c.target).error() == c.error);
    }
    if (const gen::PID* pid = c.target.AsPID()) {
      CHECK(t.node.Kill(*pid).error() == c.error);
      CHECK(t.node.ProcessInfo(*pid).error() == c.error);
      CHECK(t.node.RegisterName("some", *pid).error() == c.error);
    }
    CHECK(t.Run(prober, [&](Subject& self) {
      CHECK(self.Send(c.target, 1).error() == c.error);
      CHECK(self.Call<int>(c.target, 1).error() == c.error);
      CHECK(self.Inspect(c.target).error() == c.error);
      CHECK(self.SendExit(c.target, gen::Reason::Normal()).error() == c.error);
    }));
  }
  // A PID that nobody has got yet, of a free slot: an error as well.
  const gen::PID early = changed([](gen::PID& pid) { pid.id += 100; });
  CHECK(!t.node.Send(early, 1));
  CHECK(!t.node.Call<int>(early, 1));
  CHECK(!t.node.WaitProcess(early));
  CHECK(!t.node.ProcessInfo(early));
  CHECK(t.Run(alive, [](Subject&) {}));
  CHECK(!t.node.Resolve("some"));
}

TEST_CASE("delivery: the sender is the process or the node") {
  Notes<gen::PID> senders;
  TestNode t;
  const gen::PID to = t.Spawn({.message =
                                   [&](Subject&, gen::PID from, gen::Message&) {
                                     senders.Add(from);
                                     return gen::Continue();
                                   },
                               .call =
                                   [&](Subject&, gen::PID from, gen::Ref, gen::Message&) {
                                     senders.Add(from);
                                     return gen::Reply(0);
                                   }});
  const gen::PID sender = t.Spawn();
  CHECK(t.node.Send(to, 1));
  CHECK(t.node.Call<int>(to, 1));
  CHECK(t.Run(sender, [&](Subject& self) {
    CHECK(self.Send(to, 1));
    CHECK(self.Call<int>(to, 1));
  }));
  CHECK(senders.All() == std::vector<gen::PID>{t.node.Self(), t.node.Self(), sender, sender});
}

struct Big {
  std::array<char, 100'000> bytes;
};

TEST_CASE("delivery: values of all kinds") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (const auto* text = message.As<std::string>()) notes.Add(*text);
    if (message.Is<std::unique_ptr<int>>()) {
      notes.Add(std::to_string(*message.Take<std::unique_ptr<int>>()));
    }
    if (const auto* big = message.As<Big>()) notes.Add(std::string(1, big->bytes[99'999]));
    return gen::Continue();
  }});
  CHECK(t.node.Send(pid, "literal"));
  CHECK(t.node.Send(pid, std::string("text")));
  CHECK(t.node.Send(pid, std::make_unique<int>(5)));
  Big big{};
  big.bytes[99'999] = 'x';
  CHECK(t.node.Send(pid, big));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(notes.All() == std::vector<std::string>{"literal", "text", "5", "x"});
}

TEST_CASE("delivery: Take of another type ends the process and names both") {
  Notes<std::string> reasons;
  Notes<int> notes;
  TestNode t;
  Handlers handlers = Collect(notes);
  handlers.terminate = [&](Subject&, const gen::Reason& reason) { reasons.Add(reason.ToString()); };
  const gen::PID pid = t.Spawn(handlers);
  CHECK(t.node.Send(pid, 2.5));
  CHECK(t.Ended(pid));
  CHECK(reasons.All() ==
        std::vector<std::string>{"panic: message is float 2.5, not int (handling double)"});
}

TEST_CASE("delivery: what nobody handles is logged, and a request is answered") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.node.Send(pid, 2.5));
  CHECK(t.node.Call<int>(pid, 2.5f).error() == gen::ErrUnsupported);
  CHECK(t.log.Contains("unhandled message float 2.5"));
  CHECK(t.log.Contains("unhandled request float"));
}

TEST_CASE("delivery: max before high before normal, each in the order sent") {
  Notes<int> notes;
  std::vector<int> expected;
  TestNode t;
  const gen::PID pid = t.Spawn(Collect(notes));
  kit::ThreadGate gate;
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  constexpr std::array kPriorities = {gen::MessagePriority::kNormal, gen::MessagePriority::kMax,
                                      gen::MessagePriority::kHigh};
  for (int i = 0; i < 30; ++i) {
    const auto priority = kPriorities[static_cast<std::size_t>(i) % 3];
    CHECK(t.node.SendWithPriority(pid, 100 * static_cast<int>(priority) + i, priority));
  }
  for (const int base : {200, 100, 0}) {
    const int offset = base == 200 ? 1 : base == 100 ? 2 : 0;
    for (int i = offset; i < 30; i += 3) expected.push_back(base + i);
  }
  gate.Open();
  CHECK(kit::Eventually([&] { return notes.size() == 30; }));
  CHECK(notes.All() == expected);
}

TEST_CASE("delivery: an urgent message overtakes what waits, between any two messages") {
  Notes<int> notes;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    const int value = message.Take<int>();
    notes.Add(value);
    if (value == 3) {
      CHECK(self.SendWithPriority(self.Self(), -1, gen::MessagePriority::kHigh));
      CHECK(self.SendWithPriority(self.Self(), -2, gen::MessagePriority::kMax));
    }
    return gen::Continue();
  }});
  kit::ThreadGate gate;
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  for (int i = 0; i < 6; ++i) CHECK(t.node.Send(pid, i));
  gate.Open();
  CHECK(kit::Eventually([&] { return notes.size() == 8; }));
  CHECK(notes.All() == std::vector<int>{0, 1, 2, 3, -2, -1, 4, 5});
}

TEST_CASE("delivery: the sender's priority") {
  Notes<int> notes;
  TestNode t;
  const gen::PID pid = t.Spawn(Collect(notes));
  const gen::PID urgent = t.Spawn({}, {.send_priority = gen::MessagePriority::kMax});
  kit::ThreadGate gate;
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Send(pid, 1));
  CHECK(t.Run(urgent, [&](Subject& self) {
    CHECK(self.Send(pid, 2));
    self.SetSendPriority(gen::MessagePriority::kHigh);
    CHECK(self.Send(pid, 3));
    self.SetSendPriority(gen::MessagePriority::kNormal);
    CHECK(self.Send(pid, 4));
  }));
  gate.Open();
  CHECK(kit::Eventually([&] { return notes.size() == 4; }));
  CHECK(notes.All() == std::vector<int>{2, 3, 1, 4});
}

TEST_CASE("delivery: order of each sender is kept") {
  std::atomic<int> wrong{0};
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  TestNode t;
  const int each = kit::Scaled(30'000);
  constexpr int kSenders = 4;
  std::array<int, kSenders> next{};
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    const auto [sender, number] = message.Take<std::pair<int, int>>();
    if (next[static_cast<std::size_t>(sender)]++ != number) wrong.fetch_add(1);
    total.fetch_add(1);
    return gen::Continue();
  }});
  for (int sender = 0; sender < kSenders; ++sender) {
    threads.emplace_back([&, sender] {
      for (int i = 0; i < each; ++i) (void)t.node.Send(pid, std::pair(sender, i));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(kit::Eventually([&] { return total == kSenders * each; }));
  CHECK(wrong == 0);
}

TEST_CASE("delivery: a bounded mailbox takes exactly so many, from any number of senders") {
  std::atomic<int> handled{0};
  TestNode t;
  constexpr int kBound = 100;
  const gen::PID pid = t.Spawn({.message =
                                    [&](Subject&, gen::PID, gen::Message&) {
                                      handled.fetch_add(1);
                                      return gen::Continue();
                                    }},
                               {.mailbox_size = kBound});
  for (int round = 1; round <= 20; ++round) {
    kit::ThreadGate gate;
    t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
    CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
    std::atomic<int> sent{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < kBound; ++k) {
          auto result = t.node.Send(pid, k);
          if (result) sent.fetch_add(1);
          if (!result && result.error() == gen::ErrProcessMailboxFull) refused.fetch_add(1);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(sent == kBound);
    CHECK(refused == 3 * kBound);
    CHECK(t.node.ProcessInfo(pid)->messages_queued == kBound);
    CHECK(t.node.ProcessInfo(pid)->mailbox_size == kBound);
    // A call learns it at once; other priorities are not bounded.
    CHECK(t.node.Call<bool>(pid, Do{}, {.timeout = kit::kDeadline}).error() ==
          gen::ErrProcessMailboxFull);
    CHECK(t.node.SendWithPriority(pid, 1, gen::MessagePriority::kHigh));
    CHECK(t.node.SendWithPriority(pid, 1, gen::MessagePriority::kMax));
    gate.Open();
    CHECK(kit::Eventually([&] { return handled == round * (kBound + 2); }));
  }
}

TEST_CASE("delivery: a bound of one, while the process takes") {
  std::atomic<int> handled{0};
  std::atomic<int> sent{0};
  std::vector<std::thread> threads;
  TestNode t;
  const gen::PID pid = t.Spawn({.message =
                                    [&](Subject&, gen::PID, gen::Message&) {
                                      handled.fetch_add(1);
                                      return gen::Continue();
                                    }},
                               {.mailbox_size = 1});
  const int each = kit::Scaled(100'000);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) {
        if (t.node.Send(pid, k)) sent.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(kit::Eventually([&] { return handled == sent; }));
  CHECK(t.node.Send(pid, 1));  // idle and empty: there is room
}

struct Passed {
  gen::PID from;
  gen::PID full;
  std::string tag;
  int value;
};

TEST_CASE("delivery: a full mailbox passes messages on to its fallback") {
  Notes<Passed> passed;
  Notes<int> notes;
  TestNode t;
  CHECK(t.node.SpawnRegister(
      "relief", Make({.message = [&](Subject&, gen::PID from, gen::Message& message) {
        auto* fallback = message.As<gen::MessageFallback>();
        passed.Add({from, fallback->pid, fallback->tag, fallback->message.View().Take<int>()});
        return gen::Continue();
      }})));
  const gen::PID pid = t.Spawn(
      Collect(notes), {.mailbox_size = 2, .fallback = {.name = "relief", .tag = "from two"}});
  kit::ThreadGate gate;
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 4; ++i) CHECK(t.node.Send(pid, i));
  const gen::PID sender = t.Spawn();
  CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.Send(pid, 5)); }));
  // Somebody waits for the answer to a request: it is not passed on.
  CHECK(t.node.Call<int>(pid, 6, {.timeout = kit::kDeadline}).error() ==
        gen::ErrProcessMailboxFull);
  CHECK(kit::Eventually([&] { return passed.size() == 3; }));
  const auto all = passed.All();
  CHECK(all[0].value == 3);
  CHECK(all[1].value == 4);
  CHECK(all[2].value == 5);
  CHECK(all[0].full == pid);
  CHECK(all[0].tag == "from two");
  CHECK(all[0].from == t.node.Self());
  CHECK(all[2].from == sender);
  gate.Open();
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
}

TEST_CASE("delivery: a fallback that is full, gone, itself or in a circle: the sender is told") {
  TestNode t;
  auto fill = [&](const char* name, const char* fallback) {
    const gen::PID pid =
        t.node
            .SpawnRegister(name,
                           Make({.message = [](Subject&, gen::PID,
                                               gen::Message&) { return gen::Continue(); }}),
                           {.mailbox_size = 1, .fallback = {.name = fallback, .tag = {}}})
            .value();
    return pid;
  };
  const gen::PID first = fill("first", "second");
  const gen::PID second = fill("second", "third");
  const gen::PID third = fill("third", "first");
  const gen::PID itself = fill("itself", "itself");
  const gen::PID lonely = fill("lonely", "nobody");
  const std::vector<gen::PID> all = {first, second, third, itself, lonely};
  for (const gen::PID pid : all) {
    // Suspended, not blocked: there are five of them.
    t.Begin(pid, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
    CHECK(t.EventuallyWaiting(pid));
  }
  CHECK(t.node.Send(itself, 1));
  CHECK(t.node.Send(lonely, 1));
  CHECK(t.node.Send(third, 1));
  CHECK(t.node.Send(second, 1));
  CHECK(t.node.Send(first, 1));
  for (const gen::PID pid : all) {
    CHECK(t.node.Send(pid, 2).error() == gen::ErrProcessMailboxFull);
  }
  // A delayed message has nobody who could be told: it is counted.
  const auto before = t.node.Info().dropped_mailbox_full;
  for (const gen::PID pid : all) CHECK(t.node.SendAfter(pid, 3, 1us));
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_mailbox_full == before + all.size(); }));
  for (const gen::PID pid : all) CHECK(t.node.Kill(pid));
}

TEST_CASE("delivery: in = handled + dropped + waiting") {
  const kit::ManualTime time;
  std::atomic<int> handled{0};
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
    handled.fetch_add(1);
    return gen::Continue();
  }});
  const auto base = t.node.ProcessInfo(pid).value().messages_handled;
  CHECK(base == 0);
  kit::ThreadGate gate;
  for (int i = 0; i < 10; ++i) CHECK(t.node.Send(pid, i));
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 0; i < 5; ++i) CHECK(t.node.Send(pid, i));
  auto info = t.node.ProcessInfo(pid).value();
  CHECK(info.messages_queued == 5);
  CHECK(info.messages_handled == 10);
  auto expired = t.node.CallAsync<int>(pid, 1, {.timeout = 1s});
  time.Pass(2s);
  CHECK(expired.get().error() == gen::ErrTimeout);
  gate.Open();
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_expired == 1; }));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_queued == 0; }));
  CHECK(
      kit::Eventually([&] { return t.node.ProcessInfo(pid)->state == gen::ProcessState::kIdle; }));
  info = t.node.ProcessInfo(pid).value();
  CHECK(info.messages_handled == 16);
  CHECK(info.messages_dropped == 1);
  CHECK(handled == 15);
}

TEST_CASE("delivery: what a process leaves behind is counted, its callers are told") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(pid));
  for (int i = 0; i < 7; ++i) CHECK(t.node.Send(pid, i));
  for (int i = 0; i < 3; ++i) {
    CHECK(t.node.SendWithPriority(pid, i, gen::MessagePriority::kMax));
  }
  auto call = t.node.CallAsync<int>(pid, 1, {.timeout = kit::kDeadline});
  auto urgent = t.node.CallAsync<int>(
      pid, 1, {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  CHECK(t.node.Kill(pid));
  CHECK(call.get().error() == gen::ErrProcessTerminated);
  CHECK(urgent.get().error() == gen::ErrProcessTerminated);
  CHECK(t.Ended(pid));
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_terminated == 12; }));
}

// How the processes of the test below end.
enum class Manner { kStop, kThrow, kExit };

// Senders hammer processes that end all the time. What they were told is checked to the message.
void Hammer(TestNode& t, int rounds, int senders, Manner manner) {
  std::atomic<std::uint64_t> to_first{0};
  std::atomic<std::uint64_t> current{t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
                                        ++to_first;
                                        return gen::Continue();
                                      }}).id};
  const gen::PID first{current.load(), t.node.Name(), t.node.Self().creation};
  const auto before = t.node.Info();
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> failed_other{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < senders; ++i) {
    threads.emplace_back([&, i] {
      std::uint64_t mine = 0;
      for (int k = 0; !done.load(std::memory_order_relaxed); ++k) {
        const gen::PID to{current.load(std::memory_order_relaxed), t.node.Name(),
                          t.node.Self().creation};
        auto result = t.node.SendWithPriority(
            to, k, (k + i) % 5 == 0 ? gen::MessagePriority::kHigh : gen::MessagePriority::kNormal);
        if (result) {
          ++mine;
        } else if (result.error() != gen::ErrProcessTerminated) {
          failed_other.fetch_add(1);
        }
        if (k % 16 == 0) std::this_thread::yield();
      }
      sent.fetch_add(mine);
    });
  }
  for (int round = 0; round < rounds; ++round) {
    const gen::PID pid =
        t.Spawn({.message = [&, left = 20](Subject& self, gen::PID, gen::Message&) mutable {
          handled.fetch_add(1, std::memory_order_relaxed);
          if (--left > 0) return gen::Status();
          switch (manner) {
            case Manner::kStop:
              return gen::Status(gen::Stop(gen::Reason::Normal()));
            case Manner::kThrow:
              throw std::runtime_error("20");
            case Manner::kExit:
              (void)self.SendExit(self.Self(), gen::Reason::Kill());
          }
          return gen::Status();
        }});
    current.store(pid.id);
    CHECK(t.Ended(pid));
  }
  done = true;
  for (auto& thread : threads) thread.join();
  CHECK(t.node.Kill(first));
  CHECK(t.Ended(first));
  CHECK(failed_other == 0);
  CHECK(t.EventuallyProcesses(0));
  const auto after = t.node.Info();
  const auto dropped = after.dropped_terminated - before.dropped_terminated +
                       after.dropped_unknown - before.dropped_unknown;
  CHECK(sent == handled + to_first + dropped);
}

TEST_CASE("delivery: every send to processes that end all the time is accounted for") {
  for (const Manner manner : {Manner::kStop, Manner::kThrow, Manner::kExit}) {
    CAPTURE(static_cast<int>(manner));
    TestNode t;
    Hammer(t, kit::Scaled(600, 10), 2, manner);
  }
}

TEST_CASE("delivery: every call to processes that end all the time is answered at once") {
  std::atomic<bool> done{false};
  std::atomic<int> answered{0};
  std::atomic<int> ended{0};
  std::atomic<int> other{0};
  std::vector<gen::PID> callers;
  TestNode t;
  std::atomic<std::uint64_t> to_first{0};
  std::atomic<std::uint64_t> current{t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
                                        ++to_first;
                                        return gen::Continue();
                                      }}).id};
  auto call = [&](auto& messenger) {
    const gen::PID to{current.load(std::memory_order_relaxed), t.node.Name(),
                      t.node.Self().creation};
    auto result = messenger.template Call<int>(to, 1, {.timeout = kit::kDeadline});
    if (result) {
      answered.fetch_add(1);
    } else if (result.error() == gen::ErrProcessTerminated ||
               result.error() == gen::ErrProcessUnknown) {  // met the slot's next process
      ended.fetch_add(1);
    } else if (result.error() != gen::ErrUnsupported) {  // the first one's
      other.fetch_add(1);
    }
  };
  std::thread outside([&] {
    while (!done) {
      call(t.node);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 4; ++i) {
    callers.push_back(t.Spawn());
    t.Begin(callers.back(), [&](Subject& self) {
      while (!done) {
        call(self);
        (void)self.Sleep(1us);  // a call that fails does not wait, and others need the workers
      }
    });
  }
  const int rounds = kit::Scaled(300, 5);
  for (int round = 0; round < rounds; ++round) {
    // Answers, leaves open, and ends with requests waiting, being handled, and open.
    const gen::PID pid = t.Spawn({.call = [left = 10](Subject&, gen::PID, gen::Ref,
                                                      gen::Message&) mutable -> gen::CallResult {
      --left;
      if (left == 0) return gen::Stop(gen::Reason::Normal());
      if (left % 3 == 0) return gen::NoReply();
      return gen::Reply(left);
    }});
    current.store(pid.id);
    // Five callers cannot make ten requests when some of them wait for an answer.
    if (!t.node.WaitProcess(pid, 1ms)) CHECK((t.node.Kill(pid) || t.Ended(pid)));
    CHECK(t.Ended(pid));
  }
  // Also on a machine on which nobody got round to a call meanwhile.
  CHECK(kit::Eventually([&] { return ended > 0; }));
  current.store(
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) -> gen::CallResult {
         return gen::Reply(1);
       }}).id);
  CHECK(kit::Eventually([&] { return answered > 0; }));
  done = true;
  outside.join();
  for (const gen::PID pid : callers) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(other == 0);
}

TEST_CASE("delivery: slots are recycled under senders that use stale PIDs") {
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> handled{0};
  std::vector<std::thread> senders;
  TestNode t;
  constexpr int kRuns = 10;  // each has a deadline
  const int rounds = kit::Scaled(10'000);
  constexpr int kKept = 64;
  std::array<std::atomic<std::uint64_t>, kKept> pids{};
  std::atomic<std::uint64_t> strangers{0};  // handled by somebody it was not sent to
  for (int i = 0; i < 2; ++i) {
    senders.emplace_back([&, i] {
      std::uint64_t mine = 0;
      for (std::size_t k = static_cast<std::size_t>(i); !done; k = (k * 31 + 7) % kKept) {
        const std::uint64_t id = pids[k].load(std::memory_order_relaxed);
        if (id != 0 && t.node.Send(gen::PID{id, t.node.Name(), t.node.Self().creation}, id)) ++mine;
        if (mine % 1024 == 0) std::this_thread::yield();
      }
      sent.fetch_add(mine);
    });
  }
  const gen::PID parent = t.Spawn();
  const auto factory = Make({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    handled.fetch_add(1, std::memory_order_relaxed);
    if (message.Take<std::uint64_t>() != self.Self().id) strangers.fetch_add(1);
    return gen::Continue();
  }});
  for (int run = 0; run < kRuns; ++run) {
    CHECK(t.Run(parent, [&](Subject& self) {
      for (int i = 0; i < rounds; ++i) {
        const gen::PID pid = self.Spawn(factory).value();
        pids[static_cast<std::size_t>(i) % kKept].store(pid.id, std::memory_order_relaxed);
        (void)self.SendExit(pid, i % 2 == 0 ? gen::Reason::Kill() : gen::Reason::Shutdown());
      }
    }));
  }
  done = true;
  for (auto& sender : senders) sender.join();
  CHECK(t.EventuallyProcesses(1));
  CHECK(strangers == 0);
  const auto info = t.node.Info();
  CHECK(info.processes_spawned == static_cast<std::uint64_t>(kRuns * rounds) + 1);
  CHECK(sent == handled + info.dropped_terminated + info.dropped_unknown);
}

// Which the thread of the network does with what it reads.
TEST_CASE(
    "delivery: a thread that holds back turns does not hold back those of a process with a bound") {
  TestNode t({.workers = 2});
  std::atomic<int> handled{0};
  const auto spawn = [&](gen::ProcessOptions options) {
    return t.Spawn({.message =
                        [&](Subject&, gen::PID, gen::Message&) {
                          ++handled;
                          return gen::Continue();
                        }},
                   std::move(options));
  };
  const gen::PID unbounded = spawn({});
  const gen::PID bounded = spawn({.mailbox_size = 10});
  const gen::PID ordered =
      spawn({.mailbox = gen::Mailbox::BoundedPriority<int>(10, [](int value) { return value; })});
  const auto is_idle = [&](gen::PID pid) {
    return t.node.ProcessInfo(pid)->state == gen::ProcessState::kIdle;
  };
  REQUIRE(
      kit::Eventually([&] { return is_idle(unbounded) && is_idle(bounded) && is_idle(ordered); }));
  {
    const core::InjectionHold hold;
    REQUIRE(t.node.Send(unbounded, 1));
    CHECK(t.node.ProcessInfo(unbounded)->messages_handled == 0);
    REQUIRE(t.node.Send(bounded, 2));
    CHECK(kit::Eventually([&] { return handled == 2; }));  // also what has been held back before
    REQUIRE(t.node.Send(ordered, 3));
    CHECK(kit::Eventually([&] { return handled == 3; }));
    REQUIRE(t.node.Send(unbounded, 4));
  }
  CHECK(kit::Eventually([&] { return handled == 4; }));
}

}  // namespace
}  // namespace ergon::node
