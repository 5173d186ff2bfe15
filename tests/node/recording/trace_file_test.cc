// What a node records of its processes' turns.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ergon/core/dispatcher.h>
#include <ergon/node/trace_file.h>

#include <node/recording/trace_reader.h>
#include <node/subject.h>

namespace ergon::node::trace_file_test {

TEST_CASE("trace file: turns, what they handle, and a Call with its wait within") {
  const Path path;
  const auto hooks = std::make_shared<Counting>();
  TestNode t({.hooks = hooks});
  const gen::PID callee = t.node.SpawnRegister("callee", Make({})).value();
  const gen::PID caller = t.node.SpawnRegister("caller", Make({})).value();
  for (const gen::PID pid : {callee, caller}) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(hooks->EventuallyQuiet());  // a turn that has begun before is not recorded
  auto file = TraceTo(t.node, path.text(), {.duration = gen::kInfinite});
  REQUIRE(file);
  CHECK((*file)->IsOpen());
  CHECK(t.Run(caller, [&](Subject& self) {
    CHECK(self.Call<bool>(callee, Do{[&](Subject& other) {
                            do {
                              other.Sleep(1ms);
                            } while (t.node.ProcessInfo(caller)->state !=
                                         gen::ProcessState::kWaiting ||
                                     !hooks->OnlyOneRuns());
                          }})
              .value());
  }));
  CHECK(hooks->EventuallyQuiet());
  const auto summary = (*file)->End();
  REQUIRE(summary);
  CHECK(!(*file)->IsOpen());
  CHECK(summary->left_out == 0);
  CHECK(!summary->is_full);
  CHECK(summary->bytes == std::filesystem::file_size(path.text()));
  const auto events = path.Events();
  CHECK(summary->events == events.size());
  const auto slices = Slices(events);
  CheckNesting(slices);
  const auto processes = Labels(events, 2);
  const auto threads = Labels(events, 1);
  auto track_of = [&](const std::string& name) {
    for (const auto& [track, label] : processes) {
      if (label.find("'" + name + "'") != std::string::npos) return track;
    }
    return 0;
  };
  int waits_of_caller = 0;
  int waits_of_callee = 0;
  for (const Slice& slice : slices) {
    if (slice.category == "turn") {
      CHECK(threads.at(slice.track).starts_with("ergon-"));
      continue;
    }
    CHECK(processes.contains(slice.track));
    if (slice.category != "waits") continue;
    const bool is_caller = slice.track == track_of("caller");
    CHECK(slice.name == (is_caller ? "awaits the answer to ergon::node::Do" : "sleeps, or waits"));
    CHECK(slice.of == (is_caller ? callee.ToString() : ""));
    const bool is_within = std::any_of(slices.begin(), slices.end(), [&](const Slice& outer) {
      return outer.category == "handles" && outer.group == 2 && outer.track == slice.track &&
             outer.name == "ergon::node::Do" && IsWithin(slice, outer);
    });
    CHECK(is_within);
    ++(is_caller ? waits_of_caller : waits_of_callee);
  }
  CHECK(waits_of_caller == 1);
  CHECK(waits_of_callee >= 1);
}

TEST_CASE("trace file: one process only, and what goes on at the end") {
  const Path path;
  const auto hooks = std::make_shared<Counting>();
  TestNode t({.hooks = hooks});
  const gen::PID one = t.node.SpawnRegister("one", Make({})).value();
  const gen::PID other = t.node.SpawnRegister("other", Make({})).value();
  CHECK(t.Run(one, [](Subject&) {}));
  CHECK(hooks->EventuallyQuiet());  // a turn that has begun before is not recorded
  const auto file =
      TraceTo(t.node, path.text(), {.duration = gen::kInfinite, .process = one}).value();
  CHECK(t.Run(other, [](Subject&) {}));
  CHECK(t.node.Send(one, Do{[](Subject& self) { (void)self.Sleep(gen::kInfinite); }}));
  CHECK(kit::Eventually(
      [&] { return t.node.ProcessInfo(one)->state == gen::ProcessState::kWaiting; }));
  CHECK(t.node.Inspect(one));  // its wait goes on
  CHECK(hooks->EventuallyQuiet());
  CHECK(file->End());
  const auto events = path.Events();
  const auto slices = Slices(events);
  CheckNesting(slices);
  const auto processes = Labels(events, 2);
  REQUIRE(processes.size() == 1);
  CHECK(processes.begin()->second == one.ToString() + " 'one' ergon::node::Subject");
  CHECK(std::count_if(slices.begin(), slices.end(),
                      [](const Slice& slice) { return slice.category == "waits"; }) == 1);
  CHECK(std::all_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.category != "turn" || slice.name == processes.begin()->second;
  }));
  CHECK(t.node.Kill(one));
}

