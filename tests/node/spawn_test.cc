#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <unordered_set>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// Says who it is when it is destroyed.
class SaysGoodbye : public act::Actor {
 public:
  explicit SaysGoodbye(gen::PID to) : to_(to) {}
  ~SaysGoodbye() override { (void)Send(to_, Self()); }

 private:
  gen::PID to_;
};

TEST_CASE(
    "spawn: a destructor acts for the process that ends, and not for the next one in its place") {
  Notes<gen::PID> senders;
  Notes<gen::PID> values;
  TestNode t;
  const gen::PID listener =
      t.Spawn({.message = [&](Subject&, gen::PID from, gen::Message& message) {
        senders.Add(from);
        values.Add(message.Take<gen::PID>());
        return gen::Continue();
      }});
  const gen::PID pid = t.node.Spawn(gen::Factory<SaysGoodbye>(listener)).value();
  CHECK(t.node.Kill(pid));
  REQUIRE(kit::Eventually([&] { return values.size() == 1; }));
  CHECK(senders.All()[0] == pid);
  CHECK(values.All()[0] == pid);
}

TEST_CASE("spawn: Init has run, with its arguments, when Spawn returns") {
  int number = 0;
  std::string text;
  gen::PID self;
  gen::PID parent;
  TestNode t;
  const auto factory = Make({.init = [&](Subject& subject, const gen::Args& args) {
    number = args.Get<int>(0).value();
    text = args.Get<std::string>(1).value();
    self = subject.Self();
    parent = subject.Parent();
    return gen::Continue();
  }});
  const auto pid = t.node.Spawn(factory, {}, gen::MakeArgs(7, std::string("seven"))).value();
  CHECK(number == 7);
  CHECK(text == "seven");
  CHECK(self == pid);
  CHECK(parent == t.node.Self());
  CHECK(pid.node == t.node.Name());
}

TEST_CASE("spawn: a failing Init is the spawn's error, and Terminate is not called") {
  std::atomic<int> terminated{0};
  TestNode t;
  auto terminate = [&](Subject&, const gen::Reason&) { terminated.fetch_add(1); };
  const auto stops = Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
                             return gen::Stop(gen::Reason::Error("no disk"));
                           },
                           .terminate = terminate});
  const auto throws = Make(
      {.init = [](Subject&, const gen::Args&) -> gen::Status { throw std::runtime_error("bad"); },
       .terminate = terminate});

  auto stopped = t.node.Spawn(stops);
  REQUIRE(!stopped);
  CHECK(stopped.error() == gen::ErrProcessTerminated);
  CHECK(stopped.error().detail() == "no disk");
  auto thrown = t.node.Spawn(throws);
  REQUIRE(!thrown);
  CHECK(thrown.error() == gen::ErrProcessTerminated);
  CHECK(thrown.error().detail() == "panic: bad");

  // The same inside a process.
  const auto pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) {
    auto inner = self.Spawn(stops, {.link_parent = true});
    CHECK(!inner);
    CHECK(inner.error().detail() == "no disk");
    inner = self.Spawn(throws, {.link_child = true});
    CHECK(!inner);
    CHECK(inner.error().detail() == "panic: bad");
  }));
  // Nor has the link ended the parent.
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(t.node.ProcessInfo(pid)->links.empty());
  CHECK(terminated == 0);
  CHECK(t.EventuallyProcesses(1));
}

class Explodes : public act::Actor {
 public:
  Explodes() { throw std::runtime_error("in the constructor"); }
};

TEST_CASE("spawn: factories that fail") {
  TestNode t;
  auto thrown = t.node.Spawn(gen::Factory<Explodes>());
  REQUIRE(!thrown);
  CHECK(thrown.error() == gen::ErrProcessTerminated);
  CHECK(thrown.error().detail() == "panic: in the constructor");
  auto empty = t.node.Spawn(gen::ProcessFactory());
  REQUIRE(!empty);
  CHECK(empty.error() == gen::ErrIncorrect);
  auto null = t.node.Spawn(gen::ProcessFactory([] { return nullptr; }, nullptr));
  REQUIRE(!null);
  CHECK(null.error() == gen::ErrIncorrect);
  auto odd = t.node.Spawn(
      gen::ProcessFactory([]() -> std::unique_ptr<gen::ProcessBehavior> { throw 5; }, nullptr));
  REQUIRE(!odd);
  CHECK(odd.error() == gen::ErrProcessTerminated);
  CHECK(t.node.Info().processes == 0);
}

