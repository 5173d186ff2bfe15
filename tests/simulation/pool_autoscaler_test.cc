// The policy by which a pool sizes itself, alone, in front of a modelled pool: loads of many shapes, and a database
// that does not do more at once than it can.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/act/pool/autoscaler.h>
#include <ergon/testkit/random.h>
#include <ergon/testkit/seeds.h>

#include <size_changes.h>

namespace ergon::testkit::pool_autoscaler_test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using std::chrono::nanoseconds;
using Seconds = std::chrono::duration<double>;

// Messages that come by chance, one queue, and workers that handle one at a time. Time goes in steps.
class ModelledPool {
 public:
  struct Load {
    std::function<double(double)> arrivals;  // a second, at that second
    Seconds handling{0};
    bool varies = false;  // handling times, as those of a Poisson process; else all are the same
    // How fast one of so many messages that are being handled goes on, 1 without a database.
    std::function<double(double now, double running)> database = nullptr;
    double ends = 0;  // from then on nothing comes; 0: never
  };
  static constexpr Seconds kStep = 1ms;

  ModelledPool(std::uint64_t seed, const act::PoolAutoscale& options, Load load, int workers)
      : random_(seed),
        options_(options),
        load_(std::move(load)),
        scaler_(options),
        workers_(workers) {
    (void)scaler_.Look(Measure());
    Plan();
  }

  void RunUntil(Seconds end) {
    while (now_ < end.count()) {
      Step();
      // After the last load.
      if (load_.ends == 0 || now_ < load_.ends || !queue_.empty() || !running_.empty()) continue;
      now_ = look_at_ == 0 ? end.count() : std::max(now_, look_at_ - kStep.count());
    }
  }

  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] int workers() const { return workers_; }
  [[nodiscard]] const act::PoolAutoscaler& scaler() const { return scaler_; }
  [[nodiscard]] std::uint64_t handled() const { return handled_; }
  [[nodiscard]] bool was_within() const { return was_within_; }
  [[nodiscard]] const std::vector<SizeChange>& changes() const { return changes_; }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  // Of the messages that began since then, and before `until`.
  [[nodiscard]] double MeanWait(double since, double until = 1e9) const {
    double sum = 0;
    int count = 0;
    for (const auto& [at, wait] : waits_) {
      if (at < since || at >= until) continue;
      sum += wait;
      ++count;
    }
    return count == 0 ? 0 : sum / count;
  }

 private:
  void Step() {
    now_ += kStep.count();
    const double expected = load_.arrivals(now_) * kStep.count();
    double chance = expected;
    for (; chance >= 1; --chance) Arrive();
    if (random_.Chance(std::max(0.0, chance))) Arrive();
    Work();
    if (look_at_ != 0 && now_ >= look_at_) Look();
  }
  void Arrive() {
    ++arrived_;
    queue_.push_back(now_);
    if (look_at_ != 0 && !resting_) return;
    resting_ = false;
    scaler_.Woken(Measure());
    Plan();
  }
  void Work() {
    const auto running = static_cast<double>(running_.size());
    const double share = load_.database ? load_.database(now_, running) : 1;
    std::erase_if(running_, [&](Running& job) {
      job.left -= kStep.count() * share;
      if (job.left > 0) return false;
      ++handled_;
      const double took = now_ - job.began;
      const double of = std::min<double>(static_cast<double>(++known_), 16.0 * workers_);
      handling_ += (took - handling_) / of;
      return true;
    });
    while (static_cast<int>(running_.size()) < workers_ && !queue_.empty()) {
      waits_.emplace_back(now_, now_ - queue_.front());
      queue_.pop_front();
      const double takes = load_.handling.count() * (load_.varies ? -std::log(Uniform()) : 1);
      running_.push_back({now_, takes});
    }
  }
  void Look() {
    const int wanted = scaler_.Look(Measure());
    was_within_ = was_within_ && wanted >= options_.min && wanted <= options_.max;
    if (wanted != workers_) {
      const bool is_undone = scaler_.decisions().front().reason == kNoHelp;
      changes_.push_back({now_, workers_, wanted, is_undone});
    }
    workers_ = wanted;  // those that leave handle what they have
    Plan();
  }
  void Plan() {
    resting_ = scaler_.IsAtRest();
    const double period = Seconds(scaler_.Period()).count();
    look_at_ = period == 0 ? 0 : now_ + period;
  }
  [[nodiscard]] act::PoolMeasure Measure() const {
    double longest = 0;
    for (const Running& job : running_) longest = std::max(longest, now_ - job.began);
    const double handling = handling_ != 0 ? handling_ : longest;
    const double wait = static_cast<double>(queue_.size()) * handling / workers_;
    return {.now = Nanoseconds(now_).count(),
            .arrived = arrived_,
            .handled = handled_,
            .waiting = queue_.size(),
            .workers = workers_,
            .busy = static_cast<int>(running_.size()),
            .handling = Nanoseconds(handling),
            .wait = Nanoseconds(wait)};
  }
  static nanoseconds Nanoseconds(double seconds) {
    return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  double Uniform() { return static_cast<double>(random_.Below(1000000) + 1) / 1e6; }

  struct Running {
    double began;
    double left;
  };
  Random random_;
  const act::PoolAutoscale options_;
  const Load load_;
  act::PoolAutoscaler scaler_;
  double now_ = 0;
  double look_at_ = 0;
  bool resting_ = false;
  int workers_;
  bool was_within_ = true;
  std::deque<double> queue_;  // when they came
  std::vector<Running> running_;
  std::uint64_t arrived_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t known_ = 0;
  double handling_ = 0;
  std::vector<std::pair<double, double>> waits_;
  std::vector<SizeChange> changes_;
};