TEST_CASE("trace file: a function that waits for messages has nothing to do meanwhile") {
  const Path path;
  const auto hooks = std::make_shared<Counting>();
  TestNode t({.hooks = hooks});
  const gen::PID pid = t.node
                           .Spawn([](gen::Process& self) {
                             while (self.Receive<int>()) {
                             }
                           })
                           .value();
  CHECK(hooks->EventuallyQuiet());  // a turn that has begun before is not recorded
  const auto file =
      TraceTo(t.node, path.text(), {.duration = gen::kInfinite, .process = pid}).value();
  for (std::uint64_t message = 1; message <= 2; ++message) {
    CHECK(t.node.Send(pid, 1));
    CHECK(kit::Eventually([&] {
      return t.node.ProcessInfo(pid)->messages_handled == message && hooks->EventuallyQuiet();
    }));
  }
  CHECK(file->End());
  const auto slices = Slices(path.Events());
  CheckNesting(slices);
  CHECK(std::ranges::count(slices, "handles", &Slice::category) == 2);
  CHECK(std::ranges::count(slices, "int", &Slice::name) == 2);
  CHECK(std::ranges::count(slices, "waits", &Slice::category) == 0);
}

TEST_CASE("trace file: it is never larger than it may be") {
  const Path path;
  TestNode t;
  const gen::PID pid = t.Spawn();
  const auto file =
      TraceTo(t.node, path.text(), {.duration = gen::kInfinite, .max_bytes = 4096}).value();
  CHECK(kit::Eventually([&] {
    CHECK(t.Run(pid, [](Subject&) {}));
    return !file->IsOpen();
  }));
  const auto summary = file->End().value();
  CHECK(summary.is_full);
  CHECK(summary.left_out > 0);
  CHECK(summary.bytes <= 4096);
  CHECK(std::filesystem::file_size(path.text()) == summary.bytes);
  CHECK(path.Events().size() == summary.events);
  CHECK(t.log.Count("is complete: " + std::to_string(summary.events) + " events in ") == 1);
}

TEST_CASE("trace file: it ends by time, with the node, and another one may follow") {
  const Path path;
  TestNode t;
  const auto first = TraceTo(t.node, path.text(), {.duration = 1ns}).value();
  CHECK(kit::Eventually([&] { return !first->IsOpen(); }));
  const auto second = TraceTo(t.node, path.text(), {.duration = gen::kInfinite}).value();
  CHECK(TraceTo(t.node, path.text()).error() == gen::ErrBusy);
  CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  t.node.Stop();
  CHECK(!second->IsOpen());
  CHECK(second->End()->events == path.Events().size());
  CHECK(TraceTo(t.node, path.text()).error() == gen::ErrNodeTerminated);
}

TEST_CASE("trace file: it ends when its time is up, not when events are taken next") {
  constexpr std::chrono::milliseconds kEventsAreTakenEvery(10);
  const Path path;
  TestNode t;
  // One is enough: the machine may be slow.
  CHECK(kit::Eventually([&] {
    const auto began = std::chrono::steady_clock::now();
    const auto file = TraceTo(t.node, path.text(), {.duration = 1ns}).value();
    CHECK(kit::Eventually([&] { return !file->IsOpen(); }));
    return std::chrono::steady_clock::now() - began < kEventsAreTakenEvery;
  }));
}

TEST_CASE("trace file: errors") {
  const Path path;
  TestNode t;
  auto detail = [&](const std::string& to, const TraceFileOptions& options = {}) {
    auto file = TraceTo(t.node, to, options);
    REQUIRE(!file);
    return std::string(file.error().detail());
  };
  CHECK(detail("/no/such/folder/a.json") ==
        "trace file \"/no/such/folder/a.json\": No such file or directory");
  CHECK(detail("/tmp") == "trace file \"/tmp\": Is a directory");
  CHECK(detail("/dev/full") == "trace file \"/dev/full\": it is no regular file");
  CHECK(detail(path.text(), {.duration = 0ns}) == "duration: 0, must be more than 0");
  CHECK(detail(path.text(), {.max_bytes = 10}) == "max_bytes: 10 is outside 4096..1099511627776");
  const gen::PID gone = t.Spawn();
  CHECK(t.node.Kill(gone));
  CHECK(t.Ended(gone));
  CHECK(!TraceTo(t.node, path.text(), {.process = gone}));
  const gen::PID former{gone.id, gone.node, gone.creation + 1};
  CHECK(TraceTo(t.node, path.text(), {.process = former}).error() == gen::ErrProcessIncarnation);
  const gen::PID elsewhere{gone.id, "other@localhost", gone.creation};
  CHECK(TraceTo(t.node, path.text(), {.process = elsewhere}).error() == gen::ErrIncorrect);
  CHECK(detail(path.text(), {.process = elsewhere}) ==
        "process: " + elsewhere.ToString() + " is not of this node");
  CHECK(!std::filesystem::exists(path.text()));
}

