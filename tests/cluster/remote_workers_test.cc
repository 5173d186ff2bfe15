// Pools with workers on other nodes: what they promise, whatever ends meanwhile.
#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/node/cluster/signals/spawn_signals.h>
#include <ergon/node/remote_workers.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

// Of no other node's types.
struct Local {
  static constexpr const char* kTag = "local";
};

// What the workers of one node have done.
class Work {
 public:
  struct Note {
    gen::PID worker;
    gen::PID sender;
    int number = 0;
  };
  void Add(const Note& note) {
    std::lock_guard lock(mutex_);
    notes_.push_back(note);
  }
  [[nodiscard]] std::vector<Note> Notes() const {
    std::lock_guard lock(mutex_);
    return notes_;
  }
  [[nodiscard]] std::size_t size() const { return Notes().size(); }
  [[nodiscard]] std::size_t Workers() const {
    std::set<gen::PID> workers;
    for (const Note& note : Notes()) workers.insert(note.worker);
    return workers.size();
  }
  // Where handlers of messages wait; nobody: they do not.
  void SetGate(const kit::Gate& gate) {
    std::lock_guard lock(mutex_);
    gate_ = gate.pid();
  }
  [[nodiscard]] gen::PID gate() const {
    std::lock_guard lock(mutex_);
    return gate_;
  }
  std::atomic<bool> init_fails{false};

 private:
  mutable std::mutex mutex_;
  std::vector<Note> notes_;
  gen::PID gate_;
};
using WorkPtr = std::shared_ptr<Work>;

constexpr int kEnds = -1;          // ends with reason normal
constexpr int kFails = -2;         // ends with an error
constexpr int kNeverAnswers = -3;  // of a request
constexpr int kRefuses = -4;       // answers a request as one who has ended would
constexpr int kEndsAsker = -5;     // asks who has made the request to end

class FarWorker : public act::Actor {
 public:
  explicit FarWorker(WorkPtr work) : work_(std::move(work)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    if (work_->init_fails) return gen::Stop(gen::Reason::Error("no such camera"));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* line = message.As<Line>();
    if (line == nullptr) return Actor::HandleMessage(from, message);
    const int number = line->number;
    if (const gen::PID gate = work_->gate()) {
      (void)Call<bool>(gate, kit::EnterGate{}, {.timeout = gen::kInfinite});
    }
    if (number == kEnds) return gen::Stop(gen::Reason::Normal());
    if (number == kFails) return gen::Stop(gen::Reason::Error("told_so"));
    work_->Add({Self(), from, number});
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* sum = request.As<Sum>();
    if (sum == nullptr) return Actor::HandleCall(from, ref, request);
    if (sum->numbers == std::vector{kFails}) return gen::Stop(gen::Reason::Error("told_so"));
    if (sum->numbers == std::vector{kEndsAsker}) {
      CHECK(SendExit(from, gen::Reason::Normal()));
      return gen::NoReply();
    }
    work_->Add({Self(), from, sum->numbers.empty() ? 0 : sum->numbers.front()});
    if (sum->numbers == std::vector{kNeverAnswers}) return gen::NoReply();
    if (sum->numbers == std::vector{kRefuses}) return gen::ReplyError(gen::ErrProcessUnknown);
    return gen::Reply(std::accumulate(sum->numbers.begin(), sum->numbers.end(), std::int64_t{0}));
  }
  const WorkPtr work_;
};

struct Grow {
  int count = 0;  // less than 0: shrinks
};

class FarPool : public act::Pool {
 public:
  explicit FarPool(act::PoolOptions options) : options_(std::move(options)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override { return options_; }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* grow = request.As<Grow>();
    if (grow == nullptr) return Pool::HandleCall(from, ref, request);
    auto size = grow->count < 0 ? RemoveWorkers(-grow->count) : AddWorkers(grow->count);
    return size ? gen::Reply(*size) : gen::ReplyError(size.error());
  }
  const act::PoolOptions options_;
};

