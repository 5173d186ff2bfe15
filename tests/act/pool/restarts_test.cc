#include <ergon/act/pool/restarts.h>

#include <vector>

#include <doctest/doctest.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST_CASE("pool restarts: failures in a row wait longer and longer") {
  PoolRestarts restarts({.restart_backoff_min = 10ms, .restart_backoff_max = 65ms});
  int failures = 0;
  std::vector<nanoseconds> delays;
  for (int i = 0; i < 7; ++i) delays.push_back(restarts.Delay(false, failures));
  CHECK(delays == std::vector<nanoseconds>{0ms, 10ms, 20ms, 40ms, 65ms, 65ms, 65ms});
}

TEST_CASE("pool restarts: a healthy worker makes good for those before it") {
  PoolRestarts restarts({});
  int failures = 7;
  CHECK(restarts.Delay(true, failures) == 0ms);
  CHECK(failures == 0);
  CHECK(restarts.Delay(false, failures) == 0ms);
  CHECK(restarts.Delay(false, failures) == 10ms);
}

TEST_CASE("pool restarts: healthy is who has handled a message, or lived for a second") {
  CHECK(PoolRestarts::WasHealthy(1, 0ms));
  CHECK(PoolRestarts::WasHealthy(0, 1s));
  CHECK_FALSE(PoolRestarts::WasHealthy(0, 999ms));
  CHECK_FALSE(PoolRestarts::WasHealthy(0, 0ms));
}

TEST_CASE("pool restarts: no overflow however often") {
  PoolRestarts restarts({.restart_backoff_max = nanoseconds::max()});
  int failures = 0;
  nanoseconds last{0};
  for (int i = 0; i < 200; ++i) {
    const nanoseconds delay = restarts.Delay(false, failures);
    REQUIRE(delay >= last);
    last = delay;
  }
  CHECK(last == nanoseconds::max());
}

TEST_CASE("pool restarts: intensity is counted within the period") {
  PoolRestarts restarts({.max_restarts = 2, .restart_period = 100ns});
  CHECK_FALSE(restarts.Exceeded(0));
  CHECK_FALSE(restarts.Exceeded(50));
  CHECK_FALSE(restarts.Exceeded(101));  // the first is forgotten
  CHECK(restarts.Exceeded(150));        // 50, 101, 150
  CHECK(restarts.GiveUpText() == "worker restarts: 3 within 0 ms exceed max_restarts 2");
}

TEST_CASE("pool restarts: without a limit there is none") {
  PoolRestarts restarts({});
  for (int i = 0; i < 10'000; ++i) REQUIRE_FALSE(restarts.Exceeded(0));
}

}  // namespace
}  // namespace ergon::act
