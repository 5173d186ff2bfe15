// Which processes a table shows: sorted and searched here, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/gen/result.h>
#include <ergon/node/observer/numbers/behavior_index.h>
#include <ergon/node/observer/views/url_query.h>

namespace ergon::node {

enum class ProcessOrder : std::uint8_t {
  kQueued,  // the most first, as the next three
  kHandled,
  kHeld,
  kRunning,   // running time, if it is measured
  kNewest,    // the one that was spawned last first
  kName,      // by the alphabet, those without a name last
  kBehavior,  // likewise
};

struct ProcessQuery {
  static constexpr std::size_t kMost = 1'000;

  ProcessOrder order = ProcessOrder::kQueued;
  std::string search;       // in name and behaviour, without regard to case; empty: all
  std::size_t limit = 100;  // rows, 1..kMost

  friend bool operator==(const ProcessQuery&, const ProcessQuery&) = default;
};
// Reads the parameters sort, search and limit. Returns kIncorrect, with a text that names the parameter and what is
// possible, but does not repeat the given value.
[[nodiscard]] gen::Result<ProcessQuery> ParseProcessQuery(const UrlQuery& query);

// Read without stopping the process: each field is true at some moment.
struct ProcessRow {
  gen::PID pid;
  gen::Atom name;
  std::string behavior;
  gen::ProcessState state = gen::ProcessState::kIdle;
  bool suspended = false;
  std::uint64_t queued = 0;  // normal priority
  std::uint64_t high = 0;    // higher ones
  std::uint64_t held = 0;
  std::uint64_t handled = 0;
  std::uint64_t sent = 0;
  std::int64_t running_ns = 0;
  std::string handles = {};  // the type of the message that it handles
  gen::PID waits_for = {};   // whose answer it awaits; the empty PID: none
};

struct ProcessRows {
  std::uint64_t in_all = 0;
  std::uint64_t matching = 0;
  std::vector<ProcessRow> rows;
};

// Finds processes. Called by the process `self`, which lets others run meanwhile. A search for a text takes the lock of
// each process for a moment.
[[nodiscard]] ProcessRows FindProcesses(gen::Process& self, BehaviorIndex& index,
                                        const ProcessQuery& query);

}  // namespace ergon::node