// A node where workers may live.
struct FarNode {
  FarNode(std::string name, gen::ProcessOptions options = {}) : name_(std::move(name)) {
    network_.behaviors.Register("far", "start", gen::Factory<FarWorker>(work), std::move(options));
    network_.behaviors.Register(
        "far", "pool",
        gen::Factory<FarPool>(act::PoolOptions{.pool_size = 2,
                                               .worker_factory = gen::Factory<FarWorker>(work),
                                               .worker_mailbox_size = 1}));
    Start();
  }
  ~FarNode() { Stop(); }
  void Start() {
    gen::Result<node::Node> started = gen::ErrTaken;
    // EPMD may not know yet that the one before has ended.
    REQUIRE(kit::Eventually([&] {
      started = TryStart(name_, log, network_);
      return started || started.error() != gen::ErrTaken;
    }));
    node.emplace(std::move(started).value());
  }
  void Stop() {
    if (!node) return;
    node->Stop();
    kit::CheckBalance(*node);
    node.reset();
  }
  [[nodiscard]] gen::Atom Name() const { return name_; }
  [[nodiscard]] std::size_t Processes() const { return node->ProcessList().size(); }

  const WorkPtr work = std::make_shared<Work>();
  kit::LogCapture log;
  std::optional<node::Node> node;

 private:
  const std::string name_;
  ErlangOptions network_ = ClusterOptions();
};

// A pool's node, and two for its workers.
struct FarCluster {
  // `options`: of the workers; `network`: of the pool's node.
  explicit FarCluster(const std::string& names, const gen::ProcessOptions& options = {},
                      const ErlangOptions& network = ClusterOptions())
      : b(names + "b@127.0.0.1", options),
        c(names + "c@127.0.0.1", options),
        a(TryStart(names + "a@127.0.0.1", log, network).value()) {}
  ~FarCluster() {
    a.Stop();
    kit::CheckBalance(a);
  }
  [[nodiscard]] RemoteWorkersOptions Workers() const {
    return {.nodes = {b.Name(), c.Name()}, .module = "far", .function = "start"};
  }
  [[nodiscard]] gen::PID Start(act::PoolOptions options) {
    if (!options.worker_factory) options.worker_factory = RemoteWorkers(Workers());
    return a.Spawn(gen::Factory<FarPool>(std::move(options))).value();
  }
  // Why a pool does not start.
  [[nodiscard]] std::string StartError(const RemoteWorkersOptions& workers, int size = 2) {
    const auto pool = a.Spawn(gen::Factory<FarPool>(
        act::PoolOptions{.pool_size = size, .worker_factory = RemoteWorkers(workers)}));
    return pool ? "" : pool.error().ToString();
  }
  [[nodiscard]] std::size_t Handled() const { return b.work->size() + c.work->size(); }
  [[nodiscard]] std::size_t Processes() const { return b.Processes() + c.Processes(); }

  FarNode b;
  FarNode c;
  kit::LogCapture log;
  node::Node a;
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Until the pool's workers are all there.
bool IsComplete(node::Node& node, gen::PID pool, std::size_t size) {
  return kit::Eventually([&] {
    const auto stats = act::Stats(node, pool);
    return stats && stats->ready == size;
  });
}

}  // namespace

TEST_CASE("remote workers: messages and requests reach workers that are spread over two nodes") {
  FarCluster cluster("far_spread");
  const gen::PID pool = cluster.Start({.pool_size = 4});
  CHECK(cluster.b.Processes() == 2);
  CHECK(cluster.c.Processes() == 2);
  for (int i = 0; i < 40; ++i) CHECK(cluster.a.Send(pool, Line{i, "text"}));
  CHECK(kit::Eventually([&] { return cluster.Handled() == 40; }));
  CHECK(cluster.b.work->size() == 20);
  CHECK(cluster.b.work->Workers() == 2);
  CHECK(cluster.c.work->Workers() == 2);
  for (int i = 0; i < 20; ++i) CHECK(cluster.a.Call(pool, Sum{{i, 2}}).value() == i + 2);
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.Call(pool, Sum{{1, 2, 39}}).value() == 42);
    CHECK(self.Send(pool, Line{77, "text"}));
    // Workers see who has sent a message.
    CHECK(kit::Eventually([&] {
      for (const WorkPtr& work : {cluster.b.work, cluster.c.work}) {
        for (const auto& note : work->Notes()) {
          if (note.number == 77 && note.sender == self.Self()) return true;
        }
      }
      return false;
    }));
  });
  CHECK(act::Stats(cluster.a, pool)->worker_behavior == "ergon::dist::RemoteWorker");
  CHECK(kit::Eventually([&] { return act::Stats(cluster.a, pool)->forwarded == 62; }));
  CHECK(kit::Eventually([&] { return act::Stats(cluster.a, pool)->handled == 62; }));
}

