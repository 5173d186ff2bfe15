// What of a pool's options may be changed while it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <ergon/gen/atom.h>

namespace ergon::gen {

inline constexpr int kMaxPoolSize = 10'000;
// Bounds for the times of a pool that sizes itself (act::PoolAutoscale). Longer times are of no use, and many times
// these bounds still fit into std::chrono::nanoseconds.
inline constexpr std::chrono::nanoseconds kMaxAutoscaleTargetWait = std::chrono::hours(1);
inline constexpr std::chrono::nanoseconds kMinAutoscaleShrinkAfter = std::chrono::seconds(1);
inline constexpr std::chrono::nanoseconds kMaxAutoscaleShrinkAfter = std::chrono::days(30);

// Each field that is given replaces the field of act::PoolOptions with the same name, where it is described; the others
// stay. Either all fields change or none; the log shows each new value with the former one, as in "pool_size: 8, was
// 5": a line of level info, whatever the levels of the pool and of the node are, unless the node's is off. In the
// pool's own handlers see act::Pool::Change; others send it as a request of high or max priority, which the pool
// answers by itself:
//
//   node.Call("thumbnails", act::PoolChange{.admission_limit = 50ms}, {.priority = gen::MessagePriority::kHigh});
//
// Processes of other nodes may send it, too, if this node has registered the type with such a priority:
//
//   options.types.Register<act::PoolChange>({.priority = gen::MessagePriority::kHigh});
//
//   1> gen_server:call({thumbnails, 'cpp@127.0.0.1'}, {pool_change, #{pool_size => 8, admission_limit => 50}}).
//   true
struct PoolChange {
  using Reply = bool;  // true; what is wrong is the request's error, and nothing has changed then

  // As with act::Pool::AddWorkers and RemoveWorkers.
  std::optional<int> pool_size = std::nullopt;
  // Of each worker, now and later; the kind of their mailboxes (PoolOptions::worker_mailbox) stays. What waits already
  // stays, though it may be more. Mailboxes of a custom kind return kIncorrect.
  std::optional<int> worker_mailbox_size = std::nullopt;
  // For messages that are sent from now on.
  std::optional<std::chrono::nanoseconds> admission_limit = std::nullopt;
  // For ends of workers from now on.
  std::optional<std::chrono::nanoseconds> restart_backoff_min = std::nullopt;
  std::optional<std::chrono::nanoseconds> restart_backoff_max = std::nullopt;
  std::optional<int> max_restarts = std::nullopt;
  std::optional<std::chrono::nanoseconds> restart_period = std::nullopt;
  std::optional<std::chrono::nanoseconds> shutdown_timeout = std::nullopt;
  // Fields of act::PoolOptions::autoscale. A pool without autoscale returns kIncorrect. If pool_size is not given and
  // the number of workers is outside the new bounds, it moves to the nearest bound at once. Each
  // makes the pool begin anew to look whether fewer workers are enough.
  std::optional<int> autoscale_min = std::nullopt;
  std::optional<int> autoscale_max = std::nullopt;
  std::optional<std::chrono::nanoseconds> autoscale_target_wait = std::nullopt;
  std::optional<double> autoscale_target_utilization = std::nullopt;
  std::optional<std::chrono::nanoseconds> autoscale_shrink_after = std::nullopt;

  friend bool operator==(const PoolChange&, const PoolChange&) = default;

  // Returns an empty text, or what is wrong with a field alone, as in "pool_size: 0 is outside 1..10000". Only the pool
  // can check fields against each other and against its other options.
  [[nodiscard]] std::string Validate() const;

  // Replaces the fields that `further` gives.
  void Add(const PoolChange& further);
  // Returns the values that `all` has for the fields given here.
  [[nodiscard]] PoolChange Of(const PoolChange& all) const;

  // For other nodes: a tuple of the tag and a map, whose keys are the fields that are given. Times are milliseconds,
  // also as in 0.5. Another key is an error that names it.
  static constexpr const char* kTag = "pool_change";
  using WireFields = std::map<Atom, std::variant<std::int64_t, double>>;
  template <class Archive>
  void serialize(Archive& archive) {
    WireFields fields = ToWire();
    archive(fields);
    if constexpr (Archive::is_loading::value) *this = FromWire(fields);
  }

 private:
  [[nodiscard]] WireFields ToWire() const;
  // Throws std::invalid_argument, with a text that names the key and the value.
  [[nodiscard]] static PoolChange FromWire(const WireFields& fields);
};

// A field, for code that treats all of them alike.
struct PoolChangeField {
  using Number = std::optional<int> PoolChange::*;
  using Time = std::optional<std::chrono::nanoseconds> PoolChange::*;
  using Part = std::optional<double> PoolChange::*;

  const char* name;
  std::variant<Number, Time, Part> member;
  std::int64_t least;  // ns for times; a part is more than this
  std::int64_t most;   // likewise; a part is less than this
};
// Returns the fields, in the order above.
[[nodiscard]] std::span<const PoolChangeField> PoolChangeFields();

}  // namespace ergon::gen