TEST_CASE("spawn: a bad option is named with its value") {
  TestNode t;
  for (const int size : {-1, 4'000'001}) {
    auto bad = t.node.Spawn(Make({}), {.mailbox_size = size});
    REQUIRE(!bad);
    CHECK(bad.error() == gen::ErrIncorrect);
    CHECK(bad.error().ToString().find("mailbox_size: " + std::to_string(size)) !=
          std::string::npos);
  }
  CHECK(t.node.Spawn(Make({}), {.mailbox_size = 4'000'000}));
  const auto is_named = [&](const gen::ProcessOptions& options, const std::string& text) {
    const auto bad = t.node.Spawn(Make({}), options);
    REQUIRE_FALSE(bad);
    CHECK(bad.error() == gen::ErrIncorrect);
    CHECK(bad.error().ToString().find(text) != std::string::npos);
  };
  is_named({.mailbox_size = 1, .mailbox = gen::Mailbox::Unbounded()},
           "mailbox_size: 1, but mailbox is given too: unbounded");
  is_named({.send_priority = static_cast<gen::MessagePriority>(9)}, "send_priority: 9");
  is_named({.log_level = static_cast<gen::LogLevel>(42)}, "log_level: 42");
}

TEST_CASE("spawn: SpawnRegister") {
  gen::Atom name;
  TestNode t;
  const auto pid = t.node.SpawnRegister("one", Make({})).value();
  CHECK(t.node.Resolve("one").value() == pid);
  auto taken = t.node.SpawnRegister("one", Make({}));
  REQUIRE(!taken);
  CHECK(taken.error() == gen::ErrTaken);
  auto empty = t.node.SpawnRegister("", Make({}));
  REQUIRE(!empty);
  CHECK(empty.error() == gen::ErrIncorrect);
  // The name is known in Init already, and free again when that fails.
  auto failed = t.node.SpawnRegister("two", Make({.init = [&](Subject& self, const gen::Args&) {
                                       name = self.Name();
                                       return gen::Status(gen::Stop(gen::Reason::Normal()));
                                     }}));
  CHECK(!failed);
  CHECK(name == gen::Atom("two"));
  CHECK(t.node.SpawnRegister("two", Make({})));
  CHECK(t.Run(pid, [](Subject& self) {
    auto inner = self.SpawnRegister("two", Make({}));
    CHECK(!inner);
    CHECK(inner.error() == gen::ErrTaken);
    CHECK(self.SpawnRegister("three", Make({})));
  }));
  CHECK(t.node.Resolve("three"));
}

TEST_CASE("spawn: the arguments of a failed spawn do not reach the next process in its slot") {
  TestNode t;
  CHECK(t.node.SpawnRegister("taken", Make({})));
  CHECK(!t.node.SpawnRegister("taken", Make({}), {}, gen::MakeArgs(1, 2, 3)));
  std::size_t size = 99;
  CHECK(t.node.Spawn(Make({.init = [&](Subject&, const gen::Args& args) {
    size = args.size();
    return gen::Continue();
  }})));
  CHECK(size == 0);
}

TEST_CASE("spawn: the node's own functions do not block a thread that runs handlers") {
  TestNode t;
  const auto pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) {
    auto spawned = self.Node().Spawn(Make({}));
    CHECK(!spawned);
    CHECK(spawned.error() == gen::ErrNotAllowed);
    CHECK(self.Node().Call<int>(pid, 1).error() == gen::ErrNotAllowed);
    CHECK(self.Node().WaitProcess(pid).error() == gen::ErrNotAllowed);
    CHECK(self.Node().StopProcess(pid).error() == gen::ErrNotAllowed);
  }));
}