TEST_CASE("remote workers: what one sender sends to one worker is handled in order") {
  FarCluster cluster("far_order");
  const gen::PID pool = cluster.Start({.pool_size = 1});
  for (int i = 0; i < 1000; ++i) {
    if (i % 10 == 9) {
      CHECK(cluster.a.Call(pool, Sum{{i}}).value() == i);
    } else {
      CHECK(cluster.a.Send(pool, Line{i, "text"}));
    }
  }
  REQUIRE(kit::Eventually([&] { return cluster.Handled() == 1000; }));
  const auto notes = cluster.b.work->Notes();
  REQUIRE(notes.size() == 1000);
  for (std::size_t i = 0; i < notes.size(); ++i) REQUIRE(notes[i].number == static_cast<int>(i));
}

TEST_CASE("remote workers: one that ends is replaced, and its caller is told at once") {
  FarCluster cluster("far_crash");
  const gen::PID pool = cluster.Start({.pool_size = 2});
  constexpr std::uint64_t kFailures = 20;
  // A caller may be told before the pool is.
  const auto has_replaced = [&](std::uint64_t workers) {
    return kit::Eventually([&] { return act::Stats(cluster.a, pool)->worker_restarts == workers; });
  };
  for (std::uint64_t i = 0; i < kFailures; ++i) {
    const auto failed = cluster.a.Call(pool, Sum{{kFails}});
    CHECK(failed.error() == gen::ErrProcessTerminated);
    CHECK(Contains(failed.error().ToString(), "told_so"));
    CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
  }
  CHECK(has_replaced(kFailures));
  CHECK(cluster.a.Send(pool, Line{kEnds, ""}));
  CHECK(has_replaced(kFailures + 1));
  CHECK(cluster.a.Send(pool, Line{kFails, ""}));
  CHECK(has_replaced(kFailures + 2));
  CHECK(IsComplete(cluster.a, pool, 2));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
  CHECK(cluster.Processes() == 2);
}

TEST_CASE("remote workers: one that asks its caller to end is ended with it, and replaced") {
  FarCluster cluster("far_asks");
  const gen::PID pool = cluster.Start({.pool_size = 1});
  CHECK(cluster.a.Call(pool, Sum{{kEndsAsker}}).error() == gen::ErrProcessTerminated);
  CHECK(IsComplete(cluster.a, pool, 1));
  CHECK(kit::Eventually([&] { return cluster.Processes() == 1; }));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
}

TEST_CASE("remote workers: an error that a worker answers with is passed on, whatever it says") {
  FarCluster cluster("far_error");
  kit::Gate gate(*cluster.b.node);
  cluster.b.work->SetGate(gate);
  const gen::PID pool = cluster.Start({.pool_size = 1});
  for (int i = 0; i < 20; ++i) {
    CHECK(cluster.a.Call(pool, Sum{{kRefuses}}).error() == gen::ErrProcessUnknown);
  }
  // Also when it is busy with something else by then.
  auto refused = cluster.a.CallAsync<std::int64_t>(pool, Sum{{kRefuses}});
  CHECK(cluster.a.Send(pool, Line{1, "text"}));
  CHECK(refused.get().error() == gen::ErrProcessUnknown);
  gate.Open();
  CHECK(kit::Eventually([&] { return cluster.Handled() == 22; }));
  CHECK(act::Stats(cluster.a, pool)->worker_restarts == 0);
}

TEST_CASE("remote workers: requests that a worker has when it ends are all answered") {
  FarCluster cluster("far_open");
  const gen::PID pool = cluster.Start({.pool_size = 1});
  std::vector<std::future<gen::Result<std::int64_t>>> open;
  for (int i = 0; i < 10; ++i) {
    open.push_back(
        cluster.a.CallAsync<std::int64_t>(pool, Sum{{kNeverAnswers}}, {.timeout = gen::kInfinite}));
  }
  REQUIRE(kit::Eventually([&] { return cluster.Handled() == 10; }));
  CHECK(cluster.a.Send(pool, Line{kFails, ""}));
  for (auto& call : open) {
    const auto answer = call.get();
    CHECK(answer.error() == gen::ErrProcessTerminated);
    CHECK(Contains(answer.error().ToString(), "told_so"));
  }
  // The same with a worker that is killed here, and with a connection that is lost.
  for (const bool is_cut : {false, true}) {
    REQUIRE(IsComplete(cluster.a, pool, 1));
    const std::size_t before = cluster.Handled();
    auto call =
        cluster.a.CallAsync<std::int64_t>(pool, Sum{{kNeverAnswers}}, {.timeout = gen::kInfinite});
    REQUIRE(kit::Eventually([&] { return cluster.Handled() == before + 1; }));
    if (is_cut) {
      CHECK(Disconnect(cluster.a, cluster.b.Name()));
    } else {
      CHECK(cluster.a.Kill(act::Stats(cluster.a, pool)->workers.front().pid));
    }
    CHECK(call.get().error() == (is_cut ? gen::ErrNoConnection : gen::ErrProcessTerminated));
  }
  CHECK(IsComplete(cluster.a, pool, 1));
  CHECK(kit::Eventually([&] { return cluster.Processes() == 1; }));
}

