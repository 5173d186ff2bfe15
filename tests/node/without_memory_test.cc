// What is left when something could not be allocated.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>
#include <vector>

#include <pthread.h>

#include <ergon/core/foundations/sanitizers.h>
#include <ergon/gen/group.h>
#include <ergon/gen/key_registry.h>
#include <ergon/node/events/events.h>
#include <ergon/node/trace_file.h>

#include <kit/gate.h>
#include <node/recording/trace_reader.h>
#include <node/subject.h>

// The sanitizers have operators of their own, and must keep them.
#if !ERGON_ASAN && !ERGON_TSAN

namespace ergon::node {
namespace {

// The allocation of this thread that fails, counted from 1; 0: none.
constinit thread_local int failing_allocation = 0;
// Larger ones fail, of all threads.
constinit std::atomic<std::size_t> largest_allocation{std::numeric_limits<std::size_t>::max()};
// Whether those of the thread that writes a trace file fail, and how many have.
constinit std::atomic<bool> writer_fails{false};
constinit std::atomic<int> failed_of_writer{0};

bool FailsOfWriter() {
  if (!writer_fails) return false;
  char name[16] = "";
  (void)::pthread_getname_np(::pthread_self(), name, sizeof name);
  if (std::string_view(name) != "ergon-trace") return false;
  ++failed_of_writer;
  return true;
}

}  // namespace
}  // namespace ergon::node

