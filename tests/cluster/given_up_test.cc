// Requests of other nodes whose callers wait no more: withdrawn, as by a time-out of this node.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <ergon/act/pool.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

// How often each line was handled.
struct HandledLines {
  explicit HandledLines(std::size_t lines) : times(lines) {}
  std::vector<std::atomic<int>> times;
  [[nodiscard]] std::vector<int> Numbers() const {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < times.size(); ++i) {
      for (int time = 0; time < times[i]; ++time) numbers.push_back(static_cast<int>(i));
    }
    return numbers;
  }
};

// Waits for the gate with each, if there is one.
class LineHandler : public act::Actor {
 public:
  LineHandler(gen::PID gate, std::shared_ptr<HandledLines> handled)
      : gate_(gate), handled_(std::move(handled)) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* line = request.As<Line>();
    if (line == nullptr) return Actor::HandleCall(from, ref, request);
    ++handled_->times[static_cast<std::size_t>(line->number)];
    if (gate_) (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Reply(*line);
  }
  const gen::PID gate_;
  const std::shared_ptr<HandledLines> handled_;
};

class LinePool : public act::Pool {
 public:
  explicit LinePool(gen::ProcessFactory worker) : worker_(std::move(worker)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1, .worker_factory = worker_};
  }
  const gen::ProcessFactory worker_;
};

ErlangPeer& Ask(ErlangPeer& peer, std::string_view name, int number) {
  const auto id = static_cast<std::uint64_t>(number) + 1;
  return peer.Monitor(id, name, id).CallWithLine(id, name, id, number);
}
ErlangPeer& GiveUp(ErlangPeer& peer, std::string_view name, int number) {
  const auto id = static_cast<std::uint64_t>(number) + 1;
  return peer.Demonitor(id, name, id);
}

// Asks a line with 1 ms, and tells what has become of it.
class AsksInVain : public act::Actor {
 public:
  AsksInVain(gen::ProcessID to, std::shared_ptr<std::promise<gen::Error>> told)
      : to_(to), told_(std::move(told)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    return Request(to_, Line{2, ""}, {.timeout = 1ms}) ? gen::Continue()
                                                       : gen::Stop(gen::Reason::Error("not sent"));
  }
  gen::Status HandleResponse(gen::Ref, gen::Response& response) override {
    told_->set_value(response.ok() ? gen::Error("an answer") : response.error());
    return gen::Continue();
  }
  const gen::ProcessID to_;
  const std::shared_ptr<std::promise<gen::Error>> told_;
};

}  // namespace

TEST_CASE("given up: what another node makes of a request that has timed out is not known here") {
  Cluster cluster("not_known");
  kit::Gate gate(cluster.b);
  const auto handled = std::make_shared<HandledLines>(3);
  cluster.b.SpawnRegister("handler", gen::Factory<LineHandler>(gate.pid(), handled)).value();
  const auto to = cluster.OnB("handler");
  const auto promises_nothing = [](const gen::Error& error) {
    CHECK(error == gen::ErrTimeout);
    const std::string text = error.ToString();
    CAPTURE(text);
    CHECK(text.find("another node") != std::string::npos);
    CHECK(text.find("whether the request is handled is not known") != std::string::npos);
    CHECK(text.find("will not be handled") == std::string::npos);
  };
  promises_nothing(cluster.a.Call<Line>(to, Line{0, ""}, {.timeout = 1ms}).error());
  InProcess(cluster.a, [&](gen::Process& self) {
    promises_nothing(self.Call<Line>(to, Line{1, ""}, {.timeout = 1ms}).error());
  });
  const auto told = std::make_shared<std::promise<gen::Error>>();
  cluster.a.Spawn(gen::Factory<AsksInVain>(to, told)).value();
  promises_nothing(told->get_future().get());
  gate.Open();
}

TEST_CASE("given up: another Ergon node learns that nobody waits any more, and skips the request") {
  ErlangOptions options = ClusterOptions();
  options.tick_time = 4s;  // and it looks in each quarter of it
  Cluster cluster("skips", options);
  kit::Gate gate(cluster.b);
  const auto handled = std::make_shared<HandledLines>(3);
  const gen::PID handler =
      cluster.b.SpawnRegister("handler", gen::Factory<LineHandler>(gate.pid(), handled)).value();
  const auto info = [&] { return cluster.b.ProcessInfo(handler).value(); };
  auto first = cluster.a.CallAsync<Line>(handler, Line{0, ""}, {.timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return handled->Numbers() == std::vector{0}; }));
  CHECK(cluster.a.Call<Line>(handler, Line{1, ""}, {.timeout = 1ms}).error() == gen::ErrTimeout);
  REQUIRE(kit::Eventually([&] { return info().messages_queued == 1; }));
  // That of the first one is left.
  REQUIRE(kit::Eventually([&] { return info().monitored_by.size() == 1; }));
  gate.Open();
  CHECK(first.get());
  CHECK(cluster.a.Call<Line>(handler, Line{2, ""}, {.timeout = kit::kDeadline}));
  CHECK(handled->Numbers() == std::vector{0, 2});
  CHECK(info().messages_dropped == 1);
}

