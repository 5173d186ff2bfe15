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
#include <cluster/fake_epmd.h>
#include <cluster/terms.h>

namespace ergon::dist {
namespace {

// As in tests/bench/network/fire.sh; the other limits are the usual ones.
constexpr std::size_t kBytesOfMuch = 100'000;
constexpr std::size_t kMostFrameBytes = 1024 * 1024;
constexpr unsigned kWorkers = 2;
// What all attackers together may cost the node, and what the others in this program take: the threads of the attackers and
// the honest node, each with a stack and an arena of the allocator. fire.sh tells what the node alone takes. With sanitizers it
// is not looked at: they keep what was freed.
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

// A peer that the node dials and that hands its challenge back, and those that nobody can dial.
class Dialled {
 public:
  Dialled(node::Node& node, std::uint16_t port, asio::ip::tcp::acceptor& thief)
      : node_(&node), port_(port), thief_(&thief) {
    reflecting_ = std::thread([this] { Reflect(); });
    coming_ = std::thread([this] { Come(); });
  }
  ~Dialled() { Stop(); }
  void Stop() {
    if (!reflecting_.joinable()) return;
    stop_ = true;
    coming_.join();
    reflecting_.join();
  }
  [[nodiscard]] int Reflected() const { return reflected_; }
  [[nodiscard]] int LetIn() const { return let_in_; }
  [[nodiscard]] int DialledInVain() const { return dialled_in_vain_; }
  // How often somebody has sent to nodes whose look-up does not end.
  [[nodiscard]] int SentToSilence() const { return sent_to_silence_; }

 private:
  void Reflect() {
    while (!stop_) {
      bool has_said = false;
      try {
        // Somebody here sends, and the node dials; it dials anew as long as somebody does.
        (void)node_->Send(gen::ProcessID{"anybody", "y@127.0.0.1"}, Line{});
        thief_->non_blocking(true);
        asio::error_code none;
        asio::ip::tcp::socket probe(thief_->get_executor());
        thief_->accept(probe, none);
        if (none) {
          std::this_thread::sleep_for(1ms);
          continue;
        }
        // The challenge of the node, which it has issued to another one, as the answer to itself.
        HostileSocket here(port_, stop_);
        std::string challenge;
        if (!here.AskForChallenge("thief@127.0.0.1", challenge)) continue;
        const std::string name = "y@127.0.0.1";
        const auto packet = [](const std::string& text) {
          return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} +
                 text;
        };
        probe.non_blocking(false);
        char ignored[512];
        (void)probe.read_some(asio::buffer(ignored));
        asio::write(probe, asio::buffer(packet("sok") + packet("N" + terms::Big(kOwnFlags, 8) +
                                                               challenge + terms::Big(77, 4) +
                                                               terms::Big(name.size(), 2) + name)));
        has_said = true;
        const std::size_t bytes = probe.read_some(asio::buffer(ignored), none);
        ++(bytes == 0 ? reflected_ : let_in_);
      } catch (const std::exception&) {  // the node has closed one of them
        if (has_said) ++reflected_;
      }
    }
  }
  // It sends to those whom EPMD does not know, while they begin to come and break off.
  void Come() {
    while (!stop_) {
      for (const char* name : {"silent1@127.0.0.1", "silent2@127.0.0.1", "silent3@127.0.0.1"}) {
        (void)node_->Send(gen::ProcessID{"anybody", gen::Atom(name)}, Line{});
        ++sent_to_silence_;
      }
      for (const char* name : {"aaa@127.0.0.1", "zzz@127.0.0.1"}) {
        (void)node_->Send(gen::ProcessID{"anybody", gen::Atom(name)}, Line{});
        HostileSocket socket(port_, stop_);
        std::string ignored;
        if (socket.AskForChallenge(name, ignored)) ++dialled_in_vain_;
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  node::Node* const node_;
  const std::uint16_t port_;
  asio::ip::tcp::acceptor* const thief_;
  std::atomic<bool> stop_{false};
  std::atomic<int> reflected_{0};
  std::atomic<int> let_in_{0};
  std::atomic<int> dialled_in_vain_{0};
  std::atomic<int> sent_to_silence_{0};
  std::thread reflecting_;
  std::thread coming_;
};

}  // namespace

TEST_CASE("under fire: an honest peer's calls are answered, in order, and memory has its bounds") {
  asio::io_context context;
  asio::ip::tcp::acceptor thief(context, {asio::ip::make_address("127.0.0.1"), 0});
  const std::uint16_t port_of_thief = thief.local_endpoint().port();
  const auto port = FreePort();
  std::atomic<int> silences{0};
  FakeEpmd epmd([&](std::string_view request) -> std::optional<std::string> {
    if (FakeEpmd::IsRegistration(request)) return FakeEpmd::Registered();
    const std::string_view alive = FakeEpmd::AskedFor(request);
    if (alive.starts_with("silent")) {
      ++silences;
      return std::nullopt;
    }
    if (alive == "y") return FakeEpmd::Found(alive, port_of_thief);
    if (alive == "fortress") return FakeEpmd::Found(alive, port);
    return std::string("\x77\1", 2);  // it does not know it
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
  REQUIRE(Ping(honest, node.Name()));

  const std::size_t resident = ResidentBytes();
  std::size_t most_resident = resident;
  Attackers attackers({.name = "fortress@127.0.0.1",
                       .port = [&] { return port; },
                       .relations = static_cast<std::uint64_t>(kit::Scaled(10'000))});
  Dialled dialled(node, port, thief);
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
  constexpr std::uint64_t kRounds = kit::kSanitized ? 2 : 5;
  const bool all = kit::Eventually([&] {
    const auto all_of_them = InspectConnections(node);
    connections = std::max(connections, all_of_them.size());
    for (const auto& each : all_of_them) {
      most_queued = std::max(most_queued, each.most_queued_bytes);
    }
    most_resident = std::max(most_resident, ResidentBytes());
    std::this_thread::sleep_for(1ms);
    return attackers.Rounds() >= kRounds && dialled.Reflected() >= 3 &&
           dialled.DialledInVain() >= 5 && dialled.SentToSilence() >= 5 && silences >= 3 &&
           answered >= kit::Scaled(200);
  });
  CHECK_MESSAGE(all, attackers.ToString()
                         << "; reflected " << dialled.Reflected() << ", dialled in vain "
                         << dialled.DialledInVain() << ", silent look-ups " << silences.load()
                         << ", answered " << answered.load());
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
  CHECK(kit::Eventually([&] { return node.ProcessList().size() == 2; }));
  CHECK(kit::Eventually([&] { return node.GroupMembers("fire1").empty(); }));
  CHECK(log.Count("was not let in") <= 200);
  honest.Stop();
  node.Stop();
  kit::CheckBalance(honest);
  kit::CheckBalance(node);
}

}  // namespace ergon::dist