TEST_CASE("remote workers: what a worker has answered before it ends comes before its end") {
  FarCluster cluster("far_last");
  const gen::PID pool = cluster.Start({.pool_size = 1});
  for (int round = 0; round < 10; ++round) {
    REQUIRE(IsComplete(cluster.a, pool, 1));
    std::vector<std::future<gen::Result<std::int64_t>>> open;
    for (int i = 0; i < 50; ++i) {
      open.push_back(
          cluster.a.CallAsync<std::int64_t>(pool, Sum{{i, 1}}, {.timeout = gen::kInfinite}));
    }
    REQUIRE(cluster.a.Send(pool, Line{round % 2 == 0 ? kFails : kEnds, ""}));
    for (int i = 0; i < 50; ++i) CHECK(open[static_cast<std::size_t>(i)].get() == i + 1);
    CHECK(kit::Eventually([&] {
      return act::Stats(cluster.a, pool)->worker_restarts == static_cast<std::uint64_t>(round + 1);
    }));
  }
}

TEST_CASE("remote workers: a node that stops takes its workers with it, others take their places") {
  FarCluster cluster("far_stop");
  const gen::PID pool = cluster.Start({.pool_size = 4});
  auto open =
      cluster.a.CallAsync<std::int64_t>(pool, Sum{{kNeverAnswers}}, {.timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return cluster.b.work->size() == 1; }));
  cluster.b.Stop();
  CHECK(!open.get());
  CHECK(kit::Eventually([&] { return cluster.c.Processes() == 4; }));
  REQUIRE(IsComplete(cluster.a, pool, 4));
  for (int i = 0; i < 20; ++i) CHECK(cluster.a.Call(pool, Sum{{i, 1}}).value() == i + 1);
  // The next one is started there.
  cluster.b.Start();
  REQUIRE(kit::Eventually([&] {
    CHECK(cluster.a.Call<std::int64_t>(pool, Grow{1}, {.priority = gen::MessagePriority::kHigh}));
    CHECK(cluster.a.Call<std::int64_t>(pool, Grow{-1}, {.priority = gen::MessagePriority::kHigh}));
    return cluster.b.Processes() > 0;
  }));
}

TEST_CASE(
    "remote workers: without a node senders are refused when all is full, until one is back") {
  FarCluster cluster("far_none");
  const gen::PID pool =
      cluster.Start({.pool_size = 2, .worker_mailbox_size = 1, .restart_backoff_max = 20ms});
  cluster.b.Stop();
  cluster.c.Stop();
  REQUIRE(kit::Eventually([&] { return act::Stats(cluster.a, pool)->ready == 0; }));
  int accepted = 0;
  REQUIRE(kit::Eventually([&] {
    const auto sent = cluster.a.Send(pool, Line{accepted, "waits"});
    if (sent) ++accepted;
    return !sent && sent.error() == gen::ErrProcessMailboxFull;
  }));
  CHECK(cluster.a.Call(pool, Sum{{1}}).error() == gen::ErrProcessMailboxFull);
  cluster.b.Start();
  REQUIRE(IsComplete(cluster.a, pool, 2));
  CHECK(kit::Eventually([&] {
    return cluster.b.work->size() + act::Stats(cluster.a, pool)->Lost() ==
           static_cast<std::size_t>(accepted);
  }));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
}

TEST_CASE("remote workers: a pool whose nodes cannot be reached does not start, and says why") {
  FarCluster cluster("far_away");
  cluster.b.Stop();
  cluster.c.Stop();
  const std::string error = cluster.StartError(cluster.Workers());
  CHECK(Contains(error, "worker 1 of 2: remote workers: far:start on far_awayb@127.0.0.1: "));
  CHECK(Contains(error, "; far:start on far_awayc@127.0.0.1: "));
}

