// What all processes of the load share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>

#include <soak/ledger.h>

namespace ergon::soak {

enum class Fault : std::uint8_t {
  kException,
  kStopped,  // Stop(reason) in a handler
  kKilledItself,
  kWorkerKilled,
  kPoolKilled,
  kPoolExited,  // by an exit signal
  kPoolEnded,   // in order, by a message
  kTargetKilled,
  kFactoryFailed,
  kInitFailed,
  kResized,
  kBlocked,    // a handler has held its thread
  kNameTaken,  // a name that was taken
};
inline constexpr std::array<std::string_view, 13> kFaultNames = {
    "exceptions",   "stops",        "self-kills",     "workers killed",   "pools killed",
    "pools exited", "pools ended",  "targets killed", "factories failed", "inits failed",
    "resizes",      "threads held", "names taken"};

// kChildDisabled is the last of them.
inline constexpr int kErrorCodes = static_cast<int>(gen::ErrorCode::kChildDisabled) + 1;

// Counters and switches. Any thread.
struct Stage {
  Ledger ledger;
  std::atomic<bool> stopping{false};
  // Besides the other faults, one message of so many makes its handler throw; 0: none.
  std::uint64_t crash_every = 0;

  // How many of the next spawns of workers and targets fail.
  std::atomic<int> factories_to_fail{0};
  std::atomic<int> inits_to_fail{0};

  std::array<std::atomic<std::uint64_t>, kFaultNames.size()> faults{};
  std::atomic<std::uint64_t> restarts{0};         // pools and targets, by their keepers
  std::atomic<std::uint64_t> failed_restarts{0};  // the spawn returned an error

  // Calls, by outcome.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> answers{0};
  std::array<std::atomic<std::uint64_t>, kErrorCodes> call_errors{};
  // Calls from outside of processes whose outcome comes later.
  std::atomic<std::uint64_t> async_calls{0};
  std::atomic<std::uint64_t> async_outcomes{0};

  // Events: values that SendEvent has sent, and HandleEvent has got.
  std::atomic<std::uint64_t> news_sent{0};
  std::atomic<std::uint64_t> news_handled{0};

  // Links and monitors: made, taken back in time, and told of.
  std::atomic<std::uint64_t> relations_made{0};
  std::atomic<std::uint64_t> relations_undone{0};
  std::atomic<std::uint64_t> notices{0};

  // Broken laws that show at once.
  std::atomic<std::uint64_t> wrong_answers{0};      // of another question
  std::atomic<std::uint64_t> second_outcomes{0};    // a call that ended twice
  std::atomic<std::uint64_t> handled_refusals{0};   // refused, and handled nevertheless
  std::atomic<std::uint64_t> unhandled_answers{0};  // answered, and not handled
  std::atomic<std::uint64_t> stray_notices{0};      // of no link and no monitor

  void Note(Fault fault) {
    faults[static_cast<std::size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
  }
  // True for as many callers as `left` says.
  static bool TakeOne(std::atomic<int>& left) {
    int seen = left.load();
    while (seen > 0) {
      if (left.compare_exchange_weak(seen, seen - 1)) return true;
    }
    return false;
  }
};

}  // namespace ergon::soak
