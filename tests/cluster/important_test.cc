// Important delivery between Ergon nodes: success means that the message is in the receiver's mailbox.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/mutex.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

// Handles lines once a gate is open, and notes them.
struct Handled {
  std::mutex mutex;
  std::vector<int> numbers;
  [[nodiscard]] std::vector<int> Numbers() {
    std::lock_guard lock(mutex);
    return numbers;
  }
};
class Gated : public act::Actor {
 public:
  Gated(gen::PID gate, std::shared_ptr<Handled> handled)
      : gate_(gate), handled_(std::move(handled)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    std::lock_guard lock(handled_->mutex);
    handled_->numbers.push_back(message.As<Line>()->number);
    return gen::Continue();
  }
  const gen::PID gate_;
  const std::shared_ptr<Handled> handled_;
};
gen::ProcessFactory GatedOf(const kit::Gate& gate, const std::shared_ptr<Handled>& handled) {
  return gen::Factory<Gated>(gate.pid(), handled);
}

class GatedPool : public act::Pool {
 public:
  explicit GatedPool(gen::ProcessFactory worker) : worker_(std::move(worker)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = worker_, .worker_mailbox_size = 1};
  }
  const gen::ProcessFactory worker_;
};

class ImportantForwarder : public act::Actor {
 public:
  explicit ImportantForwarder(gen::Target to) : to_(std::move(to)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (!Forward(to_, message)) return gen::Stop(gen::Reason::Error("not forwarded"));
    return gen::Continue();
  }
  const gen::Target to_;
};

// A thread and a process send alike.
void ByBoth(node::Node& node, const std::function<void(gen::Messenger&)>& does) {
  does(node);
  InProcess(node, [&](gen::Process& self) { does(self); });
}

}  // namespace

