#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "pool_fixture.h"

namespace ergon::act::testing {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Sends a change as others do, and returns the error, or "".
std::string Change(PoolFixture& f, PoolChange change) {
  const std::size_t answered = f.host.responses.size();
  (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem, std::move(change),
                       100 + answered);
  f.host.Run();
  REQUIRE(f.host.responses.size() == answered + 1);
  const auto& answer = f.host.responses.back().envelope;
  const auto* error = answer->ValueAs<gen::Error>();
  if (error == nullptr) CHECK(*answer->ValueAs<bool>());
  return error == nullptr ? std::string() : std::string(error->detail());
}

// What has changed, as the log tells it.
std::vector<std::string> Logged(const PoolFixture& f) {
  std::vector<std::string> texts;
  for (const auto& line : f.host.logs) {
    if (line.text.find(", was ") != std::string::npos) texts.push_back(line.text);
  }
  return texts;
}

TEST_CASE("pool change: mailboxes of workers, those that are there and those that come") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 1});
  f.Start();
  f.Send(1, 2);
  CHECK(f.host.Send(3).error() == gen::ErrProcessMailboxFull);
  CHECK(Change(f, {.worker_mailbox_size = 2}).empty());
  f.Send(3, 4);
  CHECK(f.host.Send(5).error() == gen::ErrProcessMailboxFull);
  CHECK(f.Inspect().at("worker_mailbox_size") == "2");
  const std::uint64_t replaced = f.Replace(101, gen::Reason::Error("fault"));
  CHECK(f.host.At(replaced).capacity == 2);
  CHECK(Change(f, {.worker_mailbox_size = 0}).empty());
  CHECK(f.host.At(102).capacity == 0);
  f.Ready(replaced);
  f.Send(5, 20);
  f.WorkAll();
  f.CheckConservation();
  CHECK(Logged(f) ==
        std::vector<std::string>{"worker_mailbox_size: 2, was 1", "worker_mailbox_size: 0, was 2"});
}

TEST_CASE("pool change: mailboxes of workers of another kind keep it; a custom one refuses") {
  PoolFixture f(
      {.pool_size = 2, .worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest)});
  f.Start();
  const auto lost = [&f] { return f.Number("messages_lost_full"); };
  f.Send(1, 3);
  CHECK(lost() == 1);
  CHECK(Change(f, {.worker_mailbox_size = 2}).empty());
  f.Send(4, 5);
  CHECK(lost() == 1);
  CHECK(Change(f, {.worker_mailbox_size = 1}).empty());
  f.Send(6, 6);
  CHECK(lost() == 2);
  const std::uint64_t replaced = f.Replace(101, gen::Reason::Error("fault"));
  CHECK(f.host.At(replaced).capacity == 1);
  CHECK(f.host.At(replaced).overflow == gen::Overflow::kDropNewest);
  CHECK(Change(f, {.worker_mailbox_size = 0}).empty());
  CHECK(f.Inspect().at("worker_mailbox_size") == "0");
  f.Ready(replaced);
  f.Send(7, 20);
  CHECK(lost() == 2);
  CHECK(Change(f, {.worker_mailbox_size = -1}).starts_with("worker_mailbox_size: -1"));
  CHECK(Change(f, {.worker_mailbox_size = 3}).empty());
  CHECK(f.host.At(replaced).capacity == 3);
  f.WorkAll();
  f.CheckConservation();
  CHECK(Logged(f) ==
        std::vector<std::string>{"worker_mailbox_size: 2, was 1", "worker_mailbox_size: 1, was 2",
                                 "worker_mailbox_size: 0, was 1", "worker_mailbox_size: 3, was 0"});

  PoolFixture custom({.pool_size = 2, .worker_mailbox = gen::Mailbox::Custom(nullptr)});
  custom.Start();
  CHECK(Change(custom, {.pool_size = 3, .worker_mailbox_size = 2}) ==
        "worker_mailbox_size: 2, but worker_mailbox is custom: a MailboxQueue of the program's, "
        "which alone knows its bound");
  CHECK(custom.Number("pool_size") == 2);
  CHECK(Change(custom, {.pool_size = 3}).empty());
}