TEST_CASE("remote workers: a node that does not run Ergon is told, and its process is killed") {
  NodeForPeers host("far_host");
  ErlangPeer peer(host.node, "far_erlang@127.0.0.1", host.port());
  auto start = std::async(std::launch::async, [&] {
    return host.node.Spawn(gen::Factory<FarPool>(act::PoolOptions{
        .pool_size = 1,
        .worker_factory = RemoteWorkers(
            {.nodes = {"far_erlang@127.0.0.1"}, .module = "far", .function = "start"})}));
  });
  const Signal request = peer.Await(SignalKind::kSpawnRequest);
  peer.Add(SpawnReplyTo(request.from, peer.Pid(5), request.ref, request.links)).Flush();
  const auto pool = start.get();
  REQUIRE_FALSE(pool);
  const std::string error = pool.error().ToString();
  CHECK(Contains(error, "far:start on far_erlang@127.0.0.1: "));
  CHECK(
      Contains(error, "works between Ergon nodes only, and far_erlang@127.0.0.1 is no Ergon node"));
  const Signal end = peer.Await(SignalKind::kExitRequest);
  CHECK(end.to == peer.Pid(5));
}

TEST_CASE("remote workers: messages wait for slow workers, then senders are refused, or wait") {
  gen::ProcessOptions options;
  options.mailbox_size = 3;
  FarCluster cluster("far_slow", options);
  kit::Gate gate(*cluster.b.node);
  cluster.b.work->SetGate(gate);
  RemoteWorkersOptions workers = cluster.Workers();
  workers.nodes = {cluster.b.Name()};
  const gen::PID pool = cluster.Start(
      {.pool_size = 2, .worker_factory = RemoteWorkers(workers), .worker_mailbox_size = 2});
  int accepted = 0;
  // Each handles one; three wait there, two wait here.
  REQUIRE(kit::Eventually([&] {
    const auto sent = cluster.a.Send(pool, Line{accepted, "text"});
    if (sent) ++accepted;
    return accepted == 12;
  }));
  CHECK(cluster.a.Send(pool, Line{kFails, "refused"}).error() == gen::ErrProcessMailboxFull);
  std::thread waits([&] { CHECK(cluster.a.SendOrWait(pool, Line{12, "waits"}, kit::kDeadline)); });
  gate.Open();
  waits.join();
  CHECK(kit::Eventually([&] { return cluster.Handled() == 13; }));
  // No message has come twice, and of each worker they have come in order.
  std::map<gen::PID, int> last;
  std::set<int> numbers;
  for (const auto& note : cluster.b.work->Notes()) {
    CHECK(numbers.insert(note.number).second);
    CHECK(last.try_emplace(note.worker, -1).first->second < note.number);
    last[note.worker] = note.number;
  }
}

