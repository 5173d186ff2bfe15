#include <cluster/chaos/cluster.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <sstream>
#include <utility>

#include <fmt/core.h>
#include <asio/post.hpp>

#include <cluster/chaos/stage.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr std::chrono::milliseconds kStep = 2ms;
constexpr std::chrono::milliseconds kForDumps = 1s;
// A virtual machine on a busy computer may take longer to start than a condition may take within a program.
constexpr auto kPatience = 3 * kit::kDeadline;

// Without the last line, if that was not completed.
std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(text, line)) {
    if (text.eof()) break;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

Cluster::Cluster(const ClusterPlan& plan)
    : plan_(plan),
      names_({"a", "b", plan.escript.empty() ? "c" : "e"}),
      work_(asio::make_work_guard(context_)) {
  std::signal(SIGPIPE, SIG_IGN);
  proxy_.emplace(context_, names_,
                 [this](const std::string& node) { return mapper_->PortOf(node); });
  mapper_.emplace(context_, names_, [this](const std::string& dialler, const std::string& dialled) {
    return proxy_->PortFor(dialler, dialled);
  });
  thread_ = std::thread([this] { context_.run(); });
}

Cluster::~Cluster() {
  incarnations_.clear();
  context_.stop();
  thread_.join();
}

std::vector<Pair> Cluster::Pairs() const {
  return {{names_[0], names_[1]}, {names_[0], names_[2]}, {names_[1], names_[2]}};
}

void Cluster::OnNetwork(const std::function<void()>& function) {
  std::promise<void> done;
  asio::post(context_, [&] {
    function();
    done.set_value();
  });
  done.get_future().get();
}

// ---- the nodes

Cluster::Incarnation& Cluster::Current(const std::string& node) {
  return const_cast<Incarnation&>(std::as_const(*this).Current(node));
}

const Cluster::Incarnation& Cluster::Current(const std::string& node) const {
  return *std::find_if(incarnations_.rbegin(), incarnations_.rend(),
                       [&](const Incarnation& incarnation) { return incarnation.node == node; });
}

void Cluster::Launch(const std::string& node) {
  Incarnation next;
  next.node = node;
  next.number = 1;
  for (const Incarnation& former : incarnations_) next.number += former.node == node ? 1 : 0;
  const std::string path = plan_.folder + "/" + next.Name();
  const std::string port = std::to_string(mapper_->PortFor(node));
  std::vector<std::string> words = {plan_.program, "node"};
  if (IsErlang(node)) words = {"escript", plan_.escript};
  for (const std::string& word :
       {node, std::to_string(next.number), path + ".ledger", port,
        std::to_string(plan_.tick.count()),
        std::to_string(plan_.seed % 1'000'000 + static_cast<std::uint64_t>(next.number))}) {
    words.push_back(word);
  }
  words.push_back(IsErlang(node) ? std::to_string(kSlowness) : plan_.tls);
  for (const std::string& peer : names_) {
    if (peer != node) words.push_back(peer);
  }
  std::string flags = "-start_epmd false";
  if (!plan_.tls.empty()) {
    flags += fmt::format(" -proto_dist inet_tls -ssl_dist_optfile {}/ssl_dist.conf", plan_.tls);
  }
  next.child = std::make_unique<Child>(
      words,
      std::vector<std::string>{"ERL_EPMD_PORT=" + port, "ERL_FLAGS=" + flags,
                               "ERL_CRASH_DUMP=" + path + ".dump"},
      path + ".log");
  incarnations_.push_back(std::move(next));
}

void Cluster::Start() {
  for (const std::string& node : names_) Launch(node);
  Await("the nodes to be ready", [&] {
    return std::all_of(incarnations_.begin(), incarnations_.end(), [](Incarnation& incarnation) {
      return incarnation.child->HasSaid("ready");
    });
  });
}

void Cluster::Step() {
  const bool all_ready = std::all_of(names_.begin(), names_.end(), [&](const std::string& node) {
    Incarnation& incarnation = Current(node);
    return incarnation.number > 1 || incarnation.child->HasSaid("ready");
  });
  for (Incarnation& incarnation : incarnations_) {
    if (incarnation.killed || incarnation.ended) continue;
    if (all_ready && !incarnation.begun && incarnation.child->HasSaid("ready")) {
      incarnation.begun = true;
      incarnation.child->Tell("begin");
    }
    const int status = incarnation.child->Status();
    if (status == -1) continue;
    incarnation.ended = true;
    if (!may_end_ || status != 0) {
      problems_.push_back(fmt::format(
          "{} has ended by itself: status {}, signal {}, see {}/{}.log", incarnation.Name(),
          WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          plan_.folder, incarnation.Name()));
    }
  }
}

bool Cluster::Await(const std::string& what, const std::function<bool()>& condition) {
  if (!problems_.empty()) return false;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Step();
    if (!problems_.empty()) return false;
    if (condition()) return true;
    if (std::chrono::steady_clock::now() > end) break;
    std::this_thread::sleep_for(kStep);
  }
  problems_.push_back(
      fmt::format("it hangs, waiting for {}: see the dumps in {}", what, plan_.folder));
  DumpAll();
  return false;
}