// What a load is like that a seed chooses.
struct Chosen {
  explicit Chosen(std::uint64_t by) : seed(by), random(by * 7919) {
    handling = Seconds(Between(0.004, 0.15));
    options.min = 1 + static_cast<int>(random.Below(3));
    options.max = 64;
    options.target_wait = std::chrono::duration_cast<nanoseconds>(handling * Between(0.5, 4));
    varies = random.Chance(0.5);
  }
  double Between(double least, double most) {
    return least + (most - least) * static_cast<double>(random.Below(1'000'000)) / 1e6;
  }
  // Messages a second that keep so many workers busy.
  [[nodiscard]] double Rate(double busy) const { return busy / handling.count(); }
  [[nodiscard]] double target() const { return Seconds(options.target_wait).count(); }
  // A pool with the fewest workers in front of such a load; the functions as of ModelledPool::Load.
  [[nodiscard]] ModelledPool Pool(std::function<double(double)> arrivals,
                                  std::function<double(double, double)> database = nullptr,
                                  double ends = 0) const {
    return {seed,
            options,
            {std::move(arrivals), handling, varies, std::move(database), ends},
            options.min};
  }

  const std::uint64_t seed;
  Random random;
  act::PoolAutoscale options;
  Seconds handling{0};
  bool varies = false;
};

template <class Test>
void ForSeeds(std::uint64_t count, Test test) {
  for (const std::uint64_t seed : SeedsToRun(1, count)) {
    const SeedNotice notice(seed);
    CAPTURE(seed);
    test(seed);
  }
}

// What throughput says is said by chance: of a hundred loads, few may be judged wrongly.
class Misjudged {
 public:
  explicit Misjudged(double most = 0.02) : most_(most) {}
  Misjudged(const Misjudged&) = delete;
  Misjudged& operator=(const Misjudged&) = delete;
  ~Misjudged() {
    CAPTURE(all_);
    CHECK(wrong_ <= 1 + most_ * all_);
  }
  void Count(bool is_wrong) {
    ++all_;
    if (is_wrong) ++wrong_;
  }

 private:
  const double most_;  // part of all
  int wrong_ = 0;
  int all_ = 0;
};

bool HasSaid(const ModelledPool& pool, std::string_view text) {
  const auto& decisions = pool.scaler().decisions();
  return std::any_of(decisions.begin(), decisions.end(), [&](const act::PoolDecision& decision) {
    return decision.reason.find(text) != std::string::npos;
  });
}

// What holds of any load: its numbers stay within their bounds, nothing is lost, it does not go down soon after it has
// gone up, and says so if it does not turn for this reason; and in all it turns at most once for each period.
void CheckLaws(const ModelledPool& pool, const act::PoolAutoscale& options) {
  CHECK(pool.was_within());
  const double period = Seconds(options.shrink_after).count();
  CheckTurns(pool.changes(), period);
  double grown_at = -1e9;
  for (const SizeChange& change : pool.changes()) {
    if (change.after > change.before) grown_at = change.at;
    if (change.after > change.before || change.is_undone) continue;
    CHECK(change.at - grown_at > period * 0.999);
  }
}

