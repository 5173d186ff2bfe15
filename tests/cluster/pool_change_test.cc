// Pools, processes and nodes that are changed from other nodes.
#include <ergon/act/pool.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/process_change.h>
#include <ergon/node/cluster/values/values.h>

#include <cluster.h>
#include <terms.h>

namespace ergon::dist::pool_change_test {
namespace {

namespace t = terms;

class Worker : public act::Actor {};

class TwoWorkers : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Worker>()};
  }
};

gen::NodeOptions WithChanges() {
  gen::NodeOptions options;
  options.types.Register<act::PoolChange>({.priority = gen::MessagePriority::kHigh});
  return options;
}

// {pool_change, #{...}}, of a key and a value each.
std::string ChangeTerm(const std::vector<std::string>& entries) {
  return t::Tuple({t::SmallAtom("pool_change"), t::Map(entries)});
}

constexpr auto kRequest = static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest);

TEST_CASE("pool change: as a term") {
  const Values values(WithChanges().types);
  const auto read = [&](const std::vector<std::string>& entries) {
    auto envelope = values.Read(ChangeTerm(entries), kRequest).value();
    CHECK(envelope->lane == core::Lane::kSystem);  // for the pool itself
    return *envelope->ValueAs<act::PoolChange>();
  };
  CHECK(read({}) == act::PoolChange{});
  CHECK(read({t::SmallAtom("pool_size"), t::Small(8), t::SmallAtom("admission_limit"), t::Small(50),
              t::SmallAtom("restart_backoff_min"), t::Float(0.5)}) ==
        act::PoolChange{.pool_size = 8, .admission_limit = 50ms, .restart_backoff_min = 500us});
  CHECK(read({t::SmallAtom("shutdown_timeout"), t::Float(1e300)}).shutdown_timeout ==
        std::chrono::nanoseconds::max());
  // Each field, both ways.
  const act::PoolChange all{.pool_size = 1,
                            .worker_mailbox_size = 2,
                            .admission_limit = 3ms,
                            .restart_backoff_min = 4us,
                            .restart_backoff_max = 5s,
                            .max_restarts = 6,
                            .restart_period = 7h,
                            .shutdown_timeout = 8ns,
                            .autoscale_min = 9,
                            .autoscale_max = 10,
                            .autoscale_target_wait = 11us,
                            .autoscale_target_utilization = 0.12,
                            .autoscale_shrink_after = 13s};
  std::string written;
  REQUIRE(detail::WriteValue(written, all));
  CHECK(*values.Read(written, kRequest).value()->ValueAs<act::PoolChange>() == all);
}

TEST_CASE("pool change: terms that are none are told by field and value") {
  const Values values(WithChanges().types);
  const auto problem = [&](const std::string& key, const std::string& value) {
    const auto read = values.Read(ChangeTerm({t::SmallAtom(key), value}), kRequest);
    return read ? std::string() : std::string(read.error().detail());
  };
  CHECK(problem("pool_seize", t::Small(8))
            .starts_with("pool_change: pool_seize: unknown, the fields are pool_size, worker_"));
  CHECK(problem("pool_size", t::Float(2.5)) ==
        "pool_change: pool_size: 2.5, must be a whole number");
  CHECK(problem("autoscale_target_utilization", t::SmallAtom("half")).find("half") !=
        std::string::npos);
  CHECK(problem("max_restarts", t::Bytes({110, 5, 0, 0x00, 0xF2, 0x05, 0x2A, 0x01})) ==
        "pool_change: max_restarts: 5000000000 is outside -2147483648..2147483647");
  CHECK(problem("pool_size", t::SmallAtom("many")).find("many") != std::string::npos);
}

TEST_CASE("pool change: a pool of another node") {
  kit::LogCapture log;
  node::Node here = TryStart("changes_a@127.0.0.1", log, ClusterOptions(), WithChanges()).value();
  node::Node there = TryStart("changes_b@127.0.0.1", log, ClusterOptions(), WithChanges()).value();
  const gen::PID pool = there.Spawn(gen::Factory<TwoWorkers>()).value();
  CHECK(here.Call(pool, act::PoolChange{.pool_size = 3, .shutdown_timeout = 250us}).value());
  CHECK(act::Stats(there, pool)->size == 3);
  CHECK(log.Count("pool_size: 3, was 2") == 1);
  CHECK(log.Count("shutdown_timeout: 250us, was 5s") == 1);
  const auto wrong = here.Call(pool, act::PoolChange{.pool_size = 4, .restart_backoff_min = 6s});
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() == "restart_backoff_max: 5s is less than 6s");
  CHECK(act::Stats(there, pool)->size == 3);
}