TEST_CASE("remote workers: without a bound there, so many are given as may be in flight") {
  FarCluster cluster("far_flight");
  kit::Gate gate(*cluster.b.node);
  cluster.b.work->SetGate(gate);
  RemoteWorkersOptions workers = cluster.Workers();
  workers.nodes = {cluster.b.Name()};
  workers.max_in_flight = 5;
  const gen::PID pool = cluster.Start(
      {.pool_size = 1, .worker_factory = RemoteWorkers(workers), .worker_mailbox_size = 2});
  int accepted = 0;
  // One is handled; five wait there, two here.
  REQUIRE(kit::Eventually([&] {
    if (cluster.a.Send(pool, Line{accepted, "text"})) ++accepted;
    return accepted == 8;
  }));
  CHECK(cluster.a.Send(pool, Line{8, "refused"}).error() == gen::ErrProcessMailboxFull);
  CHECK(cluster.a.Call(pool, Sum{{8}}).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  CHECK(kit::Eventually([&] { return cluster.Handled() == 8; }));
  CHECK(cluster.a.Call(pool, Sum{{8}}).value() == 8);
  for (int i = 0; i < 100; ++i) {
    CHECK(cluster.a.SendOrWait(pool, Line{8 + i, "text"}, kit::kDeadline));
  }
  REQUIRE(kit::Eventually([&] { return cluster.Handled() == 109; }));
  CHECK(cluster.b.node->MessageBalance().Dropped() == 0);
}

TEST_CASE("remote workers: they may be pools, which confirm each message") {
  FarCluster cluster("far_pools");
  kit::Gate gate(*cluster.b.node);
  cluster.b.work->SetGate(gate);
  RemoteWorkersOptions workers = cluster.Workers();
  workers.nodes = {cluster.b.Name()};
  workers.function = "pool";
  const gen::PID pool = cluster.Start(
      {.pool_size = 1, .worker_factory = RemoteWorkers(workers), .worker_mailbox_size = 2});
  int accepted = 0;
  // Two are handled; one waits at each of the workers there, one is tried again, two wait here.
  REQUIRE(kit::Eventually([&] {
    if (cluster.a.Send(pool, Line{accepted, "text"})) ++accepted;
    return accepted == 7;
  }));
  CHECK(cluster.a.Send(pool, Line{7, "refused"}).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  CHECK(kit::Eventually([&] { return cluster.Handled() == 7; }));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
  CHECK(cluster.b.node->MessageBalance().Dropped() == 0);
}

TEST_CASE("remote workers: so many requests may be open at one, the next ones wait here") {
  FarCluster cluster("far_many");
  RemoteWorkersOptions workers = cluster.Workers();
  workers.max_in_flight = 3;
  const gen::PID pool = cluster.Start(
      {.pool_size = 2, .worker_factory = RemoteWorkers(workers), .worker_mailbox_size = 2});
  std::vector<std::future<gen::Result<std::int64_t>>> open;
  for (int i = 0; i < 10; ++i) {
    open.push_back(
        cluster.a.CallAsync<std::int64_t>(pool, Sum{{kNeverAnswers}}, {.timeout = 100s}));
    REQUIRE(kit::Eventually(
        [&] { return cluster.Handled() == std::min<std::size_t>(open.size(), 6); }));
  }
  CHECK(cluster.a.Call(pool, Sum{{1}}).error() == gen::ErrProcessMailboxFull);
  CHECK(cluster.Handled() == 6);
  CHECK(cluster.a.Kill(pool));
  for (auto& call : open) CHECK(call.get().error() == gen::ErrProcessTerminated);
}

TEST_CASE("remote workers: requests that nobody waits for any more leave their places to others") {
  FarCluster cluster("far_gone");
  RemoteWorkersOptions workers = cluster.Workers();
  workers.max_in_flight = 2;
  const gen::PID pool = cluster.Start({.pool_size = 1, .worker_factory = RemoteWorkers(workers)});
  std::vector<gen::PID> callers;
  for (std::size_t i = 1; i <= 2; ++i) {
    const auto caller = cluster.a.Spawn([pool](gen::Process& self) {
      (void)self.Call(pool, Sum{{kNeverAnswers}}, {.timeout = gen::kInfinite});
    });
    callers.push_back(caller.value());
    REQUIRE(kit::Eventually([&] { return cluster.Handled() == i; }));
  }
  for (const gen::PID caller : callers) CHECK(cluster.a.Kill(caller));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}, {.timeout = kit::kDeadline}).value() == 3);
}

TEST_CASE("remote workers: a name that no node knows, and an Init that fails, are told") {
  FarCluster cluster("far_names");
  RemoteWorkersOptions unknown = cluster.Workers();
  unknown.function = "nobody";
  const std::string error = cluster.StartError(unknown);
  CHECK(Contains(error, "remote workers: far:nobody on far_namesb@127.0.0.1: "));
  CHECK(Contains(error, "notsup; far:nobody on far_namesc@127.0.0.1: "));
  // One that only one node knows goes there.
  cluster.b.work->init_fails = true;
  const std::string failed = cluster.StartError(cluster.Workers());
  CHECK(Contains(failed, "far:start on far_namesb@127.0.0.1: "));
  CHECK(Contains(failed, "no such camera"));
  CHECK(cluster.Processes() == 0);
}

