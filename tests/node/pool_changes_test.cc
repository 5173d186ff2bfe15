// What the node's options say of pools, at their start and while they run.
#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <ergon/act/pool.h>
#include <ergon/node/options_file.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/options_file.h>
#include <node/subject.h>

namespace ergon::node::pool_changes_test {
namespace {

// How many may start; fewer than none: any number.
std::atomic<int> may_start{-1};

class Worker : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    if (may_start < 0 || may_start-- > 0) return gen::Continue();
    return gen::Stop(gen::Reason::Error("no licence"));
  }
};

struct Add {
  using Reply = int;
  int workers = 0;
};

class TwoWorkers : public act::Pool {
 public:
  explicit TwoWorkers(act::PoolStrategy strategy = {},
                      std::optional<act::PoolAutoscale> autoscale = std::nullopt)
      : strategy_(std::move(strategy)), autoscale_(autoscale) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2,
                            .autoscale = autoscale_,
                            .worker_factory = gen::Factory<Worker>(),
                            .strategy = strategy_};
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    return gen::Reply(static_cast<int>(AddWorkers(request.As<Add>()->workers).value()));
  }
  const act::PoolStrategy strategy_;
  const std::optional<act::PoolAutoscale> autoscale_;
};

std::uint64_t SizeOf(TestNode& t, const gen::Target& pool) {
  return act::Stats(t.node, pool).value().size;
}

TEST_CASE("pools in the options: what they say goes before what Init says") {
  TestNode t({.pools = {{"two", {.pool_size = 4}},
                        {"wrong", {.restart_backoff_min = 9s}},
                        {"later", {.pool_size = 3}}}});
  CHECK(t.node.SpawnRegister("two", gen::Factory<TwoWorkers>()));
  CHECK(SizeOf(t, "two") == 4);
  CHECK(t.log.Count("pool_size: 4, was 2, by the node's options") == 1);
  const gen::PID other = t.node.Spawn(gen::Factory<TwoWorkers>()).value();
  CHECK(SizeOf(t, other) == 2);
  CHECK(t.node.RegisterName("later", other));  // it has started without
  CHECK(SizeOf(t, other) == 2);
  const auto wrong = t.node.SpawnRegister("wrong", gen::Factory<TwoWorkers>());
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().ToString().find("pools.wrong: restart_backoff_max: 5s is less than 9s") !=
        std::string::npos);
  const auto none = node::Start("none@localhost", {.pools = {{"two", {.pool_size = 0}}}});
  REQUIRE_FALSE(none);
  CHECK(none.error().detail() == "pools.two.pool_size: 0 is outside 1..10000");
}

TEST_CASE("pools in the options: a file changes those that run, and those that start later") {
  const kit::OptionsFile file("mailbox_size = 7\n[pools.two]\npool_size = 3\n");
  TestNode t({.options_file = file.path()});
  const gen::PID first = t.node.SpawnRegister("two", gen::Factory<TwoWorkers>()).value();
  CHECK(t.node.ReloadOptions());
  CHECK(SizeOf(t, "two") == 3);
  CHECK(t.log.Count("pool_size: 3, was 2") == 1);
  CHECK(t.log.Count("mailbox_size: 7, was 0") == 1);
  CHECK(t.node.Kill(first));
  CHECK(t.Ended(first));
  CHECK(t.node.SpawnRegister("two", gen::Factory<TwoWorkers>()));
  CHECK(SizeOf(t, "two") == 3);
  // What is left out stays; somebody else's change does not, if the file says otherwise.
  CHECK(t.node.Call("two", act::PoolChange{.pool_size = 1},
                    {.priority = gen::MessagePriority::kHigh}));
  file.Write("[pools.two]\nmax_restarts = 5\n");
  CHECK(t.node.ReloadOptions());
  CHECK(SizeOf(t, "two") == 1);
  file.Write("[pools.two]\npool_size = 3\n");
  CHECK(::kill(::getpid(), SIGHUP) == 0);
  CHECK(kit::Eventually([&] { return t.log.Contains("SIGHUP: " + file.path() + " was read"); }));
  CHECK(SizeOf(t, "two") == 3);
}

class OtherMailbox : public act::Pool {
 public:
  explicit OtherMailbox(gen::Mailbox mailbox) : mailbox_(std::move(mailbox)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 2, .worker_factory = gen::Factory<Worker>(), .worker_mailbox = mailbox_};
  }
  const gen::Mailbox mailbox_;
};