TEST_CASE("pool change: an admission limit is measured from then on, and no longer") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  CHECK(f.host.At(101).duty == gen::WorkerDuty::kNone);
  CHECK(Change(f, {.admission_limit = 20ms}).empty());
  CHECK(f.host.rules.admission_limit == 20ms);
  CHECK(f.host.At(101).duty == gen::WorkerDuty::kMeasure);
  CHECK(f.host.At(102).duty == gen::WorkerDuty::kMeasure);
  CHECK(Change(f, {.admission_limit = 0ms}).empty());
  CHECK(f.host.rules.admission_limit == 0ms);
  CHECK(f.host.At(101).duty == gen::WorkerDuty::kNone);
  CHECK(Logged(f) ==
        std::vector<std::string>{"admission_limit: 20ms, was 0", "admission_limit: 0, was 20ms"});
}

TEST_CASE("pool change: the size, up and down") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  CHECK(Change(f, {.pool_size = 4}).empty());
  CHECK(f.Number("pool_size") == 4);
  CHECK(Change(f, {.pool_size = 1}).empty());
  CHECK(f.Number("pool_size") == 1);
  CHECK(Logged(f) == std::vector<std::string>{"pool_size: 4, was 2", "pool_size: 1, was 4"});
}

TEST_CASE("pool change: all or nothing, and errors name field and value") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  CHECK(Change(f, {.pool_size = 0, .worker_mailbox_size = 3}) ==
        "pool_size: 0 is outside 1..10000");
  CHECK(Change(f, {.pool_size = 3, .worker_mailbox_size = -1}) ==
        "worker_mailbox_size: -1 is outside 0..4000000");
  CHECK(Change(f, {.pool_size = 3, .admission_limit = -1ns}) ==
        "admission_limit: -1ns is less than 0");
  CHECK(Change(f, {.restart_backoff_min = 9s, .max_restarts = 7}) ==
        "restart_backoff_max: 5s is less than 9s");
  CHECK(f.Number("pool_size") == 2);
  CHECK(f.Inspect().at("worker_mailbox_size") == "0");
  CHECK(Logged(f).empty());
  CHECK(Change(f, {}).empty());
  CHECK(Logged(f).empty());
}

TEST_CASE("pool change: restarts are counted by the new limit") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  CHECK(Change(f, {.max_restarts = 1, .restart_period = 1h}).empty());
  const std::uint64_t second = f.Replace(101, gen::Reason::Error("fault"));
  f.Ready(second);
  CHECK(f.pool.calls.empty());
  f.host.End(second, gen::Reason::Error("fault"));
  f.host.Run();
  CHECK(f.host.ended);
}

TEST_CASE("pool change: in the pool's own handlers") {
  PoolFixture f({.pool_size = 1});
  CHECK(f.pool.Change({.pool_size = 2}).error() == gen::ErrNotAllowed);  // no process yet
  f.Start();
  f.Manage([](TestPool& pool) {
    CHECK(pool.Change({.pool_size = 2, .shutdown_timeout = 1s}));
    CHECK(pool.WorkerCount() == 2);
    return gen::Continue();
  });
  CHECK(Logged(f) ==
        std::vector<std::string>{"pool_size: 2, was 1", "shutdown_timeout: 1s, was 5s"});
}