TEST_CASE("remote workers: wrong options are refused with their names and values") {
  FarCluster cluster("far_options");
  const auto error = [&](auto change) {
    RemoteWorkersOptions workers = cluster.Workers();
    change(workers);
    return cluster.StartError(workers);
  };
  CHECK(Contains(error([](auto& workers) { workers.nodes.clear(); }),
                 "remote workers: nodes: there is none"));
  CHECK(Contains(error([](auto& workers) { workers.nodes.push_back("cpp"); }),
                 "nodes: node name: 'cpp' is not of the form name@host"));
  CHECK(Contains(error([](auto& workers) { workers.nodes.push_back("cpp@short"); }),
                 "nodes: 'cpp@short' has a short name"));
  CHECK(Contains(error([&](auto& workers) { workers.nodes.push_back(cluster.a.Name()); }),
                 "nodes: both nodes have the name 'far_optionsa@127.0.0.1'"));
  CHECK(Contains(error([](auto& workers) { workers.nodes.push_back(workers.nodes[0]); }),
                 "nodes: far_optionsb@127.0.0.1 is there twice"));
  CHECK(
      Contains(error([](auto& workers) { workers.module.clear(); }), "module: must not be empty"));
  CHECK(Contains(error([](auto& workers) { workers.function.clear(); }),
                 "function: must not be empty"));
  CHECK(Contains(error([](auto& workers) { workers.function.assign(256, 'x'); }),
                 "has 256 bytes, at most 255 are possible"));
  CHECK(Contains(error([](auto& workers) { workers.max_in_flight = 0; }),
                 "max_in_flight: 0 is outside 1..1000000"));
  CHECK(Contains(error([](auto& workers) { workers.spawn_timeout = 0ns; }),
                 "spawn_timeout: 0, must be more than 0"));
  CHECK(Contains(cluster.StartError(cluster.Workers(), 0), "pool_size: 0 is outside 1..10000"));
}

TEST_CASE("remote workers: a pool that ends has them handle what they have, then they end") {
  for (const bool is_way_full : {false, true}) {
    CAPTURE(is_way_full);
    ErlangOptions network = ClusterOptions();
    if (is_way_full) network.send_queue_bytes = 4096;
    FarCluster cluster(is_way_full ? "far_full_end" : "far_end", {}, network);
    kit::Gate gate(*cluster.b.node);
    cluster.b.work->SetGate(gate);
    RemoteWorkersOptions workers = cluster.Workers();
    workers.nodes = {cluster.b.Name()};
    const gen::PID pool = cluster.Start(
        {.pool_size = 2, .worker_factory = RemoteWorkers(workers), .shutdown_timeout = 60s});
    const std::string text(is_way_full ? 3000 : 10, 'x');
    for (int i = 0; i < 20; ++i) CHECK(cluster.a.Send(pool, Line{i, text}));
    std::thread stops([&] { CHECK(cluster.a.StopProcess(pool)); });
    REQUIRE(kit::Eventually([&] { return act::Stats(cluster.a, pool)->stopping; }));
    gate.Open();
    stops.join();
    CHECK(cluster.b.work->size() == 20);
    CHECK(kit::Eventually([&] { return cluster.b.Processes() == 1; }));  // the gate's
  }
}

TEST_CASE("remote workers: those that are taken out handle what they have") {
  FarCluster cluster("far_shrink");
  const gen::PID pool = cluster.Start({.pool_size = 4});
  for (int i = 0; i < 400; ++i) CHECK(cluster.a.Send(pool, Line{i, "text"}));
  CHECK(cluster.a.Call<std::int64_t>(pool, Grow{-3}, {.priority = gen::MessagePriority::kHigh})
            .value() == 1);
  CHECK(kit::Eventually([&] { return cluster.Handled() == 400; }));
  CHECK(kit::Eventually([&] { return cluster.Processes() == 1; }));
  CHECK(cluster.a.MessageBalance().Dropped() == 0);
}

TEST_CASE("remote workers: a pool of theirs may have any strategy") {
  FarCluster cluster("far_strategy");
  const act::PoolStrategy strategies[] = {act::PoolStrategy::LeastLoaded(),
                                          act::PoolStrategy::SharedQueue(),
                                          act::PoolStrategy::ByKey<Line>([](const Line& line) {
                                            return static_cast<std::uint64_t>(line.number % 3);
                                          })};
  std::size_t sent = 0;
  for (const act::PoolStrategy& strategy : strategies) {
    const gen::PID pool =
        cluster.Start({.pool_size = 3, .worker_mailbox_size = 50, .strategy = strategy});
    for (int i = 0; i < 100; ++i) {
      CHECK(cluster.a.SendOrWait(pool, Line{i, "text"}, kit::kDeadline));
      CHECK(cluster.a.Call(pool, Sum{{i, 1}}).value() == i + 1);
    }
    sent += 200;
    CHECK(kit::Eventually([&] { return cluster.Handled() == sent; }));
    CHECK(cluster.a.StopProcess(pool));
  }
}