TEST_CASE("pools in the options: a file changes the bound of mailboxes of any kind but custom") {
  const kit::OptionsFile file("[pools.latest]\nworker_mailbox_size = 2\n");
  TestNode t({.options_file = file.path()});
  const auto latest =
      gen::Factory<OtherMailbox>(gen::Mailbox::Bounded(5, gen::Overflow::kDropOldest));
  const gen::PID first = t.node.SpawnRegister("latest", latest).value();
  const auto size = [&] { return act::Stats(t.node, "latest").value().worker_mailbox_size; };
  CHECK(size() == 5);
  CHECK(t.node.ReloadOptions());
  CHECK(size() == 2);
  CHECK(t.log.Count("worker_mailbox_size: 2, was 5") == 1);
  CHECK(t.node.Kill(first));
  CHECK(t.Ended(first));
  CHECK(t.node.SpawnRegister("latest", latest));
  CHECK(size() == 2);
  CHECK(t.log.Count("worker_mailbox_size: 2, was 5, by the node's options") == 1);
  // All or nothing.
  CHECK(t.node.SpawnRegister(
      "custom", gen::Factory<OtherMailbox>(gen::Mailbox::Custom([] {
        return gen::Mailbox::Bounded(5, gen::Overflow::kDropOldest).MakeQueue();
      }))));
  file.Write("[pools.latest]\nworker_mailbox_size = 3\n[pools.custom]\nworker_mailbox_size = 3\n");
  const auto wrong = t.node.ReloadOptions();
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() ==
        file.path() +
            ": pools.custom: worker_mailbox_size: 3, but worker_mailbox is custom: a MailboxQueue "
            "of the program's, which alone knows its bound");
  CHECK(size() == 2);
}

// Its handler waits at a gate.
class BusyPool : public act::Pool {
 public:
  explicit BusyPool(gen::PID gate) : gate_(gate) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Worker>()};
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  }
  const gen::PID gate_;
};

TEST_CASE("pools in the options: of a pool that is busy for five seconds nothing is changed") {
  const kit::OptionsFile file("mailbox_size = 7\n[pools.busy]\npool_size = 3\n");
  const kit::ManualTime time;
  TestNode t(time.Into({.options_file = file.path()}));
  kit::Gate gate(t.node);
  CHECK(t.node.SpawnRegister("busy", gen::Factory<BusyPool>(gate.pid())));
  CHECK(t.node.SendWithPriority("busy", 1, gen::MessagePriority::kHigh));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::atomic<bool> done{false};
  std::thread reloads([&] {
    CHECK(t.node.ReloadOptions().error() == gen::ErrTimeout);
    done = true;
  });
  CHECK(time.PassUntil([&] { return done.load(); }, 1s));
  reloads.join();
  gate.Open();
  CHECK(SizeOf(t, "busy") == 2);
  CHECK_FALSE(t.log.Contains("mailbox_size: "));
}

TEST_CASE("pools in the options: how a pool sizes itself, as a file says it") {
  const auto text = [](const std::string& field) {
    return "[pools.two]\nautoscale_" + field + "\n";
  };
  const kit::OptionsFile file(text("target_utilization = 0.5") + "autoscale_shrink_after = \"2s\"");
  const gen::PoolChange given = LoadOptions(file.path()).value().pools.at("two");
  CHECK(given.autoscale_target_utilization == 0.5);
  CHECK(given.autoscale_shrink_after == 2s);
  TestNode t({.options_file = file.path()});
  const auto pool = gen::Factory<TwoWorkers>(act::PoolStrategy(), act::PoolAutoscale{.max = 4});
  CHECK(t.node.SpawnRegister("two", pool));
  CHECK(t.node.ReloadOptions());
  CHECK(t.log.Count("autoscale_target_utilization: 0.5, was 0.75") == 1);
  CHECK(t.log.Count("autoscale_shrink_after: 2s, was 10s") == 1);
  for (const std::string wrong : {"1", "1.5", "nan"}) {
    file.Write(text("target_utilization = " + wrong));
    CHECK(t.node.ReloadOptions().error().detail() ==
          file.path() + ":2: pools.two.autoscale_target_utilization: " + wrong +
              ", must be more than 0 and less than 1");
  }
  file.Write(text("target_utilization = \"half\""));
  CHECK(t.node.ReloadOptions().error().detail() ==
        file.path() +
            ":2: pools.two.autoscale_target_utilization: \"half\", must be a number, as "
            "0.75");
  CHECK(t.log.Count("autoscale_target_utilization: ") == 1);
}

TEST_CASE("pools: their changes are in the log whatever its levels are, unless the node's is off") {
  TestNode t({.log_level = gen::LogLevel::kPanic});
  const gen::PID pool =
      t.node.Spawn(gen::Factory<TwoWorkers>(), {.log_level = gen::LogLevel::kOff}).value();
  const auto resize = [&](int size) {
    CHECK(t.node.Call(pool, act::PoolChange{.pool_size = size},
                      {.priority = gen::MessagePriority::kHigh}));
  };
  resize(3);
  CHECK(t.log.Count("TwoWorkers: pool_size: 3, was 2") == 1);
  CHECK(t.node.Call(pool, Add{2}, {.priority = gen::MessagePriority::kHigh}).value() == 5);
  CHECK(t.log.Count("pool_size: 5, was 3") == 1);
  CHECK(t.node.SetLogLevel(gen::LogLevel::kOff));
  resize(4);
  CHECK_FALSE(t.log.Contains("pool_size: 4"));
}

