#include <cluster/chaos/node.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ergon/gen/message_balance.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

#include <cluster/chaos/load.h>
#include <cluster/chaos/messages.h>
#include <cluster/chaos/receivers.h>
#include <cluster/chaos/spawner.h>
#include <cluster/chaos/stage.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Plan {
  std::string name;  // "a"
  std::string incarnation;
  std::string ledger;
  int epmd_port = 0;
  std::chrono::milliseconds tick{0};
  std::uint64_t seed = 0;
  std::string tls;  // a folder
  std::vector<Peer> peers;
};

void Say(const char* word) {
  std::cout << word << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for this line
}

class NodeProgram {
 public:
  explicit NodeProgram(const Plan& plan)
      : plan_(plan), stage_(plan.ledger, plan.name + plan.incarnation, plan.seed) {}

  // The exit status.
  int Run() {
    if (!Start()) return 1;
    StartReceivers(*node_, stage_);
    Say("ready");
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line == "begin") {
        for (const Peer& peer : plan_.peers) StartLoad(*node_, stage_, peer);
      } else if (line.rfind("disconnect ", 0) == 0) {
        (void)dist::Disconnect(*node_, gen::Atom(FullName(line.substr(line.find(' ') + 1))));
      } else if (line == "heal") {
        Heal();
      } else if (line == "finish") {
        Finish();
      } else if (line == "end") {
        End();
        return 0;
      }
    }
    std::_Exit(3);  // the driver is gone
  }

 private:
  bool Start() {
    gen::NodeOptions options;
    dist::ErlangOptions network{.cookie = "secret",
                                .epmd_port = plan_.epmd_port,
                                .start_epmd = false,
                                .tick_time = plan_.tick,
                                .send_queue_bytes = 16 * 1024};
    if (!plan_.tls.empty()) {
      network.tls =
          dist::TlsOptions{plan_.tls + "/node.pem", plan_.tls + "/node.key", plan_.tls + "/ca.pem"};
    }
    RegisterChildren(network);
    options.network = dist::Erlang(network);
    options.types.Register<Note>()
        .Register<dist::Cereal<Note>>()
        .Register<Open>()
        .Register<Close>()
        .Register<Ask>()
        .Register<dist::Cereal<Ask>>()
        .Register<dist::Cereal<PackedAsk>>()
        .Register<Beat>();
    options.dump_on_sigquit = true;
    // The name may be that of a node that was killed a moment ago.
    for (;;) {
      auto node = node::Start(FullName(plan_.name), options);
      if (node) {
        node_.emplace(std::move(*node));
        return true;
      }
      if (node.error() != gen::ErrTaken) {
        std::cerr << node.error().ToString() << '\n';
        return false;
      }
      std::this_thread::sleep_for(10ms);
    }
  }

  void Heal() {
    for (const Peer& peer : plan_.peers) {
      while (!dist::Ping(*node_, gen::Atom(FullName(peer.node)))) std::this_thread::sleep_for(10ms);
    }
    while (node_->GroupMembers(kGroup).size() != plan_.peers.size() + 1) {
      std::this_thread::sleep_for(10ms);
    }
    Say("healed");
  }

  void Finish() {
    stage_.stopping = true;
    while (stage_.busy != 0) std::this_thread::sleep_for(1ms);
    Say("idle");
    while (stage_.watching != 0) std::this_thread::sleep_for(1ms);
    Say("finished");
  }

  // Links and monitors with processes of other nodes.
  [[nodiscard]] std::vector<std::string> Relations() const {
    std::vector<std::string> relations;
    for (const gen::PID pid : node_->ProcessList()) {
      const auto info = node_->ProcessInfo(pid);
      if (!info) continue;
      const auto add = [&](const char* kind, const std::vector<gen::PID>& others) {
        for (const gen::PID other : others) {
          if (other.node == node_->Name()) continue;
          relations.push_back(fmt::format("{} ({}) {} {}", pid, info->behavior, kind, other));
        }
      };
      add("is linked with", info->links);
      add("monitors", info->monitors);
      add("is monitored by", info->monitored_by);
    }
    return relations;
  }

  // Less long than the driver waits for the end: what is left over then is a broken law, and no hang.
  template <class Condition>
  static void Await(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kit::kDeadline / 4;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
  }

  void End() {
    // There is no connection any more, so that nobody has to do with anybody there.
    Await([&] { return dist::Nodes(*node_).empty() && Relations().empty(); });
    const auto relations = Relations();
    stage_.ledger.Note("left relations {}", relations.size());
    for (const std::string& relation : relations) std::cerr << relation << '\n';
    StopReceivers(*node_);
    const auto is_empty = [&] {
      const gen::NodeInfo info = node_->Info();
      return info.processes + info.names + info.aliases + info.timers == 0;
    };
    Await(is_empty);
    const gen::NodeInfo info = node_->Info();
    stage_.ledger.Note("left processes {}", info.processes);
    stage_.ledger.Note("left names {}", info.names);
    stage_.ledger.Note("left aliases {}", info.aliases);
    stage_.ledger.Note("left timers {}", info.timers);
    node_->Stop();
    const gen::MessageBalance balance = node_->MessageBalance();
    stage_.ledger.Note("packed {}", read_packed.load(std::memory_order_relaxed));
    stage_.ledger.Note("balance {} {} {}", balance.Unaccounted(), balance.queued + balance.held,
                       balance.Dropped() - balance.dropped_no_connection - balance.dropped_unknown);
    stage_.ledger.Note("end");
    std::cerr << balance.ToString() << '\n';
  }

  const Plan plan_;
  Stage stage_;
  std::optional<node::Node> node_;
};

}  // namespace

int RunNode(int count, char** words) {
  if (count < 8) {
    std::cerr
        << "usage: ergon-chaos node NAME INCARNATION LEDGER EPMD_PORT TICK_MS SEED TLS PEER...\n";
    return 2;
  }
  Plan plan{.name = words[0],
            .incarnation = words[1],
            .ledger = words[2],
            .epmd_port = std::atoi(words[3]),
            .tick = std::chrono::milliseconds(std::atoi(words[4])),
            .seed = std::strtoull(words[5], nullptr, 10),
            .tls = words[6],
            .peers = {}};
  for (int i = 7; i < count; ++i) plan.peers.push_back({words[i]});
  return NodeProgram(plan).Run();
}

}  // namespace ergon::chaos
