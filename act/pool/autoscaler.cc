#include <ergon/act/pool/autoscaler.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {
namespace {

using std::chrono::nanoseconds;

constexpr double kOneSecond = 1e9;   // ns
constexpr double kWeight = 1.0 / 8;  // of the last look, in moving averages
constexpr double kLeastGain = 0.5;   // of what new workers should bring
constexpr double kLeastGainUnsure = 0.2;
constexpr double kFewest = 16;        // messages that a pace is known by
constexpr double kFewToCompare = 32;  // and compared by
constexpr double kMany = 96;          // and by that it is sure
constexpr int kSmall = 4;             // to so many workers it may grow at once
constexpr int kMostPatience = 32;
constexpr int kPatienceForMany = 4;  // workers, twice as many as are needed
constexpr int kCalm = 4;             // windows, in which a shrink has turned out to be right
constexpr int kSteps = 4;            // it shrinks by one part of so many

void Move(double& mean, double value) { mean += (value - mean) * kWeight; }

std::uint64_t Between(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

// Workers that have begun together are done together: a count may miss one message of each worker, or have one too
// many.
double EnoughToBeSure(int workers) { return std::max(kMany, 8.0 * workers); }

// And fewer messages may be chance: the handling times of n messages that vary as those of a Poisson process differ by
// one part in the square root of n, and twice that has to be less than what is missing at the least gain.
double EnoughToJudge(double growth) {
  const double part = growth / (growth - 1);
  return 32 * part * part;
}

}  // namespace

std::string PoolDecision::ToString() const {
  const std::string figures = fmt::format("({:.1f}/s arrive, handling {}, wait {})", arrivals,
                                          core::RoundTime(handling), core::RoundTime(wait));
  return before == after ? fmt::format("stays at {}: {} {}", before, reason, figures)
                         : fmt::format("{} -> {} workers: {} {}", before, after, reason, figures);
}

nanoseconds PoolAutoscaler::Period() const {
  // A look costs some time for each worker.
  constexpr nanoseconds kForEach = std::chrono::microseconds(10);
  const nanoseconds least = kShortestPeriod + kForEach * (last_ ? last_->workers : 0);
  if (IsAtRest()) return last_->workers == options_.min ? nanoseconds(0) : kLongestPeriod;
  return std::clamp(handling_ / 2, std::min(least, kLongestPeriod), kLongestPeriod);
}

bool PoolAutoscaler::IsAtRest() const {
  return last_ && quiet_since_ != 0 && last_->now - quiet_since_ >= kRest.count();
}

void PoolAutoscaler::Woken(const PoolMeasure& measure) {
  last_ = measure;
  quiet_since_ = 0;
}

// -- measures

void PoolAutoscaler::Measure(const PoolMeasure& now) {
  const double time = static_cast<double>(now.now - last_->now) / kOneSecond;
  const std::uint64_t arrived = Between(now.arrived, last_->arrived);
  const std::uint64_t handled = Between(now.handled, last_->handled);
  arrivals_now_ = static_cast<double>(arrived) / time;
  Move(arrivals_, arrivals_now_);
  Move(handled_, static_cast<double>(handled) / time);
  Move(busy_, now.busy);
  if (now.handling.count() > 0) {
    handling_ = now.handling;
  } else if (handled_ > 0) {
    handling_ = nanoseconds(static_cast<std::int64_t>(busy_ / handled_ * kOneSecond));
  }
  const bool is_quiet = arrived == 0 && now.busy == 0 && now.waiting == 0;
  if (!is_quiet) quiet_since_ = 0;
  if (is_quiet && quiet_since_ == 0) quiet_since_ = now.now;
  late_looks_ = IsLate(now) ? late_looks_ + 1 : 0;
  if (late_looks_ == 0) has_told_ = false;
  if (late_looks_ == 0 && now.busy < now.workers) {
    stretch_.reset();
    trial_.reset();  // it was enough
  } else if (!stretch_ && now.now >= stretch_from_ && now.leaving == 0) {
    stretch_ = Stretch{now.now, now.handled};
  }
}

double PoolAutoscaler::HandledNow(const PoolMeasure& now) const {
  return stretch_ ? static_cast<double>(Between(now.handled, stretch_->handled)) : 0;
}

double PoolAutoscaler::PaceNow(const PoolMeasure& now) const {
  const double handled = HandledNow(now);
  if (handled < std::max(kFewest, 4.0 * now.workers) || now.now <= stretch_->since) return 0;
  const double time = static_cast<double>(now.now - stretch_->since) / kOneSecond;
  return handled / time / now.workers;
}

int PoolAutoscaler::Look(const PoolMeasure& now) {
  if (last_ && now.now <= last_->now) return now.workers;
  if (last_) Measure(now);
  const bool is_first = !last_;
  last_ = now;
  const int within = std::clamp(now.workers, options_.min, options_.max);
  if (within != now.workers)
    return Decide(now, within, fmt::format("its bounds are {}..{}", options_.min, options_.max));
  if (is_first) return now.workers;
  if (const auto back = Judge(now)) return Undo(now, *back);
  if (late_looks_ >= 2 || now.wait > 2 * options_.target_wait) return Grow(now);
  return Shrink(now);
}

// -- growth

std::optional<int> PoolAutoscaler::Judge(const PoolMeasure& now) {
  const double pace = trial_ ? PaceNow(now) : 0;
  if (pace == 0) return std::nullopt;
  if (trial_->pace == 0) {  // from now on there is something to compare with
    trial_.reset();
    return std::nullopt;
  }
  const double gain =
      (pace * now.workers / trial_->pace - trial_->from) / (now.workers - trial_->from);
  const double handled = HandledNow(now);
  const double enough = EnoughToJudge(static_cast<double>(now.workers) / trial_->from);
  const bool is_sure = handled >= std::max(enough, EnoughToBeSure(now.workers));
  if (gain >= kLeastGain) {
    // To go on by chance costs less than to go back, except where more was no help before.
    if (handled < enough / (limit_ ? 2 : 4)) return std::nullopt;
    trial_.reset();
    limit_.reset();
    limit_patience_ = 1;
    return std::nullopt;
  }
  if (!is_sure) return std::nullopt;
  if (gain >= trial_->least_gain) {
    trial_.reset();
    return std::nullopt;
  }
  const int same = static_cast<int>(std::lround(pace * now.workers / trial_->pace));
  return std::clamp(same, std::max(trial_->from, options_.min), now.workers);
}

int PoolAutoscaler::Undo(const PoolMeasure& now, int workers) {
  trial_.reset();  // also if the number stays
  limit_reason_ = "throughput no longer rises with workers";
  LimitTo(workers, now.now);
  has_told_ = true;
  return Decide(now, workers, limit_reason_);
}

void PoolAutoscaler::LimitTo(int workers, std::int64_t now) {
  limit_ = workers;
  limit_until_ = now + (options_.shrink_after * limit_patience_).count();
  limit_patience_ = std::min(kMostPatience, 2 * limit_patience_);
}

int PoolAutoscaler::Needed(const PoolMeasure& now) const {
  const double handling = static_cast<double>(handling_.count());
  if (handling == 0) return options_.max;
  const double busy = std::max(arrivals_, arrivals_now_) * handling / kOneSecond;
  const double time = std::max(handling, static_cast<double>(options_.target_wait.count()));
  const double needed =
      busy / options_.target_utilization + static_cast<double>(now.waiting) * handling / time;
  return static_cast<int>(std::min(std::ceil(needed), static_cast<double>(options_.max)));
}

void PoolAutoscaler::BeginTrial(const PoolMeasure& now) {
  const double handled = HandledNow(now);
  trial_ =
      Trial{.from = now.workers,
            .pace = handled < kFewToCompare ? 0 : PaceNow(now),
            .least_gain = handled < EnoughToBeSure(now.workers) ? kLeastGainUnsure : kLeastGain,
            .patience = std::max(options_.shrink_after, 2 * handling_).count(),
            .since = now.now,
            .handled = now.handled};
}

bool PoolAutoscaler::AwaitsTrial(const PoolMeasure& now) {
  if (!trial_) return false;
  if (now.now - trial_->since < trial_->patience) return true;
  // Less than one message of each worker: they hang. Without a stretch nothing can be compared.
  const std::uint64_t handled =
      stretch_ ? Between(now.handled, std::max(stretch_->handled, trial_->handled)) : 0;
  if (handled < static_cast<std::uint64_t>(now.workers)) {
    trial_.reset();
    return false;
  }
  trial_->since = now.now;
  trial_->handled = now.handled;
  return true;
}

int PoolAutoscaler::Grow(const PoolMeasure& now) {
  enough_since_ = 0;
  if (now.workers == options_.max) return Stay(now, "autoscale.max allows no more");
  int most = std::min(options_.max, std::max(2 * now.workers, kSmall));
  if (limit_ && now.workers < *limit_) {
    most = std::min(most, *limit_);
  } else if (limit_) {
    if (now.now < limit_until_) return Stay(now, limit_reason_);
    most = std::min(most, now.workers + std::max(1, now.workers / 2));
  }
  if (AwaitsTrial(now)) {
    // That is so after each growth: it is worth telling only when it lasts.
    if (now.now - trial_->since < trial_->patience / 2) return now.workers;
    return Stay(now, "what the last growth has brought is not known yet");
  }
  if (shrunk_at_ != 0) {
    const std::int64_t soon = (options_.shrink_after * shrink_patience_).count();
    if (now.now - shrunk_at_ <= soon) {
      shrink_patience_ = std::min(kMostPatience, 2 * shrink_patience_);
    }
    shrunk_at_ = 0;
  }
  BeginTrial(now);
  has_told_ = false;  // with more workers there may be another reason to stay
  const int after = std::clamp(Needed(now), now.workers + 1, most);
  return Decide(now, after,
                fmt::format("messages wait longer than {}", core::RoundTime(options_.target_wait)));
}

int PoolAutoscaler::Stay(const PoolMeasure& now, std::string reason) {
  // Once for all the time that messages wait.
  if (std::exchange(has_told_, true)) return now.workers;
  return Decide(now, now.workers, std::move(reason));
}

void PoolAutoscaler::Failed(std::string_view why) {
  trial_.reset();
  limit_reason_ = fmt::format("workers cannot be started: {}", why);
  LimitTo(last_->workers, last_->now);
  has_told_ = false;
  // It has not happened.
  decisions_.pop_front();
  --decided_;
  (void)Stay(*last_, limit_reason_);
}

// -- less

int PoolAutoscaler::Shrink(const PoolMeasure& now) {
  const int needed = static_cast<int>(
      std::clamp(std::ceil(busy_ / options_.target_utilization - 1e-6),
                 static_cast<double>(options_.min), static_cast<double>(options_.max)));
  // One in ten more or less is no reason, except that only a pool with the fewest comes to rest.
  const int slack = needed == options_.min ? 1 : std::max(1, now.workers / 10);
  if (late_looks_ != 0 || now.workers - needed < slack) {
    enough_since_ = 0;
    return now.workers;
  }
  if (enough_since_ == 0) {
    enough_since_ = now.now;
    most_needed_ = needed;
  }
  most_needed_ = std::max(most_needed_, needed);
  // Far too many are not kept for so long.
  const int patience = 2 * most_needed_ > now.workers
                           ? shrink_patience_
                           : std::min(shrink_patience_, kPatienceForMany);
  const nanoseconds window = options_.shrink_after * patience;
  if (now.now - enough_since_ < window.count()) return now.workers;
  if (shrunk_at_ != 0 && now.now - shrunk_at_ >= kCalm * window.count()) {
    shrink_patience_ = std::max(1, shrink_patience_ / 2);  // the last time was right
  }
  shrunk_at_ = now.now;
  const int least = now.workers - std::max(1, now.workers / kSteps);
  const int after = std::max(most_needed_, least);
  const std::string reason =
      fmt::format("{} {} been enough for {}", most_needed_, most_needed_ == 1 ? "has" : "have",
                  core::RoundTime(window));
  return Decide(now, after, reason);
}

int PoolAutoscaler::Decide(const PoolMeasure& now, int after, std::string reason) {
  decisions_.push_front(
      {now.now, now.workers, after, arrivals_, handling_, now.wait, std::move(reason)});
  if (decisions_.size() > kRemembered) decisions_.pop_back();
  ++decided_;
  if (after == now.workers) return after;
  if (after < now.workers) trial_.reset();
  enough_since_ = 0;
  stretch_.reset();
  stretch_from_ = now.now + handling_.count();
  return after;
}

void PoolAutoscaler::Resized() {
  trial_.reset();
  stretch_.reset();
  enough_since_ = 0;
  shrunk_at_ = 0;
  if (last_) stretch_from_ = last_->now + handling_.count();
}

}  // namespace ergon::act