void* operator new(std::size_t bytes) {
  int& failing = ergon::node::failing_allocation;
  if (failing > 0 && --failing == 0) throw std::bad_alloc();
  if (bytes > ergon::node::largest_allocation || ergon::node::FailsOfWriter()) {
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ergon::node {
namespace {

constexpr int kMoreThanASpawnAllocates = 100;

// Calls `spawn` again and again; each time another allocation fails. The exception comes out of it sometimes, and not
// always.
void SpawnWithoutMemory(const std::function<void()>& spawn) {
  int thrown = 0;
  for (int n = 1; n <= kMoreThanASpawnAllocates; ++n) {
    failing_allocation = n;
    try {
      spawn();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    failing_allocation = 0;
  }
  CHECK(thrown > 0);
  CHECK(thrown < kMoreThanASpawnAllocates);
}

TEST_CASE(
    "without memory: a process that was spawned ends, whatever could not be allocated, and its "
    "name is free") {
  TestNode t;
  const auto factory = Make({});
  const auto name = gen::Atom("ends");
  SpawnWithoutMemory([&] {
    if (auto pid = t.node.SpawnRegister(name, factory)) {
      failing_allocation = 0;
      CHECK(t.node.Kill(*pid));
      CHECK(t.Ended(*pid));
    }
  });
  CHECK(t.EventuallyProcesses(0));
  CHECK(t.node.SpawnRegister(name, factory));
}

TEST_CASE("without memory: so does a child, and its parent lives on") {
  TestNode t;
  const auto factory = Make({});
  const auto name = gen::Atom("child");
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    SpawnWithoutMemory([&] {
      const auto pid = self.SpawnRegister(name, factory, {.link_parent = true});
      failing_allocation = 0;
      if (pid) {
        CHECK(self.Unlink(*pid));
        CHECK(t.node.Kill(*pid));
      }
      while (t.node.Info().processes != 1) (void)self.Sleep(100us);
    });
    CHECK(self.SpawnRegister(name, factory));
  }));
}

TEST_CASE(
    "without memory: a process that could not begin keeps neither its behaviour nor a thread") {
  struct Counted final : Subject {
    explicit Counted(std::atomic<int>& living) : Subject(Handlers{}), living_(living) { ++living_; }
    ~Counted() override { --living_; }
    std::atomic<int>& living_;
  };
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::atomic<int> living = 0;
  TestNode t;
  const gen::ProcessFactory factory([&] { return std::make_unique<Counted>(living); },
                                    &typeid(Counted));
  const gen::ProcessOptions options{
      .mailbox_size = 3, .stash_size = 5, .detached = true, .fallback = {.name = "fallback"}};
  // The thread that detached processes have in turn.
  const gen::PID first = t.node.Spawn(factory, options).value();
  CHECK(t.node.Kill(first));
  CHECK(t.Ended(first));
  const auto before = threads();
  SpawnWithoutMemory([&] {
    auto pid = t.node.Spawn(factory, options);
    failing_allocation = 0;
    if (!pid) return;
    CHECK(t.node.Kill(*pid));
    CHECK(t.Ended(*pid));
  });
  CHECK(t.EventuallyProcesses(0));
  CHECK(kit::Eventually([&] { return living == 0; }));
  CHECK(threads() <= before + 1);
}

TEST_CASE(
    "without memory: a child whose Init fails, or throws, has ended, and its parent lives on") {
  const auto refuse = [](Subject&, const gen::Args&) {
    return gen::Stop(gen::Reason::Error("a text that does not fit into a string of its own"));
  };
  const auto fail = [](Subject&, const gen::Args&) -> gen::Status {
    throw std::runtime_error("a text that does not fit into a string of its own");
  };
  for (const bool throws : {false, true}) {
    CAPTURE(throws);
    TestNode t;
    const auto factory = throws ? Make({.init = fail}) : Make({.init = refuse});
    const auto name = gen::Atom("child");
    const gen::PID parent = t.Spawn();
    CHECK(t.Run(parent, [&](Subject& self) {
      SpawnWithoutMemory([&] {
        const auto pid = self.SpawnRegister(name, factory, {.link_parent = true});
        failing_allocation = 0;
        CHECK(!pid);
        CHECK(t.node.Info().processes == 1);
      });
      CHECK(t.node.Info().processes == 1);
    }));
  }
}

TEST_CASE("without memory: an application that could not be started is loaded, and starts later") {
  const gen::Atom name("app");
  for (const bool refuses : {false, true}) {
    CAPTURE(refuses);
    TestNode t;
    const auto init = [refuses](Subject&, const gen::Args&) -> gen::Status {
      if (refuses) return gen::Stop(gen::Reason::Error("it refuses to begin, each time"));
      return gen::Continue();
    };
    t.node
        .LoadApplication(
            {.name = name,
             .environment = {{"key", "a text that does not fit into a string of its own"}},
             .processes = {{.factory = Make({.init = init})}}})
        .value();
    SpawnWithoutMemory([&] {
      const auto started = t.node.StartApplication(name);
      failing_allocation = 0;
      if (started) CHECK(t.node.StopApplication(name));
    });
    CHECK(t.node.ApplicationInfo(name)->state == gen::ApplicationState::kLoaded);
    CHECK(t.node.StartApplication(name).has_value() != refuses);
    CHECK(t.node.UnloadApplication(name).has_value() == refuses);
  }
}

constexpr int kMoreThanTheseAllocate = 60;

// Returns whether the exception came out of `does`, in which allocation `n` fails.
bool IsThrownFrom(int n, const auto& does) {
  bool thrown = false;
  failing_allocation = n;
  try {
    does();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  failing_allocation = 0;
  return thrown;
}

TEST_CASE("without memory: an event that could not be registered is not there") {
  const gen::Atom name("e");
  int failed = 0;
  TestNode t;
  for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
    CAPTURE(n);
    CHECK(t.Run(t.Spawn(), [&](Subject& self) {
      if (IsThrownFrom(n, [&] { (void)self.RegisterEvent(name); })) {
        ++failed;
        CHECK(self.UnregisterEvent(name).error() == gen::ErrProcessUnknown);
        CHECK(self.RegisterEvent(name));
      }
      CHECK(self.UnregisterEvent(name));
    }));
  }
  CHECK(failed > 0);
  CHECK(failed < kMoreThanTheseAllocate);
}

TEST_CASE("without memory: who could not subscribe to an event has no subscription") {
  const gen::Event event{"e", {}};
  gen::Ref token;
  std::atomic<int> starts = 0;
  std::atomic<int> stops = 0;
  TestNode t;
  const gen::PID producer = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (message.Is<gen::MessageEventStart>()) ++starts;
    if (message.Is<gen::MessageEventStop>()) ++stops;
    return gen::Continue();
  }});
  CHECK(t.Run(producer, [&](Subject& self) {
    token = self.RegisterEvent("e", {.buffer = 1, .notify = true}).value();
    CHECK(self.SendEvent("e", token, 1).value() == 0);
  }));
  const Handlers subscriber{
      .event = [](Subject&, const gen::MessageEvent&) { return gen::Continue(); }};
  for (const bool link : {false, true}) {
    CAPTURE(link);
    int failed = 0;
    for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
      CAPTURE(n);
      CHECK(t.Run(t.Spawn(subscriber), [&](Subject& self) {
        const auto enter = [&] { return link ? self.LinkEvent(event) : self.MonitorEvent(event); };
        const auto leave = [&] {
          return link ? self.UnlinkEvent(event) : self.DemonitorEvent(event);
        };
        const bool thrown = IsThrownFrom(n, [&] { (void)enter(); });
        CHECK(self.SendEvent("e", token, 2).value() == (thrown ? 0 : 1));
        if (thrown) {
          ++failed;
          CHECK(leave().error() == gen::ErrProcessUnknown);
          CHECK(enter().value().size() == 1);
        }
        CHECK(leave());
      }));
    }
    CHECK(failed > 0);
    CHECK(failed < kMoreThanTheseAllocate);
  }
  // Its producer has heard of each end of what it has heard to begin.
  CHECK(kit::Eventually([&] { return starts >= 2 * kMoreThanTheseAllocate && starts == stops; }));
}