TEST_CASE("pools in the options: a name that nobody has, or a process that is no pool") {
  const kit::OptionsFile file("[pools.later]\npool_size = 3\n");
  TestNode t({.options_file = file.path()});
  CHECK(t.node.ReloadOptions());
  CHECK(t.log.Count(
            "pools.later: no pool of that name runs now; the values apply when one starts") == 1);
  CHECK(t.node.SpawnRegister("later", gen::Factory<TwoWorkers>()));
  CHECK(SizeOf(t, "later") == 3);
  const gen::PID plain = t.node.SpawnRegister("plain", Make({})).value();
  file.Write("mailbox_size = 7\n[pools.later]\npool_size = 4\n[pools.plain]\npool_size = 1\n");
  const auto wrong = t.node.ReloadOptions();
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() == file.path() + ": pools.plain: " + plain.ToString() +
                                      " 'plain' ergon::node::Subject is no pool");
  CHECK(SizeOf(t, "later") == 3);
  CHECK_FALSE(t.log.Contains("mailbox_size"));
  // It waits for the pool, as handlers must not.
  file.Write("[pools.later]\npool_size = 4\n");
  CHECK(t.Run(plain, [&](Subject& self) {
    CHECK(self.Node().ReloadOptions().error() == gen::ErrNotAllowed);
  }));
  CHECK(SizeOf(t, "later") == 3);
}

// Its Init waits at a gate.
class SlowPool : public act::Pool {
 public:
  explicit SlowPool(gen::PID gate) : gate_(gate) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Worker>()};
  }
  const gen::PID gate_;
};

TEST_CASE("pools in the options: one that is in its Init takes what the file says") {
  const kit::OptionsFile file("[pools.slow]\npool_size = 3\n");
  TestNode t({.options_file = file.path()});
  kit::Gate gate(t.node);
  std::thread starts([&] {
    CHECK(t.node.SpawnRegister("slow", gen::Factory<SlowPool>(gate.pid()),
                               {.init_timeout = gen::kInfinite}));
  });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::atomic<bool> begins{false};
  std::thread reloads([&] {
    begins = true;
    CHECK(t.node.ReloadOptions());
  });
  while (!begins) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) (void)t.node.Info();  // so that it has looked, most likely
  gate.Open();
  reloads.join();
  starts.join();
  CHECK(SizeOf(t, "slow") == 3);
}

TEST_CASE("pools in the options: all or nothing") {
  const kit::OptionsFile file("");
  TestNode t({.options_file = file.path()});
  CHECK(t.node.SpawnRegister("first", gen::Factory<TwoWorkers>()));
  CHECK(t.node.SpawnRegister("second",
                             gen::Factory<TwoWorkers>(act::PoolStrategy::Broadcast<int>())));
  file.Write(
      "mailbox_size = 7\n[pools.first]\npool_size = 3\n[pools.second]\nadmission_limit = "
      "\"1ms\"\n");
  // A pool refuses it from the beginning.
  const auto refused = t.node.ReloadOptions();
  CHECK(refused.error() == gen::ErrIncorrect);
  CHECK(std::string(refused.error().detail())
            .starts_with(file.path() + ": pools.second: admission_limit: must be 0 with "));
  CHECK_FALSE(t.log.Contains("pool_size"));
  // A pool cannot do it after all: the other one gets back what it had.
  file.Write("mailbox_size = 7\n[pools.first]\npool_size = 3\n[pools.second]\npool_size = 4\n");
  may_start = 2;  // one of each
  const auto failed = t.node.ReloadOptions();
  may_start = -1;
  REQUIRE_FALSE(failed);
  CHECK(std::string(failed.error().detail())
            .starts_with(file.path() + ": pools.second: worker 2 of 2: "));
  CHECK(t.log.Count("pool_size: 3, was 2") == 1);
  CHECK(t.log.Count("pool_size: 2, was 3") == 1);
  CHECK(SizeOf(t, "first") == 2);
  CHECK(SizeOf(t, "second") == 2);
  CHECK_FALSE(t.log.Contains("mailbox_size"));
  CHECK(t.node.UnregisterName("first"));
  CHECK(t.node.SpawnRegister("first", gen::Factory<TwoWorkers>()));
  CHECK(SizeOf(t, "first") == 2);
}

}  // namespace
}  // namespace ergon::node::pool_changes_test