TEST_CASE("given up: another node hears of it within a quarter of the tick time") {
  NodeForPeers t("hears", 1s);
  ErlangPeer peer(t.node, "is_asked@127.0.0.1", t.port());
  const gen::ProcessID to{"handler", "is_asked@127.0.0.1"};
  CHECK(t.node.Call<Line>(to, Line{0, ""}, {.timeout = 1ms}).error() == gen::ErrTimeout);
  CHECK(t.node.Send(to, Line{1, ""}));
  int lines = 0;  // the request, and what was sent when its time was up
  bool has_heard = false;
  int before = 0;  // the ticks
  int asked = 0;   // what asks for the members of groups comes in between
  const auto end = std::chrono::steady_clock::now() + kit::kDeadline;
  // It may hear of it before the second line, if the node looks between the two.
  while ((lines < 2 || !has_heard) && std::chrono::steady_clock::now() < end) {
    const Signal signal = peer.AwaitAny();
    if (signal.kind == SignalKind::kDemonitor) {
      has_heard = true;
    } else if (signal.kind == SignalKind::kSendToName && signal.name == "handler") {
      ++lines;
      before = peer.ticks();
    } else if (signal.kind == SignalKind::kSendToName && lines == 2) {
      ++asked;
    }
    peer.Tick();  // that it is there
  }
  CHECK(lines == 2);
  CHECK(has_heard);
  // In each quarter of the time there is a tick, or at most two of those questions.
  CHECK(peer.ticks() - before + asked <= 3);
}

TEST_CASE("given up: requests whose callers have ended their monitors are skipped and counted") {
  NodeForPeers t("given_up");
  kit::Gate gate(t.node);
  const auto handled = std::make_shared<HandledLines>(21);
  const auto worker = gen::Factory<LineHandler>(gate.pid(), handled);
  const gen::PID pool = t.node.SpawnRegister("pool", gen::Factory<LinePool>(worker)).value();
  ErlangPeer peer(t.node, "gives_up@127.0.0.1", t.port());
  Ask(peer, "pool", 0).Flush();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 20; ++i) Ask(peer, "pool", i);
  // The first has been begun, and nothing is taken back of it.
  for (int i = 0; i <= 17; ++i) GiveUp(peer, "pool", i);
  peer.FlushAndWait();
  gate.Open();
  REQUIRE(kit::Eventually([&] { return act::Stats(t.node, pool)->handled == 21; }));
  CHECK(handled->Numbers() == std::vector{0, 18, 19, 20});
  CHECK(act::Stats(t.node, pool)->expired == 17);
  CHECK(t.node.MessageBalance().dropped_expired == 17);
}

TEST_CASE("given up: a lost connection withdraws what its callers have asked for") {
  NodeForPeers t("given_up_lost");
  kit::Gate gate(t.node);
  const auto handled = std::make_shared<HandledLines>(10);
  const gen::PID actor =
      t.node.SpawnRegister("actor", gen::Factory<LineHandler>(gate.pid(), handled)).value();
  ErlangPeer stays(t.node, "stays@127.0.0.1", t.port());
  ErlangPeer goes(t.node, "goes@127.0.0.1", t.port());
  Ask(stays, "actor", 0).Flush();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 8; ++i) Ask(goes, "actor", i);
  goes.FlushAndWait();
  Ask(stays, "actor", 9).FlushAndWait();
  goes.Close();
  // Its connection is out of the list before its requests are withdrawn, and its monitors with them.
  REQUIRE(kit::Eventually([&] {
    const auto info = t.node.ProcessInfo(actor);
    return info && std::ranges::none_of(info->monitored_by, [](gen::PID by) {
             return by.node == gen::Atom("goes@127.0.0.1");
           });
  }));
  gate.Open();
  REQUIRE(kit::Eventually([&] { return t.node.MessageBalance().dropped_expired == 8; }));
  REQUIRE(kit::Eventually([&] { return handled->Numbers().size() == 2; }));
  CHECK(handled->Numbers() == std::vector{0, 9});
}

TEST_CASE("given up: a request is begun or withdrawn, never both") {
  constexpr int kRequests = 3000;
  NodeForPeers t("given_up_race");
  const auto handled = std::make_shared<HandledLines>(kRequests);
  const auto worker = gen::Factory<LineHandler>(gen::PID(), handled);
  const gen::PID pool = t.node.SpawnRegister("pool", gen::Factory<LinePool>(worker)).value();
  ErlangPeer peer(t.node, "races@127.0.0.1", t.port());
  for (int i = 0; i < kRequests; ++i) {
    Ask(peer, "pool", i);
    if (i >= 5) GiveUp(peer, "pool", i - 5);
    if (i % 20 == 0) peer.Flush();
  }
  peer.FlushAndWait();
  REQUIRE(kit::Eventually([&] { return act::Stats(t.node, pool)->handled == kRequests; }));
  const std::vector<int> numbers = handled->Numbers();
  CHECK(numbers.size() + act::Stats(t.node, pool)->expired == kRequests);
  for (std::size_t i = 1; i < numbers.size(); ++i) CHECK(numbers[i - 1] < numbers[i]);
}

}  // namespace ergon::dist