TEST_CASE("trace file: two nodes do not write the same one") {
  const Path path;
  TestNode t;
  TestNode other;
  const auto first = TraceTo(t.node, path.text(), {.duration = gen::kInfinite}).value();
  CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  CHECK(TraceTo(other.node, path.text()).error().detail() ==
        "trace file \"" + path.text() + "\": another recording writes it");
  const auto summary = first->End();
  REQUIRE(summary);
  CHECK(summary->events == path.Events().size());
  const auto second = TraceTo(other.node, path.text(), {.duration = gen::kInfinite}).value();
  const pid_t child = ::fork();  // has the file open, too
  if (child == 0) {
    for (;;) ::pause();
  }
  CHECK(second->End());
  CHECK(TraceTo(other.node, path.text(), {.duration = gen::kInfinite}).value()->End());
  CHECK(::kill(child, SIGKILL) == 0);
  CHECK(::waitpid(child, nullptr, 0) == child);
}

// No file of this program gets larger, as if the disk was full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    (void)::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*const handler_)(int);
  rlimit before_ = {};
};

TEST_CASE("trace file: what cannot be written ends the recording, with a whole list") {
  const Path path;
  TestNode t;
  std::optional<FileLimit> limit(std::in_place, 64);
  const auto file = TraceTo(t.node, path.text(), {.duration = gen::kInfinite}).value();
  CHECK(kit::Eventually([&] { return !file->IsOpen(); }));
  const auto summary = file->End();
  limit.reset();
  REQUIRE(!summary);
  CHECK(summary.error().code() == gen::ErrorCode::kInternal);
  CHECK(summary.error().detail() == "trace file \"" + path.text() + "\": File too large");
  CHECK(path.Events().empty());
}

// Records a node several times, whose processes yield, go idle and are woken elsewhere, and are inspected while they
// wait.
void RecordOften(const std::shared_ptr<Counting>& hooks) {
  const Path path;
  std::atomic<std::uint64_t> handled{0};
  TestNode t({.hooks = hooks});
  std::vector<gen::PID> pids;
  for (int i = 0; i < 4; ++i) {
    pids.push_back(t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
      ++handled;
      (void)self.Send(self.Self(), message.Take<int>());
      self.Yield();
      return gen::Continue();
    }}));
    CHECK(t.node.Send(pids.back(), i));
  }
  for (int i = 0; i < 3; ++i) {
    const gen::PID pong =
        t.Spawn({.message = [&](Subject& self, gen::PID from, gen::Message& message) {
          ++handled;
          (void)self.Send(from, message.Take<int>());
          return gen::Continue();
        }});
    const gen::PID ping =
        t.Spawn({.message = [&, pong](Subject& self, gen::PID, gen::Message& message) {
          ++handled;
          (void)self.Send(pong, message.Take<int>());
          return gen::Continue();
        }});
    CHECK(t.node.Send(ping, i));
    pids.insert(pids.end(), {ping, pong});
  }
  const gen::PID callee = t.Spawn();
  const gen::PID caller =
      t.Spawn({.message = [&, callee](Subject& self, gen::PID, gen::Message& message) {
        ++handled;
        self.SetTrace(1);
        (void)self.Call<bool>(callee, Do{[](Subject& other) { other.Sleep(50us); }});
        self.SetTrace(0);
        (void)self.Send(self.Self(), message.Take<int>());
        return gen::Continue();
      }});
  CHECK(t.node.Send(caller, 1));
  pids.insert(pids.end(), {callee, caller});
  std::atomic<bool> done{false};
  std::atomic<int> inspected{0};
  std::thread inspector([&] {
    while (!done) inspected += t.node.Inspect(caller) ? 1 : 0;
  });
  for (int i = 0; i < kit::Scaled(6, 2); ++i) {
    const auto file = TraceTo(t.node, path.text(),
                              {.duration = gen::kInfinite,
                               .max_bytes = static_cast<std::uint64_t>(kit::Scaled(200'000, 4))})
                          .value();
    const std::uint64_t before = handled;
    const int before_inspected = inspected;
    CHECK(kit::Eventually(
        [&] { return handled > before + 100 && inspected > before_inspected + 5; }));
    CHECK(file->End());
    CheckNesting(Slices(path.Events()));
  }
  done = true;
  inspector.join();
  for (const gen::PID pid : pids) CHECK(t.node.Kill(pid));
}

TEST_CASE("trace file: recordings come and go while processes run") { RecordOften(nullptr); }

TEST_CASE("trace file: recordings come and go while processes run, beside the hooks of the user") {
  const auto hooks = std::make_shared<Counting>();
  RecordOften(hooks);
  CHECK(hooks->begun == hooks->ended);
  CHECK(hooks->begun > 0);
}

}  // namespace ergon::node::trace_file_test
