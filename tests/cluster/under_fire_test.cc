// A node under hostile peers of every kind at once, and an honest peer whose calls go on.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cluster/attackers.h>
#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/dialled.h>
#include <cluster/fake_epmd.h>
#include <cluster/victim.h>

namespace ergon::dist {
namespace {

// As in tests/bench/network/fire.sh; the other limits are the usual ones.
constexpr std::size_t kBytesOfMuch = 100'000;
constexpr std::size_t kMostFrameBytes = 1024 * 1024;
constexpr unsigned kWorkers = 2;
// What all attackers together may cost the node, and what the others in this program take: the threads of the attackers
// and the honest node, each with a stack and an arena of the allocator. fire.sh tells what the node alone takes. With
// sanitizers it is not looked at: they keep what was freed.
constexpr std::size_t kMostMoreBytes = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kBytesOfOthers = std::size_t{12} * 1024 * 1024;

// Of this program, in memory.
std::size_t ResidentBytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Answers with the first number, and tells it of each message and call that is not the next one.
class InOrder : public act::Actor {
 public:
  explicit InOrder(std::atomic<int>* faults) : faults_(faults) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* const line = message.As<Line>();
    if (line == nullptr) return Actor::HandleMessage(from, message);
    if (line->number != next_++) ++*faults_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& message) override {
    const auto* const sum = message.As<Sum>();
    if (sum == nullptr) return gen::ReplyError(gen::ErrUnsupported);
    if (sum->numbers.front() != next_++) ++*faults_;
    return gen::Reply(std::int64_t{sum->numbers.front()});
  }
  std::atomic<int>* const faults_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("under fire: an honest peer's calls are answered, in order, and memory has its bounds") {
  const auto port = FreePort();
  Dialled dialled("127.0.0.1");
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    const std::string_view alive = FakeEpmd::AskedFor(request);
    return alive == "fortress" ? FakeEpmd::Found(alive, port) : dialled.Answer(request);
  });
  ErlangOptions options = ClusterOptions();
  options.epmd_port = epmd.port();
  options.max_frame_bytes = kMostFrameBytes;
  ErlangOptions honest_options = options;
  options.listen_port = port;
  options.functions.Register("words", "much", [] { return std::string(kBytesOfMuch, 'x'); });
  options.functions.Register("words", "huge", [] { return std::string(2 * kMostFrameBytes, 'x'); });
  kit::LogCapture log;
  kit::LogCapture honest_log;
  gen::NodeOptions two;
  two.workers = kWorkers;
  auto node = TryStart("fortress@127.0.0.1", log, options, two).value();
  auto honest = TryStart("honest@127.0.0.1", honest_log, honest_options).value();
  std::atomic<int> faults{0};
  REQUIRE(node.SpawnRegister("in_order", gen::Factory<InOrder>(&faults)));
  REQUIRE(node.SpawnRegister(kVictim, gen::Factory<Victim>()));
  REQUIRE(node.SpawnRegister(kLured, gen::Factory<Lured>()));
  REQUIRE(Ping(honest, node.Name()));

  const std::size_t resident = ResidentBytes();
  std::size_t most_resident = resident;
  const AttackedNode attacked{.name = "fortress@127.0.0.1",
                              .port = [&] { return port; },
                              .relations = static_cast<std::uint64_t>(kit::Scaled(10'000))};
  Attackers attackers(attacked);
  dialled.Start(attacked);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  std::atomic<int> failed{0};
  const auto caller = honest.Spawn([&](gen::Process& self) {
    const gen::ProcessID there{"in_order", node.Name()};
    for (int number = 0; !stop; number += 2) {
      if (!self.Send(there, Line{number, "a message"})) ++failed;
      const auto answer = self.Call(there, Sum{{number + 1}}, {.timeout = kit::kDeadline});
      if (!answer || *answer != number + 1) ++failed;
      ++answered;
    }
  });
  REQUIRE(caller);
  std::size_t most_queued = 0;
  std::size_t connections = 0;
  // With sanitizers a handshake takes so long that idle sockets push most of them out.
  constexpr std::uint64_t kRounds = kit::kSanitized ? 1 : 5;
  const auto have_all_attacked = [&](std::uint64_t rounds, std::uint64_t dialled_rounds) {
    return kit::Eventually([&] {
      const auto all_of_them = InspectConnections(node);
      connections = std::max(connections, all_of_them.size());
      for (const auto& each : all_of_them) {
        most_queued = std::max(most_queued, each.most_queued_bytes);
      }
      most_resident = std::max(most_resident, ResidentBytes());
      std::this_thread::sleep_for(1ms);
      return attackers.Rounds() >= rounds && dialled.Rounds() >= dialled_rounds &&
             answered >= kit::Scaled(200);
    });
  };
  bool all = have_all_attacked(kRounds, kit::kSanitized ? 1 : 3);
  // Who reads nothing goes on until the node does not read either: with sanitizers on a slow machine one round has to
  // do.
  for (int more = 0; kit::kSanitized && more < 2 && !all; ++more) all = have_all_attacked(1, 1);
  CHECK_MESSAGE(all, attackers.ToString()
                         << ", " << dialled.ToString() << ", answered " << answered.load());
  stop = true;
  CHECK(honest.WaitProcess(*caller));
  CHECK(failed == 0);
  CHECK(faults == 0);
  CHECK(dialled.LetIn() == 0);
  // An attacker of each kind, those that the node dials, and a name that is just given up.
  CHECK(connections <= 40);
  // What each worker was about to answer when the bound was reached is sent as well.
  CHECK(most_queued < options.send_queue_bytes + (kWorkers + 1) * kBytesOfMuch);
  if (!kit::kSanitized) CHECK(most_resident - resident <= kMostMoreBytes + kBytesOfOthers);
  CHECK(Nodes(honest) == std::vector<gen::Atom>{node.Name()});

  dialled.Stop();
  attackers.Stop();
  CHECK(kit::Eventually([&] { return Nodes(node) == std::vector<gen::Atom>{honest.Name()}; }));
  CHECK(kit::Eventually([&] { return node.ProcessList().size() == 3; }));
  CHECK(kit::Eventually([&] { return node.GroupMembers("fire1").empty(); }));
  CHECK(log.Count("was not let in") <= 200);
  honest.Stop();
  node.Stop();
  kit::CheckBalance(honest);
  kit::CheckBalance(node);
}

}  // namespace ergon::dist
