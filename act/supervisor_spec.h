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

// Which other children are restarted when a child is restarted.
enum class SupervisorType : std::uint8_t {
  kOneForOne,        // none
  kAllForOne,        // all children: they are ended, then all are started in order
  kRestForOne,       // the children after it in the list, likewise
  kSimpleOneForOne,  // none; the list has templates, StartChild makes any number of children
};

// When a child that has ended by itself is restarted.
enum class SupervisorStrategy : std::uint8_t {
  kPermanent,  // always
  kTransient,  // after a failure: any reason but normal and shutdown, or a restart that fails
  kTemporary,  // never
};

// When the end of significant children that are not restarted ends the supervisor.
enum class SupervisorAutoShutdown : std::uint8_t {
  kNever,
  kAnySignificant,  // when one of them has ended
  kAllSignificant,  // when the last of them has ended
};

// Returns the name, as in "one for one".
[[nodiscard]] std::string_view ToString(SupervisorType type);
// Returns the name, as in "permanent".
[[nodiscard]] std::string_view ToString(SupervisorStrategy strategy);

struct SupervisorRestart {
  SupervisorStrategy strategy = SupervisorStrategy::kPermanent;  // of children without one
  // The supervisor gives up when more than `intensity` restarts (0..1,000,000) become necessary within
  // `period_s` seconds (1..1,000,000).
  int intensity = 5;
  int period_s = 5;
  // A restart that fails, because the factory throws or the Init fails, is tried again after the supervisor has
  // handled what has arrived meanwhile: signals, requests, messages. If `backoff_min` is more than 0, the restart
  // also waits for that time, twice as long after each failure in a row, and at most for `backoff_max`, which must
  // not be less than `backoff_min`. Each failure counts against the intensity.
  std::chrono::nanoseconds backoff_min{0};
  std::chrono::nanoseconds backoff_max = std::chrono::seconds(30);
  // With kAllForOne and kRestForOne: the children that are ended for a restart end one after the other, the
  // last one first, instead of all at once. This is slower; it is for children that need each other to end.
  bool keep_order = false;
};

// One child, or with kSimpleOneForOne a template for children.
struct SupervisorChildSpec {
  // Required and unique. The child's process is registered by this name, except for children of a template.
  gen::Atom name = {};
  gen::ProcessFactory factory = {};  // required
  gen::Args args = {};               // for Init, also of a restarted child
  gen::ProcessOptions options = {};
  // See SupervisorAutoShutdown. Only transient and temporary children may be significant, and only if auto_shutdown
  // is not kNever.
  bool significant = false;
  // How long the child may take to handle what it has queued and to end when it is asked to; then
  // it is killed. 0: it is killed at once. gen::kInfinite: it is never killed, which is right for
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
  // Must be kNever with kSimpleOneForOne.
  SupervisorAutoShutdown auto_shutdown = SupervisorAutoShutdown::kNever;

  [[nodiscard]] SupervisorStrategy StrategyOf(const SupervisorChildSpec& child) const {
    return child.strategy.value_or(restart.strategy);
  }
  // Returns an empty text, or what is wrong, as in "restart.intensity: -1 is outside 0..1000000".
  [[nodiscard]] std::string Validate() const;
  // Checks one child, except whether its name is unique. The text begins with `where`.
  [[nodiscard]] std::string ValidateChild(const SupervisorChildSpec& child,
                                          std::string_view where) const;
};

}  // namespace ergon::act
