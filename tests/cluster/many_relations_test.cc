// Processes of another node that are linked with one process here and monitor it, as many as a peer may have.
#include <atomic>
#include <cstdint>
#include <string>

#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>

#include <cluster/client.h>
#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

// Traps exits, and counts those whose connection is lost.
class Linked : public act::Actor {
 public:
  explicit Linked(std::atomic<int>* lost) : lost_(lost) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* exit = message.As<gen::MessageExitPID>();
    if (exit == nullptr) return Actor::HandleMessage(from, message);
    CHECK(exit->reason == gen::Reason::NoConnection());
    ++*lost_;
    return gen::Continue();
  }
  std::atomic<int>* const lost_;
};

}  // namespace

// That each of them costs the same is what keyed_list_test.cc is about.
TEST_CASE("relations: very many links and monitors of one process, their ends, and the rest") {
  std::uint64_t flags = 0;
  SUBCASE("of an Ergon node") { flags = kOwnFlags; }
  SUBCASE("of a node of OTP 25") { flags = kErlangFlags; }
  const int many = kit::Scaled(100'000);
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.send_queue_bytes = std::size_t{1} << 30;  // nobody reads what is acknowledged
  kit::LogCapture log;
  auto node = TryStart("relations@127.0.0.1", log, options).value();
  std::atomic<int> lost = 0;
  const gen::PID pid = node.Spawn(gen::Factory<Linked>(&lost)).value();
  Client client(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(client.ShakeHands("manyrelations@127.0.0.1", "relations@127.0.0.1", flags));
  const gen::Atom peer("manyrelations@127.0.0.1");
  const auto say = [&](SignalKind link, SignalKind monitor, int step) {
    std::string frames;
    for (int i = 1; i <= many; i += step) {
      const auto number = static_cast<std::uint64_t>(i);
      std::string reference;
      AppendReference(reference, number, peer, 77);
      const gen::PID from{number, peer, 77};
      AppendFrame(frames, {.kind = link, .from = from, .to = pid, .id = number}, flags);
      AppendFrame(frames, {.kind = monitor, .from = from, .to = pid, .ref = reference}, flags);
    }
    client.Write(frames);
  };
  const auto has = [&](std::size_t count) {
    return kit::Eventually([&] {
      std::this_thread::sleep_for(1ms);
      const auto info = node.ProcessInfo(pid).value();
      return info.links.size() == count && info.monitored_by.size() == count;
    });
  };
  const auto all = static_cast<std::size_t>(many);
  say(SignalKind::kLink, SignalKind::kMonitor, 1);
  REQUIRE(has(all));
  say(SignalKind::kLink, SignalKind::kMonitor, 7);  // they are there already
  say(SignalKind::kUnlink, SignalKind::kDemonitor, 2);
  REQUIRE(has(all / 2));
  client.Close();
  REQUIRE(has(0));
  CHECK(kit::Eventually([&] { return lost == many / 2; }));
  node.Stop();
  kit::CheckBalance(node);
}

}  // namespace ergon::dist