// Spawns `depth` generations, each inside the Init of the one before.
gen::Status SpawnDeep(Subject& self, int depth, gen::PID echo, std::atomic<int>& started) {
  CHECK(self.Call<int>(echo, depth).value() == depth);
  if (depth > 0) {
    auto child = self.Spawn(Make({.init = [=, &started](Subject& inner, const gen::Args&) {
      return SpawnDeep(inner, depth - 1, echo, started);
    }}));
    CHECK(child);
    CHECK(self.Call<bool>(*child, Do{[](Subject&) {}}).value());
  }
  CHECK(self.Sleep(1us));
  started.fetch_add(1);
  return gen::Continue();
}

TEST_CASE("spawn: inside Init inside Spawn, with calls at every level") {
  std::atomic<int> started{0};
  TestNode t;
  const auto echo = t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) {
    return gen::Reply(request.Take<int>());
  }});
  constexpr int kDepth = 8;
  CHECK(t.node.Spawn(Make({.init = [&](Subject& self, const gen::Args&) {
    return SpawnDeep(self, kDepth, echo, started);
  }})));
  CHECK(started == kDepth + 1);
  CHECK(t.EventuallyProcesses(kDepth + 2));
}

TEST_CASE("spawn: a child whose Init waits suspends its parent only") {
  std::atomic<bool> done{false};
  TestNode t;
  kit::Gate gate(t.node);
  const auto parent = t.Spawn();
  t.Begin(parent, [&](Subject& self) {
    auto child = self.Spawn(Make({.init = [&](Subject& inner, const gen::Args&) {
      CHECK(inner.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
      return gen::Continue();
    }}));
    CHECK(child);
    done = true;
  });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  // More others than there are workers.
  for (int i = 0; i < 8; ++i) CHECK(t.Run(t.Spawn(), [](Subject& self) { (void)self.Sleep(1us); }));
  CHECK(!done);
  gate.Open();
  CHECK(kit::Eventually([&] { return done.load(); }));
  CHECK(t.Run(parent, [](Subject&) {}));
}

TEST_CASE("spawn: messages sent to a process in its Init come after it") {
  Notes<int> notes;
  gen::PID pid;
  TestNode t;
  kit::Gate gate(t.node);
  std::thread spawner([&] {
    CHECK(t.node.SpawnRegister("slow", Make({.init =
                                                 [&](Subject& self, const gen::Args&) {
                                                   (void)self.Send(self.Self(), 1);
                                                   CHECK(self.Call<bool>(gate.pid(),
                                                                         kit::EnterGate{}));
                                                   notes.Add(0);
                                                   return gen::Continue();
                                                 },
                                             .message =
                                                 [&](Subject&, gen::PID, gen::Message& message) {
                                                   notes.Add(message.Take<int>());
                                                   return gen::Continue();
                                                 }})));
  });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Send("slow", 2));
  CHECK(t.node.SendWithPriority("slow", 3, gen::MessagePriority::kMax));
  gate.Open();
  spawner.join();
  CHECK(kit::Eventually([&] { return notes.size() == 4; }));
  CHECK(notes.All() == std::vector<int>{0, 3, 1, 2});
}

TEST_CASE("spawn: an exit signal during Init ends the process after it") {
  Notes<std::string> reasons;
  TestNode t;
  auto pid = t.node.Spawn(Make(
      {.init =
           [](Subject& self, const gen::Args&) {
             CHECK(self.SendExit(self.Self(), gen::Reason::Error("early")));
             CHECK_FALSE(self.Sleep(1ms));
             return gen::Continue();
           },
       .terminate = [&](Subject&, const gen::Reason& reason) { reasons.Add(reason.ToString()); }}));
  REQUIRE(pid);
  CHECK(t.Ended(*pid));
  CHECK(reasons.All() == std::vector<std::string>{"early"});
}