TEST_CASE("pool change: the bounds of a pool that sizes itself") {
  PoolFixture f({.pool_size = 4, .autoscale = PoolAutoscale{.min = 2, .max = 8}});
  f.Start();
  CHECK(Change(f, {.autoscale_min = 9}) == "autoscale_max: 8 is less than autoscale_min: 9");
  CHECK(Change(f, {.autoscale_max = 0}) == "autoscale_max: 0 is outside 1..10000");
  CHECK(Change(f, {.pool_size = 9}) == "pool_size: 9 is outside 2..8, the bounds of autoscale");
  CHECK(Change(f, {.autoscale_target_wait = std::chrono::nanoseconds::max()}) ==
        "autoscale_target_wait: infinite is more than 60min");
  CHECK(PoolChange{.autoscale_target_wait = 1h}.Validate() == "");
  CHECK(PoolChange{.autoscale_target_wait = 1h + 1ns}.Validate() ==
        "autoscale_target_wait: 3600000000001ns is more than 60min");
  CHECK(Change(f, {.pool_size = 4, .autoscale_min = 5}) ==
        "pool_size: 4 is outside 5..8, the bounds of autoscale");
  CHECK(f.Number("pool_size") == 4);
  CHECK(Change(f, {.autoscale_min = 5, .autoscale_target_wait = 20ms}).empty());
  CHECK(f.Number("pool_size") == 5);
  CHECK(Change(f, {.autoscale_min = 1, .autoscale_max = 3}).empty());
  CHECK(f.Number("pool_size") == 3);
  CHECK(f.Inspect().at("autoscale") == "1..3 workers, a wait of 20 ms");
  CHECK(Change(f, {.pool_size = 6, .autoscale_max = 10}).empty());
  CHECK(f.Number("pool_size") == 6);
  CHECK(Logged(f) == std::vector<std::string>{"pool_size: 5, was 4", "autoscale_min: 5, was 2",
                                              "autoscale_target_wait: 20ms, was 10ms",
                                              "pool_size: 3, was 5", "autoscale_min: 1, was 5",
                                              "autoscale_max: 3, was 8", "pool_size: 6, was 3",
                                              "autoscale_max: 10, was 3"});
  PoolFixture other({.pool_size = 4});
  other.Start();
  CHECK(Change(other, {.autoscale_max = 8}) == "autoscale_max: 8, but the pool has no autoscale");
  CHECK(Change(other, {.autoscale_target_wait = 5ms}) ==
        "autoscale_target_wait: 5ms, but the pool has no autoscale");
  PoolFixture given({.pool_size = 4, .autoscale = PoolAutoscale{.min = 2, .max = 8}});
  given.host.given_change = {.autoscale_min = 6};
  given.Start();
  CHECK(given.Number("pool_size") == 6);
}

TEST_CASE("pool change: how busy the workers of a pool that sizes itself are, and its patience") {
  const PoolAutoscale autoscale{.min = 2, .max = 8};
  PoolFixture f({.pool_size = 4, .autoscale = autoscale});
  f.Start();
  const auto change = [&](double utilization, std::chrono::nanoseconds shrink_after) {
    return Change(
        f, {.autoscale_target_utilization = utilization, .autoscale_shrink_after = shrink_after});
  };
  for (const double wrong : {0.0, 1.0, -1.0, std::nan("")}) {
    CHECK(change(wrong, 2s) == fmt::format("autoscale_target_utilization: {}, must be more than 0 "
                                           "and less than 1",
                                           wrong));
    CHECK(PoolChange{.autoscale_target_utilization = wrong}.Validate() ==
          fmt::format("autoscale_target_utilization: {}, must be more than 0 and less than 1",
                      wrong));
  }
  CHECK(change(0.5, 1s - 1ns) == "autoscale_shrink_after: 999999999ns is less than 1s");
  CHECK(change(0.5, 720h + 1ns) ==
        "autoscale_shrink_after: 2592000000000001ns is more than 43200min");
  CHECK(PoolChange{.autoscale_shrink_after = 720h}.Validate() == "");
  CHECK(PoolChange{.autoscale_shrink_after = 720h + 1ns}.Validate() ==
        "autoscale_shrink_after: 2592000000000001ns is more than 43200min");
  CHECK(Logged(f).empty());
  CHECK(change(0.5, 2s).empty());
  CHECK(Logged(f) == std::vector<std::string>{"autoscale_target_utilization: 0.5, was 0.75",
                                              "autoscale_shrink_after: 2s, was 10s"});
  PoolFixture other({.pool_size = 4});
  other.Start();
  CHECK(Change(other, {.autoscale_target_utilization = 0.5}) ==
        "autoscale_target_utilization: 0.5, but the pool has no autoscale");
  CHECK(Change(other, {.autoscale_shrink_after = 2s}) ==
        "autoscale_shrink_after: 2s, but the pool has no autoscale");
}

