// ergon-chaos: three nodes under load, cut off, held up, stopped and killed, and the proof that each message was
// handled, answered with an error, or covered by a noconnection signal. README.md tells more.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cluster/attackers.h>
#include <cluster/chaos/cluster.h>
#include <cluster/chaos/faults.h>
#include <cluster/chaos/laws.h>
#include <cluster/chaos/node.h>
#include <cluster/chaos/stage.h>

namespace ergon::chaos {
namespace {

struct Options {
  int seconds = 10;
  std::uint64_t seed = 0;
  std::string escript;
  std::string tls;
  bool attackers = true;
  bool keep = false;
};

// A fourth one beside the three nodes: peers that mean harm, of every kind, at each node of Ergon.
class Fourth {
 public:
  explicit Fourth(Cluster& cluster) {
    for (const std::string& node : cluster.names()) {
      if (IsErlang(node)) continue;
      attackers_.push_back(std::make_unique<dist::Attackers>(
          dist::AttackedNode{.name = FullName(node),
                             .port = [&cluster, node] { return cluster.PortOf(node); },
                             .pause = std::chrono::milliseconds(10 * kSlowness)}));
    }
  }
  void Stop() {
    for (const auto& each : attackers_) each->Stop();
  }
  [[nodiscard]] std::string ToString() const {
    std::string text;
    for (const auto& each : attackers_) text += (text.empty() ? "" : "; ") + each->ToString();
    return text;
  }

 private:
  std::vector<std::unique_ptr<dist::Attackers>> attackers_;
};

void Row(std::string_view name, const std::string& value) {
  fmt::print("{:<12} {}\n", name, value);
}

void PrintTable(const Tally& tally, const Faults& faults, int connections) {
  Row("sent",
      fmt::format("{}: handled {}, covered by noconnection {}, dropped {}, sender killed {}",
                  tally.sent, tally.handled, tally.covered, tally.dropped, tally.unknown));
  std::string errors;
  for (const auto& [error, count] : tally.errors) errors += fmt::format(", {} {}", error, count);
  Row("calls", fmt::format("{}: answered {}{}", tally.calls, tally.answers, errors));
  Row("watches",
      fmt::format("{}: signals {}, undone {}", tally.watches, tally.signals, tally.undone));
  Row("packed", std::to_string(tally.packed));
  Row("spawns", fmt::format("{}: processes {}", tally.spawns, tally.children));
  Row("events", fmt::format("{} subscriptions: values {}", tally.subscriptions, tally.values));
  std::string texts;
  for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
    texts += fmt::format("{}{} {}", i == 0 ? "" : ", ", kFaultNames[i], faults.counts()[i]);
  }
  Row("faults", texts);
  Row("connections", std::to_string(connections));
}

// A folder of its own, which is removed unless something has failed.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "ergon-chaos-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      throw std::system_error(errno, std::system_category(), path);
    path_ = path;
  }
  ~Folder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void Keep() { keep_ = true; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  bool keep_ = false;
};

int RunChaos(const Options& options) {
  Folder folder;
  if (options.keep) folder.Keep();
  fmt::print("seed {}, {} s\n", options.seed, options.seconds);
  std::fflush(stdout);
  Cluster cluster({.program = "/proc/self/exe",
                   .folder = folder.path(),
                   .escript = options.escript,
                   .tls = options.tls,
                   .tick = std::chrono::seconds(kit::kSanitized ? 2 : 1),
                   .seed = options.seed});
  Faults faults(cluster, options.seed);
  cluster.Start();
  std::optional<Fourth> fourth;
  if (options.attackers) fourth.emplace(cluster);
  faults.Run(std::chrono::seconds(options.seconds));
  faults.Undo();
  if (fourth) fourth->Stop();
  cluster.AwaitAll("ready");
  cluster.TellAll("heal");
  cluster.AwaitAll("healed");
  cluster.TellAll("finish");
  cluster.AwaitAll("idle");
  // Those who watch still wait for their signals.
  for (const Pair& pair : cluster.Pairs()) {
    cluster.Change(pair, [](Weather& weather) { weather.refuses = true; });
    cluster.CutAll(pair, Cut::kClosed);
  }
  cluster.AwaitAll("finished");
  if (cluster.problems().empty()) {
    cluster.TellAll("end");
    cluster.AwaitEnd();
  }
  std::vector<std::string> broken = cluster.problems();
  if (broken.empty()) {
    const Judgement judgement = Judge(cluster.Ledgers());
    broken = judgement.broken;
    PrintTable(judgement.tally, faults, cluster.Connections());
    if (fourth) Row("attackers", fourth->ToString());
  }
  for (const std::string& law : broken) fmt::print("BROKEN: {}\n", law);
  if (broken.empty()) {
    fmt::print("all laws hold\n");
    return 0;
  }
  folder.Keep();
  fmt::print("laws are broken; ledgers and logs are in {}; again: --seed {}\n", folder.path(),
             options.seed);
  return 1;
}

int RunMain(int count, char** words) {
  if (count > 1 && std::string_view(words[1]) == "node") return RunNode(count - 2, words + 2);
  Options options;
  options.seed = std::random_device()();
  CLI::App app("Three nodes under load and faults, and the laws that hold at the end.",
               "ergon-chaos");
  app.add_option("--seconds", options.seconds, "How long things go wrong; default: 10")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", options.seed,
                 "Where all faults come from; default: another one each time");
  app.add_option("--erlang", options.escript,
                 "erlang_node.escript: the third node is one of Erlang; default: of Ergon");
  app.add_option(
         "--tls", options.tls,
         "A folder with node.pem, node.key, ca.pem and ssl_dist.conf: the nodes speak over TLS")
      ->check(CLI::ExistingDirectory);
  app.add_flag("!--no-attackers", options.attackers,
               "Without the peers that attack the nodes of Ergon all the time");
  app.add_flag("--keep", options.keep, "Keeps ledgers and logs, also if all laws hold");
  CLI11_PARSE(app, count, words);
  return RunChaos(options);
}

}  // namespace
}  // namespace ergon::chaos

int main(int count, char** words) {
  try {
    return ergon::chaos::RunMain(count, words);
  } catch (const std::exception& error) {
    std::cerr << "ergon-chaos: " << error.what() << '\n';
    return 2;
  }
}
