// What a peer has called and does not run yet has bounds, and all of it is run when there is room again.
#include <ergon/node/cluster/connection/beginning_functions.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/gen_call.h>

namespace ergon::dist::beginning_functions_test {
namespace {

constexpr std::size_t kMost = BeginningFunctions::kMost;
constexpr unsigned kWorkers = 2;
constexpr std::size_t kResult = 16 * 1024;
const gen::PID kAsker{7, "asker@127.0.0.1", 77};

// Calls words:much(), as rpc:call does it.
std::string Calls(int count) {
  std::string frames;
  for (int i = 0; i < count; ++i) {
    std::string reference;
    AppendReference(reference, static_cast<std::uint64_t>(i) + 1, kAsker.node, kAsker.creation);
    std::string call;
    TermWriter writer(call);
    BeginGenCall(writer, kAsker, reference);
    writer.Tuple(5);
    for (const char* word : {"call", "words", "much"}) writer.Atom(word);
    writer.Nil();
    writer.Pid(kAsker);
    AppendFrame(frames,
                {.kind = SignalKind::kMonitor, .from = kAsker, .name = "rex", .ref = reference},
                kOwnFlags);
    AppendFrame(frames,
                {.kind = SignalKind::kSendToName, .from = kAsker, .name = "rex", .payload = call},
                kOwnFlags);
  }
  return frames;
}

// Asks for words:start(), as spawn_request does it; a frame for each.
std::vector<std::string> Starts(int count) {
  std::vector<std::string> frames;
  std::string arguments;
  TermWriter(arguments).Nil();
  for (int i = 0; i < count; ++i) {
    std::string reference;
    AppendReference(reference, static_cast<std::uint64_t>(i) + 1, kAsker.node, kAsker.creation);
    AppendFrame(frames.emplace_back(),
                {.kind = SignalKind::kSpawnRequest,
                 .from = kAsker,
                 .ref = reference,
                 .payload = arguments,
                 .module = "words",
                 .function = "start"},
                kOwnFlags);
  }
  return frames;
}

// A node whose function has long results, and whose workers do nothing until the gate is open.
struct Asked {
  explicit Asked(const std::string& name) {
    options.listen_port = FreePort();
    options.send_queue_bytes = 64 * 1024;
    options.functions.Register("words", "much", [this] {
      ++runs;
      return std::string(kResult, 'x');
    });
    options.behaviors.Register("words", "start",
                               gen::ProcessFactory([this](gen::Process&) { ++runs; }));
    gen::NodeOptions two;
    two.workers = kWorkers;
    node.emplace(TryStart(name, log, options, two).value());
    for (std::size_t i = 0; i < kWorkers; ++i) {
      REQUIRE(node->Spawn([this](gen::Process&) {
        ++blocked;
        opened.wait(false);
      }));
    }
    REQUIRE(kit::Eventually([&] { return blocked == kWorkers; }));
  }
  ~Asked() {
    Open();
    CHECK(kit::Eventually([&] { return node->ProcessList().empty(); }));
    node->Stop();
    kit::CheckBalance(*node);
  }
  void Open() {
    opened = true;
    opened.notify_all();
  }
  [[nodiscard]] std::size_t Processes() {
    const std::size_t now = node->ProcessList().size();
    most_processes = std::max(most_processes, now);
    return now;
  }