TEST_CASE("pool change: workers that are added and removed are a line each time, if they are") {
  PoolFixture f({.pool_size = 2, .autoscale = PoolAutoscale{.min = 2, .max = 6}});
  f.Start();
  f.Manage([](TestPool& pool) {
    CHECK(pool.AddWorkers(4).value() == 6);
    CHECK(pool.RemoveWorkers(2).value() == 4);
    CHECK(pool.RemoveWorkersNow(1).value() == 3);
    for (const int wrong : {-3, 0, 4, kMaxPoolSize}) {
      CHECK(pool.AddWorkers(wrong).error() == gen::ErrIncorrect);
      CHECK(pool.RemoveWorkers(wrong).error() == gen::ErrIncorrect);
    }
    return gen::Continue();
  });
  f.host.spawns_until_failure = 1;
  f.Manage([](TestPool& pool) {
    CHECK_FALSE(pool.AddWorkers(3));
    return gen::Continue();
  });
  CHECK(Logged(f) == std::vector<std::string>{"pool_size: 6, was 2", "pool_size: 4, was 6",
                                              "pool_size: 3, was 4"});
}

TEST_CASE("pool change: a look at one tells what it would replace, and changes nothing") {
  PoolFixture f({.pool_size = 2, .admission_limit = 7ms});
  f.Start();
  const auto look = [&](const PoolChange& change) {
    (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem,
                         gen::PoolChangeCheck{change}, 100 + f.host.responses.size());
    f.host.Run();
    return f.host.responses.back().envelope.get();
  };
  core::Envelope* answer = look({.pool_size = 3, .admission_limit = 0ms});
  REQUIRE(answer->ValueAs<PoolChange>() != nullptr);
  CHECK(*answer->ValueAs<PoolChange>() == PoolChange{.pool_size = 2, .admission_limit = 7ms});
  answer = look({.pool_size = 3, .max_restarts = -1});
  REQUIRE(answer->ValueAs<gen::Error>() != nullptr);
  CHECK(answer->ValueAs<gen::Error>()->detail() == "max_restarts: -1 is outside 0..2147483647");
  CHECK(f.Number("pool_size") == 2);
  CHECK(Logged(f).empty());
}

TEST_CASE("pool change: bounds that would change the size are put back together with the size") {
  PoolFixture f({.pool_size = 6, .autoscale = PoolAutoscale{.min = 1, .max = 8}});
  f.Start();
  const auto before = [&](int max) {
    (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem,
                         gen::PoolChangeCheck{{.autoscale_max = max}},
                         100 + f.host.responses.size());
    f.host.Run();
    return *f.host.responses.back().envelope->ValueAs<PoolChange>();
  };
  CHECK(before(4) == PoolChange{.pool_size = 6, .autoscale_max = 8});
  CHECK(before(7) == PoolChange{.autoscale_max = 8});
}

TEST_CASE("pool change: what the node's options say goes before what Init says") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 5});
  f.host.given_change = {.pool_size = 3, .shutdown_timeout = 1s};
  f.Start();
  CHECK(f.Number("pool_size") == 3);
  CHECK(f.Inspect().at("worker_mailbox_size") == "5");
  CHECK(Logged(f) ==
        std::vector<std::string>{"pool_size: 3, was 2, by the node's options",
                                 "shutdown_timeout: 1s, was 5s, by the node's options"});
  PoolFixture wrong({.pool_size = 2});
  wrong.host.given_change = {.restart_backoff_min = 9s};
  CHECK_FALSE(wrong.host.Start(wrong.pool));
}

}  // namespace
}  // namespace ergon::act::testing