TEST_CASE("process change: as a term, and a process of another node") {
  gen::NodeOptions options;
  options.types.Register<gen::ProcessChange>({.priority = gen::MessagePriority::kHigh});
  const Values values(options.types);
  const auto read = [&](const std::string& key, const std::string& value) {
    return values.Read(
        t::Tuple({t::SmallAtom("process_change"), t::Map({t::SmallAtom(key), value})}), kRequest);
  };
  CHECK(*read("log_level", t::SmallAtom("off")).value()->ValueAs<gen::ProcessChange>() ==
        gen::ProcessChange{.log_level = gen::LogLevel::kOff});
  CHECK(*read("log_level", t::SmallAtom("node")).value()->ValueAs<gen::ProcessChange>() ==
        gen::ProcessChange{.log_level_of_node = true});
  CHECK(*read("mailbox_size", t::Small(9)).value()->ValueAs<gen::ProcessChange>() ==
        gen::ProcessChange{.mailbox_size = 9});
  CHECK(
      read("log_level", t::SmallAtom("loud")).error().detail() ==
      "process_change: log_level: loud, must be trace, debug, info, warning, error, panic, off or "
      "node");
  CHECK(read("mailbox_size", t::SmallAtom("many")).error().detail() ==
        "process_change: mailbox_size: many, must be a number of messages");
  CHECK(read("mailbox", t::Small(9)).error().detail() ==
        "process_change: mailbox: unknown, the fields are log_level and mailbox_size");

  kit::LogCapture log;
  node::Node here = TryStart("settings_a@127.0.0.1", log, ClusterOptions(), options).value();
  node::Node there = TryStart("settings_b@127.0.0.1", log, ClusterOptions(), options).value();
  const gen::PID plain = there.Spawn(gen::Factory<Worker>()).value();
  CHECK(here.Call(plain, gen::ProcessChange{.log_level = gen::LogLevel::kOff, .mailbox_size = 9})
            .value());
  CHECK(there.ProcessInfo(plain)->mailbox_size == 9);
  CHECK(there.ProcessInfo(plain)->log_level == gen::LogLevel::kOff);
}

TEST_CASE("node change: as a term, and of another node") {
  gen::NodeOptions options;
  options.types.Register<gen::NodeChange>({.priority = gen::MessagePriority::kHigh});
  const Values values(options.types);
  const auto read = [&](const std::string& key, const std::string& value) {
    return values.Read(t::Tuple({t::SmallAtom("node_change"), t::Map({t::SmallAtom(key), value})}),
                       kRequest);
  };
  const gen::NodeChange all{
      .log_level = gen::LogLevel::kError,
      .mailbox_size = 7,
      .log_levels = {{"words::Counter", gen::LogLevel::kDebug}, {"words::Index", std::nullopt}}};
  for (const gen::NodeChange& change : {all, gen::NodeChange()}) {
    std::string written;
    REQUIRE(detail::WriteValue(written, change));
    CHECK(*values.Read(written, kRequest).value()->ValueAs<gen::NodeChange>() == change);
  }
  const auto problem = [&](const std::string& key, const std::string& value) {
    return std::string(read(key, value).error().detail());
  };
  CHECK(problem("log_level", t::SmallAtom("node")) ==
        "node_change: log_level: node, must be trace, debug, info, warning, error, panic or off");
  CHECK(problem("mailbox_size", t::SmallAtom("many")) ==
        "node_change: mailbox_size: many, must be a number of messages");
  CHECK(problem("log_levels", t::SmallAtom("debug")) ==
        "node_change: log_levels: debug, must be a map of behaviours and levels");
  CHECK(problem("log_levels", t::Map({t::Binary("words::Index"), t::SmallAtom("loud")})) ==
        "node_change: log_levels.words::Index: loud, must be trace, debug, info, warning, error, "
        "panic or off, or node");
  CHECK(problem("workers", t::Small(9)) ==
        "node_change: workers: unknown, the fields are log_level, mailbox_size and log_levels");

  kit::LogCapture log;
  node::Node here = TryStart("levels_a@127.0.0.1", log, ClusterOptions(), options).value();
  node::Node there = TryStart("levels_b@127.0.0.1", log, ClusterOptions(), options).value();
  const gen::PID plain = there.Spawn(gen::Factory<Worker>()).value();
  const std::string behavior = there.ProcessInfo(plain)->behavior;
  const gen::NodeChange change{.mailbox_size = 9,
                               .log_levels = {{behavior, gen::LogLevel::kError}}};
  CHECK(here.Call(plain, gen::NodeChange(change)).value());
  CHECK(there.ProcessInfo(plain)->log_level == gen::LogLevel::kError);
  CHECK(there.ProcessInfo(there.Spawn(gen::Factory<Worker>()).value())->mailbox_size == 9);
  CHECK(here.Call(plain, gen::NodeChange{.mailbox_size = -1}).error() == gen::ErrIncorrect);
}

}  // namespace
}  // namespace ergon::dist::pool_change_test