TEST_CASE("important: it is confirmed by the other node, in order with other messages") {
  Cluster cluster("important");
  kit::Gate gate(cluster.b);
  const auto handled = std::make_shared<Handled>();
  const gen::PID pid = cluster.b.SpawnRegister("listener", GatedOf(gate, handled)).value();
  int number = 0;
  ByBoth(cluster.a, [&](gen::Messenger& self) {
    CHECK(self.Send(pid, Line{number++, "plain"}));
    CHECK(self.SendImportant(pid, Line{number++, "by its PID"}));
    // It is in the mailbox, or was: nothing has to be waited for.
    CHECK(cluster.b.ProcessInfo(pid)->messages_queued + 1 >= static_cast<std::uint64_t>(number));
    CHECK(self.Send(cluster.OnB("listener"), Line{number++, "plain"}));
    CHECK(self.SendImportant(cluster.OnB("listener"), Line{number++, "by its name"}));
    CHECK(self.SendOrWait(pid, Line{number++, "plain"}, kit::kDeadline));
  });
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetImportantDelivery(true);
    CHECK(self.Send(pid, Line{number++, "all that it sends"}));
    CHECK(self.SendOrWait(pid, Line{number++, "all that it sends"}, kit::kDeadline));
  });
  gate.Open();
  REQUIRE(kit::Eventually([&] { return handled->Numbers().size() == 12; }));
  for (int i = 0; i < 12; ++i) CHECK(handled->Numbers()[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("important: a full mailbox refuses it there, and it comes back to its sender") {
  Cluster cluster("full");
  kit::Gate gate(cluster.b);
  const auto handled = std::make_shared<Handled>();
  const auto diverted = std::make_shared<Handled>();
  kit::Gate open(cluster.b);
  open.Open();
  cluster.b.SpawnRegister("fallback", GatedOf(open, diverted)).value();
  gen::ProcessOptions options;
  options.fallback.name = "fallback";
  options.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest);
  const gen::PID pid = cluster.b.Spawn(GatedOf(gate, handled), options).value();
  CHECK(cluster.a.SendImportant(pid, Line{0, "is being handled"}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(cluster.a.SendImportant(pid, Line{1, "waits"}));
  ByBoth(cluster.a, [&](gen::Messenger& self) {
    Line line{2, "a text that is not short, so that it is moved"};
    const auto sent = self.SendImportant(pid, std::move(line));
    CHECK(sent.error() == gen::ErrProcessMailboxFull);
    CHECK(line.text == "a text that is not short, so that it is moved");
  });
  gate.Open();
  REQUIRE(kit::Eventually([&] { return handled->Numbers().size() == 2; }));
  CHECK(diverted->Numbers().empty());
}

TEST_CASE("important: what does not arrive is told with the error of the other node") {
  Cluster cluster("unknown");
  const auto handled = std::make_shared<Handled>();
  kit::Gate gate(cluster.b);
  gate.Open();
  const gen::PID pid = cluster.b.SpawnRegister("listener", GatedOf(gate, handled)).value();
  const gen::PID ended = cluster.b.Spawn([](gen::Process&) {}).value();
  REQUIRE(cluster.b.WaitProcess(ended));
  gen::PID never = pid;
  never.id = 77'777'777;
  gen::PID former = pid;
  ++former.creation;
  CHECK(Ping(cluster.a, cluster.b.Name()));
  ByBoth(cluster.a, [&](gen::Messenger& self) {
    const auto nobody = self.SendImportant(cluster.OnB("nobody_at_all"), Line{});
    CHECK(nobody.error() == gen::ErrProcessUnknown);
    CHECK(self.SendImportant(ended, Line{}).error() == gen::ErrProcessTerminated);
    CHECK(self.SendImportant(never, Line{}).error() == gen::ErrProcessUnknown);
    CHECK(self.SendImportant(former, Line{}).error() == gen::ErrProcessIncarnation);
    CHECK(self.SendImportant(gen::ProcessID{"x", "nowhere@127.0.0.1"}, Line{}).error() ==
          gen::ErrNoConnection);
    struct Local {};
    CHECK(self.SendImportant(pid, Local{}).error() == gen::ErrUnsupported);
    const auto unfit = self.SendImportant(pid, Term::Tuple({Term::Atom("line"), 1, 2}));
    CHECK(unfit.error() == gen::ErrIncorrect);
    CHECK(unfit.error().detail() == "line.2: expected a binary, found 2");
  });
  CHECK(handled->Numbers().empty());
}

TEST_CASE("important: a pool on another node takes it, or says that all workers are full") {
  Cluster cluster("pool");
  kit::Gate gate(cluster.b);
  const auto handled = std::make_shared<Handled>();
  const gen::PID pool = cluster.b.Spawn(gen::Factory<GatedPool>(GatedOf(gate, handled))).value();
  for (int i = 0; i < 4; ++i) {
    CHECK(cluster.a.SendImportant(pool, Line{i, "fits"}));
    REQUIRE(kit::Eventually([&] { return gate.Entered() == std::min(i + 1, 2); }));
  }
  CHECK(cluster.a.SendImportant(pool, Line{4, "too much"}).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  CHECK(kit::Eventually([&] { return handled->Numbers().size() == 4; }));
}

TEST_CASE("important: it is forwarded to another node as such") {
  Cluster cluster("forward");
  kit::Gate gate(cluster.b);
  gate.Open();
  const auto handled = std::make_shared<Handled>();
  cluster.b.SpawnRegister("listener", GatedOf(gate, handled)).value();
  const gen::PID well =
      cluster.a.Spawn(gen::Factory<ImportantForwarder>(cluster.OnB("listener"))).value();
  const gen::PID badly =
      cluster.a.Spawn(gen::Factory<ImportantForwarder>(cluster.OnB("nobody"))).value();
  CHECK(cluster.a.SendImportant(well, Line{7, "text"}));
  CHECK(kit::Eventually([&] { return handled->Numbers() == std::vector{7}; }));
  CHECK(cluster.a.SendImportant(badly, Line{8, "text"}));
  CHECK(cluster.a.WaitProcess(badly));
}

TEST_CASE("important: a call to another node is answered, or its error says why not") {
  Cluster cluster("call");
  const gen::PID pid = cluster.b
                           .Spawn([](gen::Process& self) {
                             auto sum = self.Receive<gen::Asked<Sum>>(20s);
                             (void)self.Reply(*sum, std::int64_t{42});
                           })
                           .value();
  CHECK(cluster.a.CallImportant(pid, Sum{}).value() == 42);
  CHECK(cluster.a.CallImportant(cluster.OnB("nobody"), Sum{}).error() == gen::ErrProcessUnknown);
}

TEST_CASE("important: a handler does not block its thread by the node's function") {
  Cluster cluster("blocks");
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto sent = self.Node().SendImportant(cluster.OnB("nobody"), Line{});
    CHECK(sent.error() == gen::ErrNotAllowed);
    CHECK(sent.error().ToString().find("SendImportant") != std::string::npos);
    gen::Mutex mutex;
    std::lock_guard lock(mutex);
    const auto held = self.SendImportant(cluster.OnB("nobody"), Line{});
    CHECK(held.error() == gen::ErrNotAllowed);
    CHECK(held.error().ToString().find("gen::Mutex") != std::string::npos);
  });
}

TEST_CASE("important: a connection that is lost before the confirmation is told of") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("waits@127.0.0.1", log, options).value();
  Client silent(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(silent.ShakeHands("silent@127.0.0.1", "waits@127.0.0.1"));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  const gen::ProcessID to{"anybody", "silent@127.0.0.1"};
  std::atomic<int> asked{0};
  std::atomic<int> lost{0};
  const auto send = [&](gen::Messenger& self) {
    ++asked;
    if (self.SendImportant(to, Line{}).error() == gen::ErrNoConnection) ++lost;
  };
  std::thread thread([&] { send(node); });
  const gen::PID process = node.Spawn([&](gen::Process& self) { send(self); }).value();
  const gen::PID killed =
      node.Spawn([&](gen::Process& self) {
            ++asked;
            if (self.SendImportant(to, Line{}).error() == gen::ErrProcessTerminated) ++lost;
          })
          .value();
  REQUIRE(kit::Eventually([&] {
    return asked == 3 && node.ProcessInfo(killed)->state == gen::ProcessState::kWaiting &&
           node.ProcessInfo(process)->state == gen::ProcessState::kWaiting;
  }));
  CHECK(node.Kill(killed));
  CHECK(node.WaitProcess(killed));
  CHECK(lost == 1);
  // Both questions are there.
  std::string said;
  while (said.find("important", said.find("important") + 1) == std::string::npos) {
    said += silent.Read();
  }
  silent.Close();
  thread.join();
  CHECK(node.WaitProcess(process));
  CHECK(lost == 3);
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE("important: to a node that does not run Ergon it is refused, and the error says so") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("knows@127.0.0.1", log, options).value();
  Client foreign(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(foreign.ShakeHands("foreign@127.0.0.1", "knows@127.0.0.1", kOwnFlags & ~kFlagErgon));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  ByBoth(node, [&](gen::Messenger& self) {
    const auto sent = self.SendImportant(gen::ProcessID{"anybody", "foreign@127.0.0.1"}, Line{});
    CHECK(sent.error() == gen::ErrUnsupported);
    CHECK(sent.error().ToString().find("foreign@127.0.0.1 is no Ergon node") != std::string::npos);
    CHECK(self.Send(gen::ProcessID{"anybody", "foreign@127.0.0.1"}, Line{}));
  });
}

}  // namespace ergon::dist