TEST_CASE("without memory: a subscriber of another node is counted as one, or is none") {
  const gen::Atom name("e");
  const gen::PID subscriber{1, "there@localhost", 1};
  const Events::Notify notify = [](gen::PID) {};
  Events events;
  CHECK(events.Add(name, {1, "here@localhost", 1}, {1, "here@localhost", 1}, {}));
  int failed = 0;
  for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
    CAPTURE(n);
    const bool thrown =
        IsThrownFrom(n, [&] { (void)events.Subscribe(name, subscriber, {.monitor = 1}, notify); });
    if (thrown) ++failed;
    const auto info = events.Infos(1).first.at(0);
    CHECK(info.subscribers == (thrown ? 0 : 1));
    REQUIRE(info.subscribers_elsewhere == info.subscribers);
    CHECK(events.Remove(name, subscriber, notify).empty() == thrown);
  }
  CHECK(failed > 0);
  CHECK(failed < kMoreThanTheseAllocate);
}

// What a process allocates for its first wait: what it has for waits, and the timer.
constexpr int kAllocationsOfAWait = 2;

TEST_CASE("without memory: who cannot wait has sent nothing, and is in no circle of calls") {
  std::atomic<int> requests = 0;
  TestNode t;
  const gen::PID server =
      t.Spawn({.call = [&](Subject&, gen::PID, gen::Ref, gen::Message& request) {
        ++requests;
        return gen::Reply(request.Take<Ask>().value);
      }});
  for (int n = 1; n <= kAllocationsOfAWait; ++n) {
    CAPTURE(n);
    const gen::PID caller = t.Spawn();
    CHECK(t.Run(caller, [&](Subject& self) {
      failing_allocation = n;
      CHECK_THROWS_AS((void)self.Call<int>(server, Ask{n}), std::bad_alloc);
      failing_allocation = 0;
      CHECK(requests == n - 1);
      CHECK(self.Sleep(1us));
    }));
    CHECK(t.Run(server, [&](Subject& self) {
      CHECK(self.Call<bool>(caller, Do{[](Subject&) {}}, kPatient));
    }));
    CHECK(t.Run(caller,
                [&](Subject& self) { CHECK(self.Call<int>(server, Ask{n}, kPatient) == n); }));
    CHECK(requests == n);
  }
}

