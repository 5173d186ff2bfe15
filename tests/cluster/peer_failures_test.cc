// How long to wait before a node is dialled again, and what the log has of it.
#include <chrono>

#include <doctest/doctest.h>

#include <ergon/node/cluster/connection/peer_failures.h>

namespace ergon::dist {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST_CASE(
    "peer failures: a pause after each failure, twice as long each time, until it is reached") {
  PeerFailures failures;
  PeerFailures::Time now{1h};
  const gen::Atom away("away@host");
  CHECK(failures.PauseBeforeDial(away, now) == 0ns);
  for (const auto pause : {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 50ms, 50ms}) {
    failures.FailedToDial(away, now);
    CHECK(failures.PauseBeforeDial(away, now) == pause);
    CHECK(failures.PauseBeforeDial(gen::Atom("other@host"), now) == 0ns);
    CHECK(failures.PauseBeforeDial(away, now + pause - 1ns) == 1ns);
    now += pause;
    CHECK(failures.PauseBeforeDial(away, now) == 0ns);
  }
  failures.Reached(away);
  failures.FailedToDial(away, now);
  CHECK(failures.PauseBeforeDial(away, now) == 1ms);
  failures.FailedToDial(away, now);
  CHECK(failures.PauseBeforeDial(away, now) == 2ms);
  // Long ago.
  now += 2s;
  failures.FailedToDial(away, now);
  CHECK(failures.PauseBeforeDial(away, now) == 1ms);
}

TEST_CASE("peer failures: lost messages of lines that were left out are in the next one") {
  PeerFailures failures;
  PeerFailures::Time now{1h};
  const gen::Atom away("away@host");
  const auto line = failures.LineOf(away, "it is away", 0, now);
  REQUIRE(line);
  CHECK(line->text == "network: no connection with away@host: it is away");
  int lines = 1;
  for (int i = 0; i < 99; ++i) lines += failures.LineOf(away, "it is away", 2, now) ? 1 : 0;
  CHECK(lines == gen::LogLimit::kLines);
  CHECK(failures.LineOf(gen::Atom("other@host"), "it is away", 0, now));
  now += gen::LogLimit::kPeriod;
  const auto next = failures.LineOf(away, "it is away", 1, now);
  REQUIRE(next);
  CHECK(next->unsent == 2 * 90 + 1);
  CHECK(next->text ==
        "network: no connection with away@host: it is away; messages that were not sent: 181 "
        "(90 lines like this were left out before)");
}

TEST_CASE("peer failures: lines that either limit has left out are told once, and none is lost") {
  PeerFailures failures;
  PeerFailures::Time now{1h};
  const gen::Atom away("away@host");
  for (int i = 0; i < 15; ++i) (void)failures.LineOf(away, "it is away", 0, now);
  const auto fill = [&](int first, int lines) {
    for (int i = first; i < first + lines; ++i) {
      (void)failures.LineOf(gen::Atom("n" + std::to_string(i)), "it is away", 0, now);
    }
  };
  fill(0, PeerFailures::kLines);  // 10 of them are left out
  now += gen::LogLimit::kPeriod;
  fill(1000, 1);  // tells of the 10
  fill(2000, PeerFailures::kLines - 1);
  CHECK_FALSE(failures.LineOf(away, "it is away", 0, now));  // of the 5, and is left out itself
  now += gen::LogLimit::kPeriod;
  CHECK(failures.LineOf(away, "it is away", 0, now)->text ==
        "network: no connection with away@host: it is away (6 lines like this were left out "
        "before)");
}

TEST_CASE("peer failures: peers under ever new names fill no log") {
  PeerFailures failures;
  PeerFailures::Time now{1h};
  const auto line = [&](int number) {
    return failures.LineOf(gen::Atom("n" + std::to_string(number)), "it is away", 0, now);
  };
  int lines = 0;
  for (int i = 0; i < 1000; ++i) lines += line(i) ? 1 : 0;
  CHECK(lines == PeerFailures::kLines);
  now += gen::LogLimit::kPeriod;
  const auto next = line(1000);
  REQUIRE(next);
  CHECK(next->text ==
        "network: no connection with n1000: it is away (800 lines like this were left out before)");
}

TEST_CASE("peer failures: however many nodes there are, the memory is bounded") {
  PeerFailures failures;
  const PeerFailures::Time now{1h};
  for (int i = 0; i < 3000; ++i) failures.FailedToDial(gen::Atom("n" + std::to_string(i)), now);
  CHECK(failures.PauseBeforeDial(gen::Atom("n0"), now) == 0ns);
  CHECK(failures.PauseBeforeDial(gen::Atom("n2999"), now) == 1ms);
}

}  // namespace ergon::dist