TEST_CASE(
    "pool autoscaler: a steady load gets the workers that it needs, and hardly others later") {
  Misjudged misjudged;
  Misjudged too_many(0.001);
  ForSeeds(150, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const double busy = chosen.Between(0.2, 24);
    const double rate = chosen.Rate(busy);
    ModelledPool pool = chosen.Pool([rate](double) { return rate; });
    pool.RunUntil(Seconds(120));
    CAPTURE(busy);
    CAPTURE(chosen.handling.count());
    misjudged.Count(pool.MeanWait(10) > 2 * chosen.target());
    CHECK(pool.workers() >= std::min(busy, 1.0));
    too_many.Count(pool.workers() > 2 * busy / chosen.options.target_utilization + 6);
    CheckLaws(pool, chosen.options);
    // Of direction, in the last two thirds.
    int turns = 0;
    int before = 0;
    for (const SizeChange& change : pool.changes()) {
      const int direction = change.after > change.before ? 1 : -1;
      if (change.at > 40 && direction != before && before != 0) ++turns;
      before = direction;
    }
    CHECK(turns <= 8);  // one for each shrink_after
  });
}

TEST_CASE("pool autoscaler: more workers within three handling times of a load that needs them") {
  Misjudged misjudged;
  Misjudged slow(0.001);  // messages that come by chance may come late
  ForSeeds(150, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const double few = chosen.Between(0.2, 4);
    const double many = chosen.Between(12, 30);
    constexpr double kStep = 30;
    ModelledPool pool =
        chosen.Pool([&](double now) { return chosen.Rate(now < kStep ? few : many); });
    pool.RunUntil(Seconds(kStep));
    const int before = pool.workers();
    if (before * 3 > many) return;
    const double handling = chosen.handling.count();
    // Before that nothing waits for so long.
    const double late = chosen.target() / (many / before - 1);
    pool.RunUntil(Seconds(kStep + late + std::max(3 * handling, 0.03)));
    CAPTURE(handling);
    CAPTURE(before);
    CAPTURE(many);
    slow.Count(pool.workers() <= before);
    pool.RunUntil(Seconds(60));
    CheckLaws(pool, chosen.options);
    misjudged.Count(pool.MeanWait(kStep + 2 + 20 * handling) > 2 * chosen.target());
  });
}

TEST_CASE("pool autoscaler: waves and bursts; when they are over it goes back, and looks no more") {
  Misjudged misjudged;
  ForSeeds(100, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const double busy = chosen.Between(1, 16);
    const double length = chosen.Between(2, 30);
    const bool bursts = chosen.random.Chance(0.3);
    const auto load = [&](double now) {
      if (now > 60) return 0.0;
      const double part = std::fmod(now, length) / length;
      if (bursts) return part < 0.02 ? chosen.Rate(busy) * 10 : 0.0;
      return chosen.Rate(busy) * (1 + std::sin(part * 6.283));
    };
    ModelledPool pool = chosen.Pool(load, nullptr, 60);
    pool.RunUntil(Seconds(60));
    if (!bursts) misjudged.Count(pool.MeanWait(20) > 2 * chosen.target());
    pool.RunUntil(Seconds(3600));
    CHECK(pool.workers() == chosen.options.min);
    CHECK(pool.scaler().IsAtRest());
    CHECK(pool.scaler().Period() == 0ns);
    CheckLaws(pool, chosen.options);
  });
}

TEST_CASE("pool autoscaler: workers that wait for one database are not made more than help") {
  Misjudged misjudged(0.06);
  ForSeeds(100, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const double most = std::floor(chosen.Between(3, 13));
    const double rate = chosen.Rate(most) * chosen.Between(1.5, 4);
    const auto database = [most](double, double running) { return std::min(1.0, most / running); };
    ModelledPool pool = chosen.Pool([rate](double) { return rate; }, database);
    pool.RunUntil(Seconds(90));
    CAPTURE(most);
    CAPTURE(chosen.handling.count());
    CheckLaws(pool, chosen.options);
    CHECK(HasSaid(pool, kNoHelp));
    misjudged.Count(pool.workers() > 3 * most + 4);
    CHECK(static_cast<double>(pool.handled()) > 0.8 * chosen.Rate(most) * 85);
  });
}

