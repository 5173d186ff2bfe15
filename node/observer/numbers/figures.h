// All numbers that an observer shows, of one moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/gen/message_balance.h>
#include <ergon/gen/node_info.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/node/metrics/latency.h>
#include <ergon/node/metrics/user_metrics.h>
#include <ergon/node/observer/numbers/census.h>
#include <ergon/node/observer/numbers/program_figures.h>
#include <ergon/node/observer/options.h>

namespace ergon::node {

// The numbers that pools answer to Inspect, by its keys; see act::PoolStats, which this layer does not know.
struct PoolFigures {
  std::uint64_t workers = 0;
  std::uint64_t ready = 0;
  std::uint64_t busy = 0;  // never more than `workers`
  std::uint64_t starting = 0;
  std::uint64_t leaving = 0;  // none of `workers`
  std::uint64_t queued = 0;
  std::uint64_t restarts = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t handled = 0;
  std::uint64_t refused = 0;
  std::uint64_t overloaded = 0;
  std::uint64_t expired = 0;
  std::uint64_t lost = 0;

  // Adds what is so at the moment of another pool: its workers, and what waits.
  void AddState(const PoolFigures& other);
  // Adds to the counters what a pool has counted between two answers.
  void AddCounted(const PoolFigures& before, const PoolFigures& now);
};

// One pool with its workers.
struct PoolView {
  struct Member {
    gen::PID pid;
    gen::ProcessState state = gen::ProcessState::kIdle;
    std::uint64_t queued = 0;
    std::uint64_t handled = 0;
    bool is_busy = false;  // in a handler, also if that waits
  };
  static constexpr std::size_t kMostMembers = 1'000;

  gen::PID pid;
  std::string label;
  PoolFigures figures;
  std::vector<Member> members;  // up to kMostMembers of those that take messages
};

struct ConnectionFigures {
  std::uint64_t up = 0;
  std::uint64_t pending = 0;  // being made
  std::uint64_t queued_bytes = 0;
  std::uint64_t waiting_senders = 0;
};

struct Figures {
  gen::NodeInfo node;
  core::DispatcherStats dispatcher;
  gen::MessageBalance messages;      // counters are never less than before
  std::uint64_t given_to_nodes = 0;  // messages, also those that were lost with their connection
  std::int64_t unaccounted = 0;      // as they were summed up; 0 at rest
  CensusFigures census;
  std::map<std::string, PoolFigures> pools;  // by label
  std::vector<PoolView> pool_views;
  std::uint64_t pools_unanswered = 0;
  std::map<std::string, bool> applications;  // whether it runs, by LabelValue
  ConnectionFigures connections;
  ProgramFigures program;
  UserMetrics::Families user_metrics;  // which go on counting, as these do
  Latency* latency = nullptr;          // null: nothing is measured
  double collect_seconds = 0;          // that all this took
};

// Collects the numbers again and again. One process.
class FiguresCollector {
 public:
  FiguresCollector(gen::Process& self, BehaviorIndex& index, const ObserverOptions& options)
      : self_(self), index_(index), options_(options) {}

  [[nodiscard]] Figures Collect();

 private:
  struct PoolAnswer {
    std::string label;
    PoolFigures figures;
  };

  void AddEndingPools(CensusFigures& census) const;
  void AskPools(Figures& figures);
  void NoteAnswer(const CensusFigures::Pool& pool, const PoolFigures& now);
  void ShowPools(Figures& figures);
  void ForgetEndedPools();
  void LookAtApplications(Figures& figures) const;
  void LookAtConnections(Figures& figures) const;

  gen::Process& self_;
  BehaviorIndex& index_;
  const ObserverOptions& options_;
  std::map<gen::PID, PoolAnswer> last_answers_;  // of the pools that live
  // The counters of all pools that have had a label, also of those that have ended: the sum does not fall. A label
  // without a pool is forgotten, so that there are not more and more.
  std::map<std::string, PoolFigures> counted_;
  // Where the next round begins: those that there was no time for come first.
  std::size_t first_asked_ = 0;
  // Counters do not fall.
  std::uint64_t most_accepted_ = 0;
  std::uint64_t most_handled_ = 0;
};

}  // namespace ergon::node