TEST_CASE("without memory: who cannot wait for room in a mailbox does not stand in line for it") {
  for (int n = 1; n <= kAllocationsOfAWait; ++n) {
    CAPTURE(n);
    Notes<int> notes;
    kit::ThreadGate gate;
    TestNode t({.workers = 2});
    const gen::PID full = t.Spawn(Collect(notes), {.mailbox_size = 1});
    t.Begin(full, [enter = gate.Holder()](Subject&) { enter(); });
    CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
    CHECK(t.node.Send(full, 1));
    CHECK(t.Run(t.Spawn(), [&](Subject& self) {
      failing_allocation = n;
      CHECK_THROWS_AS((void)self.SendOrWait(full, 2, kit::kDeadline), std::bad_alloc);
      failing_allocation = 0;
      gate.Open();
      CHECK(self.SendOrWait(full, 3, kit::kDeadline));
    }));
    CHECK(kit::Eventually([&] { return notes.size() == 2; }));
    CHECK(notes.All() == std::vector<int>{1, 3});
  }
}

// A process with a full mailbox, which holds one of the two workers of its node until the gate is open. So another
// process goes on in the thread in which it began to wait, and what it allocates next is the text of the error of its
// wait.
struct Full {
  Full() {
    t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    REQUIRE(t.node.Send(pid, 1));
  }
  // Waits for room without end. What is allocated after that fails, once.
  void WaitForRoom(Subject& self) {
    // With what waiting needs, and what a line needs.
    CHECK(self.SendOrWait(pid, 2, 1ms).error() == gen::ErrProcessMailboxFull);
    waiting = self.Self().id;
    failing_allocation = 1;
    try {
      (void)self.SendOrWait(pid, 3, gen::kInfinite);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    failing_allocation = 0;
  }
  // Ends who waits, and opens the gate.
  void EndWaiting() {
    const auto its_pid = [&] { return gen::PID{waiting, t.node.Name(), pid.creation}; };
    REQUIRE(kit::Eventually([&] { return waiting != 0 && t.IsWaiting(its_pid()); }));
    CHECK(t.node.Kill(its_pid()));
    CHECK(t.Ended(its_pid()));
    CHECK(thrown);
    gate.Open();
  }

  Notes<int> notes;
  kit::ThreadGate gate;
  std::atomic<std::uint64_t> waiting = 0;
  std::atomic<bool> thrown = false;
  TestNode t{{.workers = 2}};
  const gen::PID pid = t.Spawn(Collect(notes), {.mailbox_size = 1});
};

TEST_CASE("without memory: who is ended while it waits for room does not stay in the line") {
  Full full;
  full.t.Begin(full.t.Spawn(), [&](Subject& self) { full.WaitForRoom(self); });
  full.EndWaiting();
  CHECK(full.t.Run(full.t.Spawn(),
                   [&](Subject& self) { CHECK(self.SendOrWait(full.pid, 4, kit::kDeadline)); }));
  CHECK(kit::Eventually([&] { return full.notes.size() == 2; }));
  CHECK(full.notes.All() == std::vector<int>{1, 4});
}

TEST_CASE("without memory: who is ended while its Init waits leaves no timer behind") {
  Full full;
  const auto init = [&](Subject& self, const gen::Args&) {
    full.WaitForRoom(self);
    return gen::Continue();
  };
  // It heeds the kill after its Init at the latest.
  std::thread spawner([&] { (void)full.t.node.Spawn(Make({.init = init}), {.init_timeout = 1h}); });
  full.EndWaiting();
  spawner.join();
  // That of its first wait stays until its millisecond is over.
  CHECK(kit::Eventually([&] { return full.t.node.Info().timers == 0; }));
}

TEST_CASE("without memory: no trace file is begun if there is no room for what is recorded") {
  const trace_file_test::Path path;
  TestNode t;
  largest_allocation = 5'000'000;
  const auto file = TraceTo(t.node, path.text(), {.duration = gen::kInfinite});
  largest_allocation = std::numeric_limits<std::size_t>::max();
  REQUIRE(!file);
  CHECK(file.error().code() == gen::ErrorCode::kInternal);
  CHECK(file.error().detail().find("no memory") != std::string_view::npos);
  CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  CHECK(TraceTo(t.node, path.text(), {.duration = gen::kInfinite}).value()->End());
}

TEST_CASE("without memory: whatever of a recording has no room, none is begun, and one later") {
  const trace_file_test::Path path;
  int failed = 0;
  TestNode t;
  const gen::PID pid = t.Spawn();
  for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
    CAPTURE(n);
    gen::Result<std::shared_ptr<TraceFile>> file = gen::ErrBusy;
    CHECK(!IsThrownFrom(
        n, [&] { file = TraceTo(t.node, path.text(), {.duration = gen::kInfinite}); }));
    CHECK(t.Run(pid, [](Subject&) {}));
    if (file) {
      CHECK((*file)->End());
      continue;
    }
    ++failed;
    CHECK(file.error().code() == gen::ErrorCode::kInternal);
    CHECK(file.error().detail().find("no memory") != std::string_view::npos);
  }
  CHECK(failed > 0);
  CHECK(failed < kMoreThanTheseAllocate);
}