TEST_CASE("spawn: killed while its Init waits, inside and outside of a process") {
  std::atomic<int> unwound{0};
  std::atomic<int> terminated{0};
  Notes<gen::PID> in_init;
  std::atomic<bool> went_on{false};
  TestNode t;
  const auto waits = Make({.init =
                               [&](Subject& self, const gen::Args&) {
                                 Unwound guard(unwound);
                                 in_init.Add(self.Self());
                                 CHECK_FALSE(self.Sleep(gen::kInfinite));
                                 return gen::Status(gen::Stop(gen::Reason::Error("gave up")));
                               },
                           .terminate = [&](Subject&, const gen::Reason&) { ++terminated; }});
  std::thread spawner([&] {
    auto failed = t.node.Spawn(waits);
    CHECK(!failed);
    CHECK(failed.error() == gen::ErrProcessTerminated);
  });
  const auto parent = t.Spawn();
  t.Begin(parent, [&](Subject& self) {
    auto failed = self.Spawn(waits, {.link_child = true});
    CHECK(!failed);
    went_on = true;
  });
  CHECK(kit::Eventually([&] { return in_init.size() == 2; }));
  for (const gen::PID pid : in_init.All()) CHECK(t.node.Kill(pid));
  spawner.join();
  CHECK(kit::Eventually([&] { return went_on.load(); }));
  CHECK(unwound == 2);
  CHECK(terminated == 0);
  CHECK(t.IsAlive(parent));
}

TEST_CASE("spawn: who is killed before a thread is free for its Init has none") {
  kit::ThreadGate gate;
  std::atomic<int> begun{0};
  TestNode t({.workers = 2});
  for (int i = 0; i < 2; ++i) t.Begin(t.Spawn(), [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  const auto factory = Make({.init = [&](Subject&, const gen::Args&) {
    ++begun;
    return gen::Continue();
  }});
  const auto late = t.node.Spawn(factory, {.init_timeout = 1ms});
  CHECK(late.error() == gen::ErrTimeout);
  gate.Open();
  // Those that hold the threads, and no other.
  CHECK(kit::Eventually([&] { return t.node.Info().processes == 2; }));
  CHECK(begun == 0);
}

TEST_CASE("spawn: links with the parent") {
  gen::PID linked;
  gen::PID single;
  TestNode t;
  const auto parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    linked = self.Spawn(Make({}), {.link_parent = true, .link_child = true}).value();
    single = self.Spawn(Make({})).value();
  }));
  CHECK(t.node.ProcessInfo(parent)->links == std::vector<gen::PID>{linked});
  CHECK(t.node.ProcessInfo(linked)->links == std::vector<gen::PID>{parent});
  CHECK(t.node.ProcessInfo(linked)->parent == parent);
  CHECK(t.node.Kill(parent));
  CHECK(t.Ended(linked));
  CHECK(t.Run(single, [](Subject&) {}));
}

TEST_CASE("spawn: PIDs are never used again") {
  TestNode t;
  std::unordered_set<gen::PID> seen;
  const int rounds = kit::Scaled(3'000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    CHECK(seen.insert(pid).second);
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
    CHECK(!t.node.ProcessInfo(pid));
  }
}

TEST_CASE("spawn: from many threads at once") {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  TestNode t;
  const int each = kit::Scaled(2'000);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) {
        const gen::PID pid = t.Spawn();
        if (t.Run(pid, [pid](Subject& self) {
              if (self.Self() != pid) throw std::logic_error("somebody else");
            })) {
          good.fetch_add(1);
        }
        (void)t.node.Kill(pid);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 4 * each);
  CHECK(t.EventuallyProcesses(0));
  CHECK(t.node.Info().processes_spawned == static_cast<std::uint64_t>(4 * each));
  CHECK(t.node.Info().processes_failed == static_cast<std::uint64_t>(4 * each));
}

