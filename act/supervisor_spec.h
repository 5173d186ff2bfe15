// Which processes a supervisor keeps running, and what happens when they end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/process_options.h>

namespace ergon::act {

// What else is restarted when a child has to be.
enum class SupervisorType : std::uint8_t {
  kOneForOne,        // nobody
  kAllForOne,        // all children: they are ended, then all are started in order
  kRestForOne,       // the children after it in the list, likewise
  kSimpleOneForOne,  // nobody; the list has templates, StartChild makes any number of children
};

// When a child is restarted that has ended by itself.
enum class SupervisorStrategy : std::uint8_t {
  kPermanent,  // always
  kTransient,  // after a failure: any reason but normal and shutdown, or a restart that fails
  kTemporary,  // never
};

// When the end of significant children, that is not followed by a restart, ends the supervisor.
enum class SupervisorAutoShutdown : std::uint8_t {
  kNever,
  kAnySignificant,  // when one of them has ended
  kAllSignificant,  // when the last of them has ended
};

// As in "one for one".
[[nodiscard]] std::string_view ToString(SupervisorType type);
// As in "permanent".
[[nodiscard]] std::string_view ToString(SupervisorStrategy strategy);

struct SupervisorRestart {
  SupervisorStrategy strategy = SupervisorStrategy::kPermanent;  // of children without their own
  // The supervisor gives up when more than `intensity` restarts become necessary within `period_s`
  // seconds. 0..1,000,000 and 1..1,000,000.
  int intensity = 5;
  int period_s = 5;
  // A restart that fails, for the factory throws or the Init fails, is tried again after what has arrived
  // at the supervisor meanwhile: signals, questions, messages. With `backoff_min` it waits for so long
  // first, twice as long after each failure in a row, at most for `backoff_max`. Each failure counts
  // against the intensity. 0: it does not wait; `backoff_max` must not be less than `backoff_min`.
  std::chrono::nanoseconds backoff_min{0};
  std::chrono::nanoseconds backoff_max = std::chrono::seconds(30);
  // All and rest for one: the children that are ended for a restart end one after the other, the
  // last one first, instead of all at once. Slower; for children that need each other to end.
  bool keep_order = false;
};

// One child, or with kSimpleOneForOne a template for children.
struct SupervisorChildSpec {
  // Required and unique. The child's process is registered by it, unless it is of a template.
  gen::Atom name = {};
  gen::ProcessFactory factory = {};  // required
  gen::Args args = {};               // what Init gets, also of a restarted child
  gen::ProcessOptions options = {};
  // See SupervisorAutoShutdown. Only transient and temporary children, which may end, can be.
  bool significant = false;
  // How long the child may take to handle what it has queued and to end when it is asked to; then
  // it is killed. 0: it is killed at once; gen::kInfinite: as long as it likes, which is right for
  // supervisors, whose children have time-outs of their own.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
  std::optional<SupervisorStrategy> strategy = std::nullopt;  // none: the supervisor's
};

// What Init of a supervisor returns.
struct SupervisorSpec {
  SupervisorType type = SupervisorType::kOneForOne;
  // Started in this order, each after the Init of the one before, and ended in reverse order.
  std::vector<SupervisorChildSpec> children = {};
  SupervisorRestart restart = {};
  SupervisorAutoShutdown auto_shutdown = SupervisorAutoShutdown::kNever;

  [[nodiscard]] SupervisorStrategy StrategyOf(const SupervisorChildSpec& child) const {
    return child.strategy.value_or(restart.strategy);
  }
  // Empty, or what is wrong: as in "restart.intensity: -1 is outside 0..1000000".
  [[nodiscard]] std::string Validate() const;
  // The same for one child, without its name's being unique; `where` is how the text begins.
  [[nodiscard]] std::string ValidateChild(const SupervisorChildSpec& child,
                                          std::string_view where) const;
};

}  // namespace ergon::act