TEST_CASE("without memory: what a trace file has no text for is left out, and counted") {
  const trace_file_test::Path path;
  TestNode t;
  const gen::PID pid = t.Spawn();
  const auto file = TraceTo(t.node, path.text(), {.duration = gen::kInfinite}).value();
  failed_of_writer = 0;
  writer_fails = true;
  CHECK(kit::Eventually([&] {
    CHECK(t.Run(pid, [](Subject&) {}));
    return failed_of_writer > 0;
  }));
  writer_fails = false;
  CHECK(t.Run(pid, [](Subject&) {}));
  const auto summary = file->End();
  REQUIRE(summary);
  CHECK(summary->left_out > 0);
  CHECK(!summary->is_full);
  CHECK(path.Events().size() == summary->events);
}

TEST_CASE("without memory: who could not join a group is no member, and nobody is told of it") {
  const gen::Atom name("g");
  std::atomic<int> joined = 0;
  std::atomic<int> left = 0;
  TestNode t;
  const gen::PID observer = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (message.Is<gen::MessageGroupJoined>()) ++joined;
    if (message.Is<gen::MessageGroupLeft>()) ++left;
    return gen::Continue();
  }});
  int joins = 0;
  for (const bool is_monitored : {false, true}) {
    CAPTURE(is_monitored);
    if (is_monitored) {
      CHECK(t.Run(observer, [&](Subject& self) { CHECK(self.MonitorGroup(name)); }));
    }
    int failed = 0;
    for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
      CAPTURE(n);
      const gen::PID pid = t.Spawn();
      const bool thrown = IsThrownFrom(n, [&] { (void)t.node.JoinGroup(name, pid); });
      if (thrown) ++failed;
      if (!thrown && is_monitored) ++joins;
      CHECK(t.node.GroupMembers(name).size() == (thrown ? 0 : 1));
      // What it has of the group goes with it: at its end, or before.
      if (n % 2 == 0) CHECK(t.node.LeaveGroup(name, pid).has_value() == !thrown);
      CHECK(t.node.Kill(pid));
      CHECK(t.Ended(pid));
      CHECK(t.node.GroupMembers(name).empty());
    }
    CHECK(failed > 0);
    CHECK(failed < kMoreThanTheseAllocate);
  }
  CHECK(kit::Eventually([&] { return joined == joins && left == joins; }));
}