// Each Init spawns the next one, `depth` deep; the last one does as it is told.
gen::ProcessFactory Nested(int depth, std::function<gen::Status(Subject&)> last) {
  return Make({.init = [depth, last](Subject& self, const gen::Args&) -> gen::Status {
    if (depth == 0) return last(self);
    auto child =
        self.Spawn(Nested(depth - 1, last),
                   {.link_parent = true, .link_child = true, .init_timeout = gen::kInfinite});
    if (!child) return gen::Stop(gen::Reason::Error(std::string(child.error().detail())));
    return gen::Continue();
  }});
}

TEST_CASE("spawn: Init in Init in Init, as deep as one likes") {
  constexpr int kDepth = 1000;
  for (const std::size_t stack : {std::size_t{64} * 1024, std::size_t{256} * 1024}) {
    TestNode t({.handler_stack_bytes = stack});
    int reached = 0;
    CHECK(t.node.Spawn(Nested(kDepth, [&](Subject& self) {
      (void)self.Sleep(1us);  // also when the innermost one waits
      ++reached;
      return gen::Continue();
    })));
    CHECK(reached == 1);
    CHECK(t.node.Info().processes == kDepth + 1);
    // A failure of the innermost one is everybody's.
    auto failed =
        t.node.Spawn(Nested(kDepth, [](Subject&) { return gen::Stop(gen::Reason::Error("no")); }));
    REQUIRE(!failed);
    CHECK(failed.error().detail() == "no");
    CHECK(t.EventuallyProcesses(kDepth + 1));
  }
}

TEST_CASE("spawn: a chain of Inits ends when the outermost process is killed") {
  std::atomic<bool> waits{false};
  std::atomic<int> unwound{0};
  TestNode t;
  const gen::PID outer = t.Spawn();
  t.Begin(outer, [&](Subject& self) {
    (void)self.Spawn(Nested(1000, [&](Subject& last) {
      const Unwound guard(unwound);
      waits = true;
      (void)last.Sleep(kit::kDeadline);
      return gen::Continue();
    }));
  });
  CHECK(kit::Eventually([&] { return waits.load(); }));
  CHECK(t.node.Kill(outer));
  CHECK(t.Ended(outer));
  CHECK(t.EventuallyProcesses(0));
  CHECK(unwound == 1);
}

TEST_CASE("spawn: who has been killed already takes along a child whose Init polls") {
  std::atomic<bool> was_ended{false};
  TestNode t;
  std::function<bool(Subject&)> goes_on;
  SUBCASE("by Sleep") {
    goes_on = [](Subject& child) { return child.Sleep(0ns); };
  }
  SUBCASE("by Call") {
    goes_on = [nobody = gen::PID{12345, t.node.Name(), t.node.Info().creation}](Subject& child) {
      return child.Call<int>(nobody, 1).error() == gen::ErrProcessUnknown;
    };
  }
  const gen::PID parent = t.Spawn();
  t.Begin(parent, [&](Subject& self) {
    CHECK(self.Node().Kill(self.Self()));  // it runs until it looks for signals
    (void)self.Spawn(Make({.init = [&](Subject& child, const gen::Args&) {
      while (goes_on(child)) {
      }
      was_ended = true;
      return gen::Continue();
    }}));
  });
  CHECK(t.Ended(parent));
  CHECK(t.EventuallyProcesses(0));
  CHECK(was_ended);
}

TEST_CASE("spawn: who has been killed already takes along a child whose Init waits") {
  for (const int depth : {0, 1, 50}) {
    CAPTURE(depth);
    std::atomic<int> unwound{0};
    TestNode t;
    const gen::PID outer = t.Spawn();
    t.Begin(outer, [&](Subject& self) {
      CHECK(self.Node().Kill(self.Self()));  // it runs until it waits
      (void)self.Spawn(Nested(depth,
                              [&](Subject& last) {
                                const Unwound guard(unwound);
                                CHECK_FALSE(last.Sleep(gen::kInfinite));
                                return gen::Continue();
                              }),
                       {.init_timeout = gen::kInfinite});
    });
    CHECK(t.Ended(outer));
    CHECK(t.EventuallyProcesses(0));
    CHECK(unwound == 1);
  }
}

}  // namespace
}  // namespace ergon::node
