// Requests of other nodes whose callers wait no more: withdrawn, as by a time-out of this node.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <ergon/act/pool.h>

#include <dist/erlang_peer.h>
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

}  // namespace

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
  t.node.SpawnRegister("actor", gen::Factory<LineHandler>(gate.pid(), handled)).value();
  ErlangPeer stays(t.node, "stays@127.0.0.1", t.port());
  ErlangPeer goes(t.node, "goes@127.0.0.1", t.port());
  Ask(stays, "actor", 0).Flush();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 8; ++i) Ask(goes, "actor", i);
  goes.FlushAndWait();
  Ask(stays, "actor", 9).FlushAndWait();
  goes.Close();
  REQUIRE(kit::Eventually([&] { return !goes.IsConnected(); }));
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
