// How many workers a pool should have. Pure policy: measures in, decisions out; time is what the measures say.
//
// Three parts, each from the literature:
//
// * Little's law (J. D. C. Little, "A Proof for the Queuing Formula L = lambda W", 1961): arrivals times handling time
//   are the workers that are busy in the mean; by the utilization that is wanted, the workers that are needed. What
//   waits already needs some more, which work it off in time.
// * A stabilization window, as of the Horizontal Pod Autoscaler of Kubernetes: it grows by what it sees now, and
//   shrinks to the most that was needed in a window of time. A shrink that has to be taken back doubles the window.
// * Hill climbing, as of the thread pool of .NET (Hellerstein, Morrison and Eilebrecht, "Applying Control Theory in the
//   Real World", 2009): growth is an experiment. One that has not raised throughput is undone, to the number of workers
//   that do the same at the pace from before, as the gradient of Netflix's concurrency-limits has it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/act/pool_autoscale.h>

namespace ergon::act {

// What a pool sees of itself.
struct PoolMeasure {
  std::int64_t now = 0;       // ns of any clock
  std::uint64_t arrived = 0;  // so far: messages that were accepted or refused
  std::uint64_t handled = 0;  // so far
  // Now; workers that leave, and what they have, are in `leaving` only.
  std::uint64_t waiting = 0;
  int workers = 0;
  int busy = 0;
  std::uint64_t leaving =
      0;  // messages that wait at workers that leave, which count as handled later
  std::chrono::nanoseconds handling{0};  // of one message, of late; 0: not known
  std::chrono::nanoseconds wait{0};      // of one that comes now, estimated
};

// One decision, with the figures it was made by.
struct PoolDecision {
  std::int64_t at = 0;  // ns, as PoolMeasure::now
  int before = 0;       // workers
  int after = 0;        // the same: it stays, though it should grow
  double arrivals = 0;  // a second
  std::chrono::nanoseconds handling{0};
  std::chrono::nanoseconds wait{0};
  std::string reason;

  // As in "4 -> 8 workers: messages wait longer than 10 ms (250/s arrive, handling 20 ms, wait 34 ms)".
  [[nodiscard]] std::string ToString() const;
};

class PoolAutoscaler {
 public:
  static constexpr std::size_t kRemembered = 20;
  static constexpr std::chrono::nanoseconds kShortestPeriod = std::chrono::milliseconds(10);
  static constexpr std::chrono::nanoseconds kLongestPeriod = std::chrono::seconds(1);
  // Nothing to do for so long is rest.
  static constexpr std::chrono::nanoseconds kRest = std::chrono::seconds(1);

  explicit PoolAutoscaler(const PoolAutoscale& options) : options_(options) {}
  // Uses these options from now on. What has been measured stays.
  void SetOptions(const PoolAutoscale& options) { options_ = options; }

  // Returns how many workers the pool should have now, within the bounds. If it has another number, the caller changes
  // that before the next look, or calls Failed.
  int Look(const PoolMeasure& measure);
  // Notes that somebody else has changed the number of workers.
  void Resized();
  // Notes that the growth that the last look asked for has failed. The pool has as many workers as before.
  void Failed(std::string_view why);

  // Returns after which time to look again; 0: when a message has come.
  [[nodiscard]] std::chrono::nanoseconds Period() const;
  // Returns whether nothing has come for a while. Then the caller calls Woken when the next message comes.
  [[nodiscard]] bool IsAtRest() const;
  void Woken(const PoolMeasure& measure);

  // Returns the last decisions, the newest first.
  [[nodiscard]] const std::deque<PoolDecision>& decisions() const noexcept { return decisions_; }
  // Returns how many there were.
  [[nodiscard]] std::uint64_t decided() const noexcept { return decided_; }

 private:
  // Throughput while messages wait longer than the target, or all workers are busy, with the same number of workers.
  struct Stretch {
    std::int64_t since = 0;
    std::uint64_t handled = 0;
  };
  // Growth whose effect is not known yet.
  struct Trial {
    int from = 0;
    double pace = 0;        // messages that one worker handled in a second; 0: not known
    double least_gain = 0;  // with less it is undone; by how sure that is
    // The trial is given up when the workers have handled hardly anything for `patience` since its beginning.
    std::int64_t patience = 0;
    std::int64_t since = 0;
    std::uint64_t handled = 0;
  };

  void Measure(const PoolMeasure& now);
  [[nodiscard]] bool IsLate(const PoolMeasure& now) const {
    return now.wait > options_.target_wait;
  }
  // Returns how many messages a worker has handled in a second in this stretch; 0: too few to know.
  [[nodiscard]] double PaceNow(const PoolMeasure& now) const;
  [[nodiscard]] double HandledNow(const PoolMeasure& now) const;
  // Checks what the last growth has brought. Returns the number of workers to go back to if it was in vain.
  std::optional<int> Judge(const PoolMeasure& now);
  int Grow(const PoolMeasure& now);
  // Returns whether it is still unknown what the last growth has brought.
  bool AwaitsTrial(const PoolMeasure& now);
  void BeginTrial(const PoolMeasure& now);
  [[nodiscard]] int Needed(const PoolMeasure& now) const;
  int Shrink(const PoolMeasure& now);
  int Undo(const PoolMeasure& now, int workers);
  int Stay(const PoolMeasure& now, std::string reason);
  int Decide(const PoolMeasure& now, int after, std::string reason);
  void LimitTo(int workers, std::int64_t now);

  PoolAutoscale options_;
  std::optional<PoolMeasure> last_;
  double arrivals_now_ = 0;  // a second, since the last look
  double arrivals_ = 0;      // the same, moving average
  double handled_ = 0;       // likewise
  double busy_ = 0;          // likewise; workers
  std::chrono::nanoseconds handling_{0};
  int late_looks_ = 0;            // in a row
  std::int64_t quiet_since_ = 0;  // nothing came and nothing was there

  std::optional<Stretch> stretch_;
  std::int64_t stretch_from_ =
      0;  // not before that: new workers are not done with their first message
  std::optional<Trial> trial_;

  std::optional<int> limit_;  // more workers were no help, or could not be had
  std::int64_t limit_until_ = 0;
  int limit_patience_ = 1;  // times shrink_after
  std::string limit_reason_;
  bool has_told_ = false;  // that it stays though messages wait

  std::int64_t enough_since_ = 0;  // fewer workers have been enough; 0: they are not
  int most_needed_ = 0;            // since then
  int shrink_patience_ = 1;        // times shrink_after
  std::int64_t shrunk_at_ = 0;     // 0: it has grown since

  std::deque<PoolDecision> decisions_;
  std::uint64_t decided_ = 0;
};

}  // namespace ergon::act