TEST_CASE("remote workers: what is sent again and again reaches them each time") {
  FarCluster cluster("far_ticks");
  const gen::PID pool = cluster.Start({.pool_size = 2});
  auto timer = cluster.a.SendEvery(pool, Line{1, "tick"}, 1ms);
  CHECK(kit::Eventually([&] { return cluster.Handled() >= 10; }));
  CHECK(timer->Cancel());
}

TEST_CASE("remote workers: they do not outlive a pool that is killed, however busy they are") {
  FarCluster cluster("far_kill");
  kit::Gate gate(*cluster.b.node);
  cluster.b.work->SetGate(gate);
  const gen::PID pool = cluster.Start({.pool_size = 4});
  for (int i = 0; i < 40; ++i) CHECK(cluster.a.Send(pool, Line{i, "text"}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  CHECK(cluster.a.Kill(pool));
  CHECK(kit::Eventually([&] { return cluster.Processes() == 1; }));  // the gate's
}

TEST_CASE("remote workers: what has no form on the wire is told, or counted") {
  FarCluster cluster("far_form");
  const gen::PID pool = cluster.Start({.pool_size = 1});
  CHECK(cluster.a.Call<int>(pool, Local{}).error() == gen::ErrUnsupported);
  CHECK(cluster.a.Send(pool, Local{}));
  CHECK(cluster.a.Send(pool, Local{}));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
  CHECK(cluster.a.MessageBalance().dropped_unreadable == 3);
  CHECK(cluster.log.Count("does not reach") == 1);
  CHECK(cluster.log.Count("local of <") == 1);
  CHECK(act::Stats(cluster.a, pool)->worker_restarts == 0);
}

TEST_CASE("remote workers: what has no form on the wire keeps no worker from the next message") {
  FarCluster cluster("far_queue");
  const gen::PID pool =
      cluster.Start({.pool_size = 2, .strategy = act::PoolStrategy::SharedQueue()});
  for (int i = 0; i < 10; ++i) CHECK(cluster.a.Send(pool, Local{}));
  CHECK(cluster.a.Call(pool, Sum{{1, 2}}).value() == 3);
  // The other worker may have to wait for its node first.
  CHECK(kit::Eventually([&] { return cluster.a.MessageBalance().dropped_unreadable == 10; }));
}

TEST_CASE("remote workers: crashes, cuts and full mailboxes, and nothing is lost without a count") {
  gen::ProcessOptions options;
  options.mailbox_size = 10;
  FarCluster cluster("far_chaos", options);
  const gen::PID pool =
      cluster.Start({.pool_size = 4, .worker_mailbox_size = 5, .restart_backoff_max = 20ms});
  constexpr int kThreads = 4;
  const int kEach = kit::Scaled(1000, 4);
  std::atomic<bool> is_over{false};
  std::atomic<int> answered{0};
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const bool crashes = i % 50 == 49;
        if (i % 2 == thread % 2) {
          // Each call is answered, with the sum or with an error, before its time is up.
          const auto sum =
              cluster.a.Call(pool, Sum{crashes ? std::vector{kFails} : std::vector{i, 1}},
                             {.timeout = kit::kDeadline});
          CHECK((sum ? *sum == i + 1 : sum.error() != gen::ErrTimeout));
          ++answered;
        } else if (cluster.a.SendOrWait(pool, Line{crashes ? kFails : 1, "text"}, kit::kDeadline)) {
          ++accepted;
        }
      }
    });
  }
  std::thread cuts([&] {
    for (int i = 0; !is_over; ++i) {
      (void)Disconnect(cluster.a, i % 2 == 0 ? cluster.b.Name() : cluster.c.Name());
      const int seen = answered;
      (void)kit::Eventually([&] { return is_over || answered > seen + kEach / 4; });
    }
  });
  for (auto& thread : threads) thread.join();
  is_over = true;
  cuts.join();
  CHECK(answered == kThreads * kEach / 2);
  REQUIRE(IsComplete(cluster.a, pool, 4));
  CHECK(kit::Eventually([&] {
    const auto stats = act::Stats(cluster.a, pool);
    return stats && stats->forwarded == stats->handled + stats->Lost() + stats->queued &&
           stats->queued == 0;
  }));
  CHECK(kit::Eventually([&] { return cluster.Processes() == 4; }));
}

}  // namespace ergon::dist