// What the nodes do while nothing happens. Erlang writes a crash dump at SIGUSR1, and ends.
void Cluster::DumpAll() {
  for (const std::string& node : names_)
    Current(node).child->Signal(IsErlang(node) ? SIGUSR1 : SIGQUIT);
  std::this_thread::sleep_for(kForDumps);
}

void Cluster::TellAll(const std::string& command) {
  if (command == "end") may_end_ = true;
  for (const std::string& node : names_) Current(node).child->Tell(command);
}

void Cluster::AwaitAll(const std::string& word) {
  Await("all nodes to say: " + word, [&] {
    return std::all_of(names_.begin(), names_.end(), [&](const std::string& node) {
      Incarnation& incarnation = Current(node);
      return incarnation.begun && incarnation.child->HasSaid(word);
    });
  });
}

void Cluster::AwaitEnd() {
  Await("all nodes to end", [&] {
    return std::all_of(names_.begin(), names_.end(),
                       [&](const std::string& node) { return Current(node).ended; });
  });
}

std::vector<NodeLedger> Cluster::Ledgers() const {
  std::vector<NodeLedger> ledgers;
  for (const Incarnation& incarnation : incarnations_) {
    ledgers.push_back({.node = incarnation.node,
                       .erlang = IsErlang(incarnation.node),
                       .killed = incarnation.killed,
                       .lines = LinesOf(plan_.folder + "/" + incarnation.Name() + ".ledger")});
  }
  return ledgers;
}

// ---- faults

bool Cluster::IsRunning(const std::string& node) const {
  const Incarnation& current = Current(node);
  return current.begun && !current.killed && !current.stopped && !current.ended;
}

void Cluster::Kill(const std::string& node) {
  Incarnation& current = Current(node);
  current.killed = true;
  current.child->Kill();
}

void Cluster::Restart(const std::string& node) { Launch(node); }

void Cluster::Stop(const std::string& node) {
  Current(node).stopped = true;
  Current(node).child->Signal(SIGSTOP);
}

void Cluster::Continue(const std::string& node) {
  Current(node).stopped = false;
  Current(node).child->Signal(SIGCONT);
}

void Cluster::Disconnect(const std::string& node, const std::string& other) {
  Current(node).child->Tell("disconnect " + other);
}

int Cluster::CutAll(const Pair& pair, Cut cut) {
  int count = 0;
  OnNetwork([&] { count = proxy_->CutAll(pair, cut); });
  return count;
}

void Cluster::Change(const Pair& pair, const std::function<void(Weather&)>& change) {
  OnNetwork([&] { change(proxy_->WeatherOf(pair)); });
}

std::uint16_t Cluster::PortOf(const std::string& node) {
  std::uint16_t port = 0;
  OnNetwork([&] { port = mapper_->PortOf(node); });
  return port;
}

int Cluster::Connections() {
  int count = 0;
  OnNetwork([&] { count = proxy_->connections(); });
  return count;
}

}  // namespace ergon::chaos