TEST_CASE("pool autoscaler: a database that only answers later is no reason to have few workers") {
  Misjudged misjudged;
  ForSeeds(100, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const double busy = chosen.Between(1, 6);
    const double slower = chosen.Between(2, 6);
    const double rate = chosen.Rate(busy);
    const auto database = [&](double now, double) { return now < 20 ? 1.0 : 1 / slower; };
    ModelledPool pool = chosen.Pool([rate](double) { return rate; }, database);
    pool.RunUntil(Seconds(150));
    CAPTURE(busy);
    CAPTURE(slower);
    CAPTURE(chosen.handling.count());
    CheckLaws(pool, chosen.options);
    misjudged.Count(pool.workers() < 0.9 * busy * slower ||
                    pool.MeanWait(120) > 2 * chosen.target() * slower);
  });
}

// Loads that follow each other, in an order and of a size that a seed chooses.
class Phases {
 public:
  enum class Kind : std::uint8_t { kSteady, kWave, kBursts, kSlow, kKinds };
  struct Phase {
    double begins;
    double ends;
    Kind kind;
    double busy;    // workers, in the mean
    double length;  // of a wave, or from burst to burst
    double slower;  // so many times as long does the database take for each message
  };

  explicit Phases(Chosen& chosen) {
    const std::uint64_t count = 3 + chosen.random.Below(3);
    double at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto kind =
          static_cast<Kind>(chosen.random.Below(static_cast<std::uint64_t>(Kind::kKinds)));
      const double ends = at + chosen.Between(15, 40);
      phases_.push_back({at, ends, kind, chosen.Between(0.2, kind == Kind::kSlow ? 6 : 16),
                         chosen.Between(2, 30), kind == Kind::kSlow ? chosen.Between(2, 5) : 1.0});
      at = ends;
    }
  }

  [[nodiscard]] const std::vector<Phase>& all() const { return phases_; }
  [[nodiscard]] double end() const { return phases_.back().ends; }
  [[nodiscard]] const Phase& At(double now) const {
    for (const Phase& phase : phases_) {
      if (now < phase.ends) return phase;
    }
    return phases_.back();
  }
  [[nodiscard]] double BusyAt(double now) const {
    if (now >= end()) return 0;
    const Phase& phase = At(now);
    const double part = std::fmod(now - phase.begins, phase.length) / phase.length;
    if (phase.kind == Kind::kWave) return phase.busy * (1 + std::sin(part * 6.283));
    if (phase.kind == Kind::kBursts) return phase.busy * (part < 0.02 ? 10 : 0.25);
    return phase.busy;
  }

 private:
  std::vector<Phase> phases_;
};

TEST_CASE("pool autoscaler: steps, waves, bursts and a slow database, one after the other") {
  Misjudged misjudged;
  ForSeeds(100, [&](std::uint64_t seed) {
    Chosen chosen(seed);
    const Phases phases(chosen);
    ModelledPool pool =
        chosen.Pool([&](double now) { return chosen.Rate(phases.BusyAt(now)); },
                    [&](double now, double) { return 1 / phases.At(now).slower; }, phases.end());
    pool.RunUntil(Seconds(phases.end()));
    CAPTURE(chosen.handling.count());
    for (const auto& phase : phases.all()) {
      // Of a burst all waits; what comes first after a step waits until there are workers.
      if (phase.kind == Phases::Kind::kBursts) continue;
      const double settled = phase.begins + 5 + 20 * chosen.handling.count() * phase.slower;
      if (settled >= phase.ends) continue;
      misjudged.Count(pool.MeanWait(settled, phase.ends) > 2 * chosen.target() * phase.slower);
    }
    pool.RunUntil(Seconds(3600));
    CheckLaws(pool, chosen.options);
    CHECK(pool.handled() != 0);
    CHECK(pool.handled() == pool.arrived());
    CHECK(pool.workers() == chosen.options.min);
    CHECK(pool.scaler().Period() == 0ns);
  });
}

}  // namespace ergon::testkit::pool_autoscaler_test