  std::atomic<std::size_t> blocked = 0;
  std::atomic<bool> opened = false;
  std::atomic<int> runs = 0;
  std::size_t most_processes = 0;
  ErlangOptions options = ClusterOptions();
  kit::LogCapture log;
  std::optional<node::Node> node;
};

// Who has shaken hands with it.
struct Asker : Client {
  explicit Asker(const Asked& asked, const std::string& name = kAsker.node.ToString())
      : Client(static_cast<std::uint16_t>(asked.options.listen_port)) {
    REQUIRE(ShakeHands(name, asked.node->Name().ToString()));
  }
};

}  // namespace

TEST_CASE(
    "beginning functions: from so many on no further one begins, until there are half as many") {
  BeginningFunctions functions;
  CHECK_FALSE(functions.AreTooMany());
  for (int i = 0; i < BeginningFunctions::kMost; ++i) {
    CHECK_FALSE(functions.AreTooMany());
    functions.Add();
  }
  CHECK(functions.AreTooMany());
  for (int i = 1; i < BeginningFunctions::kMost / 2; ++i) {
    CHECK_FALSE(functions.Remove());
    CHECK(functions.AreTooMany());
  }
  CHECK(functions.Remove());  // somebody waits for that
  CHECK_FALSE(functions.Remove());
  CHECK_FALSE(functions.AreTooMany());
}

TEST_CASE("beginning functions: what has no process yet is run when those before it have begun") {
  constexpr int kCalls = 600;
  Asked asked("begins@127.0.0.1");
  Asker asker(asked);
  asker.Write(Calls(kCalls));
  REQUIRE(kit::Eventually([&] { return asked.Processes() >= kMost + kWorkers; }));
  asked.Open();
  std::size_t taken = 0;
  while (taken < kCalls * kResult) {
    taken += asker.Read().size();
    (void)asked.Processes();
  }
  CHECK(kit::Eventually(
      [&] { return asked.runs == kCalls; }));  // what is around the results was taken, too
  // Not all at once. A list has those that were there at different moments while it was made: some that have ended
  // since, and some that have begun in their place.
  CHECK(asked.most_processes < kCalls / 2);
  asker.Close();
}

TEST_CASE("beginning functions: behaviours that wait to be started count, too") {
  constexpr int kStarts = 600;
  Asked asked("starts@127.0.0.1");
  Asker asker(asked);
  const std::vector<std::string> frames = Starts(kStarts);
  std::string all;
  for (const std::string& frame : frames) all += frame;
  std::size_t beyond = 0;
  for (std::size_t i = kMost; i < frames.size(); ++i) beyond += frames[i].size();
  asker.Write(all);
  CHECK(kit::Eventually(
      [&] { return InspectConnections(*asked.node).front().put_aside_bytes == beyond; }));
  CHECK(asked.Processes() == kMost + kWorkers);
  asked.Open();
  CHECK(kit::Eventually([&] { return asked.runs == kStarts; }));
  asker.Close();
}

TEST_CASE("beginning functions: all is started, however long it waits for a worker") {
  constexpr int kStarts = 10;
  Asked asked("late_starts@127.0.0.1");
  Asker asker(asked);
  for (const std::string& frame : Starts(kStarts)) asker.Write(frame);
  asker.Write(Calls(kStarts));
  REQUIRE(kit::Eventually([&] { return asked.Processes() == 2 * kStarts + kWorkers; }));
  // Longer than an Init may take: its timers are over then.
  const auto end = asked.node->Info().uptime + gen::kDefaultInitTimeout + 100ms;
  REQUIRE(kit::Eventually([&] { return asked.node->Info().uptime >= end; }));
  asked.Open();
  for (std::size_t taken = 0; taken < kStarts * kResult;) taken += asker.Read().size();
  CHECK(kit::Eventually([&] { return asked.runs == 2 * kStarts; }));
  asker.Close();
}

TEST_CASE("beginning functions: with the connection of their caller they end, and are not run") {
  constexpr int kCalls = 600;
  Asked asked("ends_begun@127.0.0.1");
  {
    Asker asker(asked);
    asker.Write(Calls(kCalls));
    REQUIRE(kit::Eventually([&] { return asked.Processes() >= kMost + kWorkers; }));
    asker.Close();
  }
  REQUIRE(kit::Eventually([&] { return Nodes(*asked.node).empty(); }));
  // Another one is let in when all has been ended that the first one has called.
  Asker witness(asked, "witness@127.0.0.1");
  witness.Close();
  asked.Open();
  REQUIRE(kit::Eventually([&] { return asked.node->ProcessList().empty(); }));
  CHECK(asked.runs == 0);
  // The same caller is a new one.
  Asker again(asked);
  again.Write(Calls(1));
  CHECK(kit::Eventually([&] { return asked.runs == 1; }));
  again.Close();
}

}  // namespace ergon::dist::beginning_functions_test