TEST_CASE("without memory: who could not leave a group is a member") {
  const gen::Atom name("g");
  int failed = 0;
  TestNode t;
  const gen::PID pid = t.Spawn();
  for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
    CAPTURE(n);
    CHECK(t.node.JoinGroup(name, pid));
    if (!IsThrownFrom(n, [&] { (void)t.node.LeaveGroup(name, pid); })) continue;
    ++failed;
    CHECK(t.node.GroupMembers(name).size() == 1);
    CHECK(t.node.LeaveGroup(name, pid));
  }
  CHECK(failed > 0);
  CHECK(failed < kMoreThanTheseAllocate);
}

TEST_CASE("without memory: who could not monitor a group does not monitor it") {
  const gen::Atom name("g");
  TestNode t;
  for (const bool has_member : {false, true}) {
    CAPTURE(has_member);
    if (has_member) CHECK(t.node.JoinGroup(name, t.Spawn()));
    int failed = 0;
    for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
      CAPTURE(n);
      CHECK(t.Run(t.Spawn(), [&](Subject& self) {
        if (IsThrownFrom(n, [&] { (void)self.MonitorGroup(name); })) {
          ++failed;
          CHECK(self.DemonitorGroup(name).error() == gen::ErrProcessUnknown);
          CHECK(self.MonitorGroup(name));
        }
        CHECK(self.DemonitorGroup(name));
      }));
    }
    CHECK(failed > 0);
    CHECK(failed < kMoreThanTheseAllocate);
  }
}

TEST_CASE("without memory: an alias that could not be created means nobody") {
  int failed = 0;
  TestNode t;
  const auto aliases = [&] { return t.node.Info().aliases; };
  for (int n = 1; n <= kMoreThanTheseAllocate; ++n) {
    CAPTURE(n);
    CHECK(t.Run(t.Spawn(), [&](Subject& self) {
      const auto before = aliases();
      gen::Result<gen::Alias> alias = gen::ErrBusy;
      if (IsThrownFrom(n, [&] { alias = self.CreateAlias(); })) {
        ++failed;
        CHECK(aliases() == before);
      } else {
        CHECK(aliases() == before + 1);
        CHECK(self.DeleteAlias(alias.value()));
      }
    }));
  }
  CHECK(aliases() == 0);
  CHECK(failed > 0);
  CHECK(failed < kMoreThanTheseAllocate);
}

// Whether allocations of this thread fail that have an alignment of their own, as the places of free envelopes.
constinit thread_local bool aligned_ones_fail = false;

}  // namespace
}  // namespace ergon::node

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (ergon::node::aligned_ones_fail) throw std::bad_alloc();
  void* memory = nullptr;
  if (::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace ergon::node {
namespace {

TEST_CASE("without memory: a key whose process cannot be watched belongs to nobody") {
  constexpr int kMoreThreadsThanPlacesAreKept = 200;
  TestNode t;
  auto keys = gen::KeyRegistry<int>::Start(t.node).value();
  const gen::PID pid = t.Spawn();
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  kit::ThreadGate gate;
  // The first envelope of a thread needs a place that threads which have ended have left, or a new one.
  for (int i = 1; i <= kMoreThreadsThanPlacesAreKept && failed == 0; ++i) {
    threads.emplace_back([&, mine = keys, enter = gate.Holder()]() mutable {
      bool thrown = false;
      aligned_ones_fail = true;
      try {
        (void)mine.Register(1, pid);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      aligned_ones_fail = false;
      if (thrown) ++failed;
      CHECK(mine.size() == (thrown ? 0 : 1));
      CHECK(mine.Unregister(1, pid) == !thrown);
      enter();
    });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == i; }));
  }
  CHECK(failed == 1);
}

}  // namespace
}  // namespace ergon::node

#endif
