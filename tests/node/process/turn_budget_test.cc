#include <ergon/node/process/turn_budget.h>

#include <doctest/doctest.h>

namespace ergon::node {
namespace {

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kTick = 4 * kMillisecond;

// A machine whose clocks a test moves.
struct FakeTime {
  static inline std::int64_t now = 0;
  static inline int reads = 0;         // of the exact clock
  static inline int coarse_reads = 0;  // of the other one

  static std::int64_t Now() {
    ++reads;
    return now;
  }
  static std::int64_t CoarseNow() {
    ++coarse_reads;
    return now / kTick * kTick;
  }
  // Right after a tick.
  static void Reset() {
    now = 100 * kTick;
    reads = coarse_reads = 0;
  }
};

using FakeBudget = BasicTurnBudget<FakeTime>;

core::DispatcherOptions Options(int throughput, std::int64_t turn_ns, std::int64_t limit_ns) {
  core::DispatcherOptions options;
  options.throughput = throughput;
  options.turn_ns = turn_ns;
  options.turn_limit_ns = limit_ns;
  return options;
}

// A turn with messages of `cost(n)` ns for the n-th, from 1 on: how many it handles, at most `most`. As in
// ProcessRunner, the last one that waits is counted only if that is a look.
template <class Cost>
int Turn(const core::DispatcherOptions& options, TurnPace& pace, Cost cost, int most = 100'000) {
  FakeBudget budget(options.throughput, FakeTime::CoarseNow());
  if (pace.IsWatched()) budget.Watch(options, pace);
  int messages = 0;
  do {
    FakeTime::now += cost(++messages);
    if (messages == most && !budget.LooksNext()) break;
  } while ((budget.Spend() || budget.Look(options, pace)) && messages < most);
  return messages;
}

auto Each(std::int64_t cost) {
  return [cost](int) { return cost; };
}

TEST_CASE("turn budget: without times it is the throughput, exactly") {
  FakeTime::Reset();
  for (const int throughput : {1, 2, 3, 31, 32, 4096}) {
    CAPTURE(throughput);
    TurnPace pace;
    CHECK(Turn(Options(throughput, 0, 0), pace, Each(5 * kMillisecond)) == throughput);
    CHECK(Turn(Options(throughput, 0, kMillisecond), pace, Each(10)) == throughput);
    CHECK(FakeTime::reads == 0);
  }
}

TEST_CASE("turn budget: messages that are not quick end the turn at the throughput") {
  for (const int throughput : {1, 2, 3, 31, 32, 4096}) {
    CAPTURE(throughput);
    FakeTime::Reset();
    TurnPace pace;
    CHECK(Turn(Options(throughput, 20 * kMicrosecond, 0), pace, Each(20 * kMicrosecond)) ==
          throughput);
  }
}

TEST_CASE("turn budget: quick messages go on until the time is over") {
  for (const std::int64_t limit : {std::int64_t{0}, kMillisecond}) {
    FakeTime::Reset();
    TurnPace pace;
    CHECK(Turn(Options(32, 20 * kMicrosecond, limit), pace, Each(10)) == 2016);
    CHECK(FakeTime::reads == 2016 / 32 + 1);
    CHECK(Turn(Options(1, 20 * kMicrosecond, limit), pace, Each(10)) == 1);  // one is one
    CHECK(!pace.IsWatched());
  }
  // A limit below that time counts too.
  FakeTime::Reset();
  TurnPace pace;
  CHECK(Turn(Options(32, 20 * kMicrosecond, 10 * kMicrosecond), pace, Each(10)) == 1024);
}

TEST_CASE("turn budget: a turn of few messages reads no clock but the coarse one, seldom") {
  FakeTime::Reset();
  TurnPace pace;
  const auto options = Options(32, 20 * kMicrosecond, kMillisecond);
  CHECK(Turn(options, pace, Each(10), 3) == 3);
  CHECK(FakeTime::coarse_reads == 1);  // the one that the turn begins with, which it has anyway
  CHECK(Turn(options, pace, Each(10), 15) == 15);
  CHECK(FakeTime::coarse_reads == 3);
  CHECK(FakeTime::reads == 0);
}

TEST_CASE("turn budget: the first slow turn ends within a few messages") {
  for (const std::int64_t cost : {2 * kMillisecond, 20 * kMillisecond}) {
    CAPTURE(cost);
    FakeTime::Reset();
    TurnPace pace;
    CHECK(Turn(Options(32, 20 * kMicrosecond, kMillisecond), pace, Each(cost)) ==
          FakeBudget::kFirstStride);
    CHECK(pace.IsWatched());
  }
  // Wherever in the turn they begin to be slow.
  for (int quick = 0; quick < 2000; ++quick) {
    CAPTURE(quick);
    FakeTime::Reset();
    TurnPace pace;
    const int messages =
        Turn(Options(32, 20 * kMicrosecond, kMillisecond), pace,
             [quick](int message) { return message <= quick ? 10 : 20 * kMillisecond; });
    CHECK(messages > quick);
    CHECK(messages <= quick + FakeBudget::kStride);
    CHECK(pace.IsWatched());
  }
}

TEST_CASE("turn budget: a process that is known to be slow has its time, and not a message more") {
  FakeTime::Reset();
  TurnPace pace;
  const auto options = Options(32, 20 * kMicrosecond, kMillisecond);
  (void)Turn(options, pace, Each(2 * kMillisecond));
  for (int turn = 0; turn < 100; ++turn) {
    CHECK(Turn(options, pace, Each(2 * kMillisecond)) == 1);
    CHECK(Turn(options, pace, Each(300 * kMicrosecond)) == 4);
    CHECK(Turn(options, pace, Each(40 * kMicrosecond)) == 25);
  }
  CHECK(Turn(Options(3, 20 * kMicrosecond, kMillisecond), pace, Each(100 * kMicrosecond)) == 3);
}

TEST_CASE("turn budget: slower than the limit allows on average is slow, even without a tick") {
  FakeTime::Reset();
  TurnPace pace;
  CHECK(Turn(Options(32, 20 * kMicrosecond, kMillisecond), pace, Each(40 * kMicrosecond)) == 32);
  CHECK(pace.IsWatched());
}

TEST_CASE("turn budget: a slow process that has become quick is trusted again") {
  FakeTime::Reset();
  TurnPace pace;
  const auto options = Options(32, 20 * kMicrosecond, kMillisecond);
  pace.Watch();
  // Watched until the turn is over.
  CHECK(Turn(options, pace, Each(10)) == 2000);
  CHECK(FakeTime::reads == 2001);
  CHECK(!pace.IsWatched());
  CHECK(Turn(options, pace, Each(10)) == 2016);
  CHECK(FakeTime::reads == 2001 + 64);
  // Also in turns of one message each.
  pace.Watch();
  for (int turn = 0; turn < 32; ++turn) {
    CHECK(pace.IsWatched());
    CHECK(Turn(options, pace, Each(10), 1) == 1);
  }
  CHECK(!pace.IsWatched());
}

TEST_CASE("turn budget: turns that end with a slow message are known, too") {
  const auto options = Options(32, 20 * kMicrosecond, kMillisecond);
  for (int messages = FakeBudget::kFirstStride; messages <= 8; ++messages) {
    FakeTime::Reset();
    TurnPace pace;
    CHECK(Turn(options, pace, Each(20 * kMillisecond), messages) == FakeBudget::kFirstStride);
    CHECK(pace.IsWatched());
  }
  // Each message is a look with a small throughput.
  FakeTime::Reset();
  TurnPace pace;
  CHECK(Turn(Options(2, 20 * kMicrosecond, kMillisecond), pace, Each(20 * kMillisecond), 1) == 1);
  CHECK(pace.IsWatched());
}

TEST_CASE("turn budget: a handler that has waited begins a time slice of its own") {
  const auto options = Options(32, 20 * kMicrosecond, kMillisecond);
  // As if each had waited for a second.
  const auto waits = [](TurnPace& pace) {
    return [&pace](int) {
      pace.NoteWait();
      return 1000 * kMillisecond;
    };
  };
  FakeTime::Reset();
  TurnPace pace;
  CHECK(Turn(options, pace, waits(pace)) == 32);
  CHECK(!pace.IsWatched());
  pace.Watch();
  CHECK(Turn(options, pace, waits(pace)) == 32);
  CHECK(!pace.IsWatched());
  // What a former turn has waited for does not excuse this one.
  pace.Watch();
  pace.NoteWait();
  CHECK(Turn(options, pace, Each(2 * kMillisecond)) == 1);
}

TEST_CASE("turn budget: measures the machine's time") {
  TurnPace pace;
  const auto options = Options(32, kMillisecond, 0);
  TurnBudget budget(options.throughput, MachineTime::CoarseNow());
  const std::int64_t start = core::SteadyNow();
  while (budget.Spend() || budget.Look(options, pace)) {
  }
  CHECK(core::SteadyNow() - start >= 900'000);
}

}  // namespace
}  // namespace ergon::node
