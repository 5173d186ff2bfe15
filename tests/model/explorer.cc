#include "explorer.h"

#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "execution.h"

namespace ergon::model {
namespace {

constexpr std::size_t kMaxSteps = 50'000;  // more: it runs for ever
constexpr int kNobody = -1;

bool IsIn(AgentSet set, int agent) { return (set >> agent & 1) != 0; }

// As schedules are written: threads are 0 to 9 and A to F, their store buffers a to p.
char LetterOf(int agent) {
  if (agent >= kMaxThreads) return static_cast<char>('a' + agent - kMaxThreads);
  return static_cast<char>(agent < 10 ? '0' + agent : 'A' + agent - 10);
}
int AgentOf(char letter) {
  if (letter >= 'a') return letter - 'a' + kMaxThreads;
  return letter >= 'A' ? letter - 'A' + 10 : letter - '0';
}

bool Writes(Kind kind) { return kind != Kind::kLoad && kind != Kind::kPause; }

// Whether the order of the two, by different agents, can matter.
bool Dependent(const Operation& one, const Operation& other) {
  return one.location == other.location && (Writes(one.kind) || Writes(other.kind));
}

// One decision: which agent goes on, or what is chosen by chance.
struct Decision {
  bool is_chance;
  int chosen;
  int count;            // by chance: of the possibilities
  AgentSet candidates;  // agents worth trying
  AgentSet tried;       // with all that follows
  AgentSet sleeping;    // agents whose step now would lead to executions that were explored before
};

class Explorer {
 public:
  Explorer(const Options& options, const ModelMaker& make) : options_(options), make_(make) {}

  Result Run();
  int Choose(int count);
  [[nodiscard]] std::string Report() const;

 private:
  enum class End { kDone, kPruned, kFailed };

  End RunOnce();
  End RunThreads();
  bool NextSchedule();
  int DecideAgent(AgentSet enabled);
  int Pick(AgentSet candidates) const;
  int PickByChance(AgentSet candidates);
  std::uint64_t Random();
  [[nodiscard]] bool ByChance() const { return options_.seeds != 0; }
  [[nodiscard]] bool Replaying() const { return !replay_.empty(); }
  // What the schedule to repeat goes on with; after its end the default.
  [[nodiscard]] bool HasReplay() const { return depth_ < replay_.size(); }
  int Replayed();

  const Options& options_;
  const ModelMaker& make_;
  std::vector<Decision> decisions_;
  std::size_t depth_ = 0;
  AgentSet sleeping_ = 0;
  int last_ = kNobody;  // the thread that took the latest step
  int detours_ = 0;
  std::uint64_t seed_ = 0;  // of this execution, with Options::seeds
  std::uint64_t random_ = 0;
  std::string replay_;
};

Explorer* current = nullptr;

int Explorer::Pick(AgentSet candidates) const {
  // By default the thread that runs goes on, and stores stay in their buffers until it needs that.
  if (last_ != kNobody) {
    if (IsIn(candidates, last_)) return last_;
    if (IsIn(candidates, last_ + kMaxThreads)) return last_ + kMaxThreads;
  }
  return __builtin_ctz(candidates);
}

// splitmix64
std::uint64_t Explorer::Random() {
  std::uint64_t mixed = random_ += 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

// With two of three seeds a thread goes on for some time, and gets far ahead of the others.
int Explorer::PickByChance(AgentSet candidates) {
  const bool stays = Random() % 8 < 3 * (seed_ % 3);
  if (stays && last_ != kNobody && IsIn(candidates, last_)) return last_;
  const auto count = static_cast<std::uint64_t>(std::popcount(candidates));
  for (std::uint64_t skipped = Random() % count; skipped > 0; --skipped) {
    candidates &= candidates - 1;
  }
  return std::countr_zero(candidates);
}

int Explorer::Replayed() { return AgentOf(replay_[depth_]); }

// The agent, or kNobody if all that can go on are asleep.
int Explorer::DecideAgent(AgentSet enabled) {
  if (depth_ == decisions_.size()) {
    AgentSet candidates = enabled & ~sleeping_;
    if (!ByChance() && options_.detours != kUnbounded && detours_ >= options_.detours) {
      candidates = 1u << Pick(enabled);
    }
    if (candidates == 0) return kNobody;
    const int chosen = HasReplay()  ? Replayed()
                       : ByChance() ? PickByChance(candidates)
                                    : Pick(candidates);
    decisions_.push_back({false, chosen, 0, candidates, 0, sleeping_});
  }
  const Decision& decision = decisions_[depth_++];
  if (!IsIn(enabled, decision.chosen)) {
    std::fprintf(stderr, "model %s: it does not do the same when it is run again\n", options_.name);
    std::abort();
  }
  const bool sleeps = options_.reduce && options_.detours == kUnbounded && !Replaying();
  sleeping_ = 0;
  const AgentSet asleep = sleeps ? decision.sleeping | decision.tried : 0;
  const Execution& execution = TheExecution();
  for (AgentSet left = asleep; left != 0; left &= left - 1) {
    const int agent = std::countr_zero(left);
    if (!Dependent(execution.Next(agent), execution.Next(decision.chosen))) {
      sleeping_ |= 1u << agent;
    }
  }
  return decision.chosen;
}

int Explorer::Choose(int count) {
  if (depth_ == decisions_.size()) {
    const int by_chance =
        ByChance() ? static_cast<int>(Random() % static_cast<std::uint64_t>(count)) : 0;
    decisions_.push_back({true, HasReplay() ? Replayed() : by_chance, count, 0, 0, 0});
  }
  return decisions_[depth_++].chosen;
}

Explorer::End Explorer::RunThreads() {
  Execution& execution = TheExecution();
  while (execution.failure().empty()) {
    const AgentSet enabled = execution.Enabled();
    if (enabled == 0) {
      if (execution.IsDone()) return End::kDone;
      execution.NoteFailure("nobody can go on: a deadlock or a lost wake-up");
      break;
    }
    if (execution.steps() > kMaxSteps) {
      execution.NoteFailure("runs for ever");
      break;
    }
    const int agent = DecideAgent(enabled);
    if (agent == kNobody) return End::kPruned;
    if (agent != Pick(enabled)) ++detours_;
    if (agent < kMaxThreads) last_ = agent;
    execution.Step(agent);
  }
  return End::kFailed;
}

Explorer::End Explorer::RunOnce() {
  Execution& execution = TheExecution();
  execution.locations().Clear();
  depth_ = 0;
  sleeping_ = 0;
  last_ = kNobody;
  detours_ = 0;
  random_ = ++seed_;
  std::unique_ptr<Model> model = make_();
  execution.Begin(options_, *model, [](int count) { return current->Choose(count); });
  End end = RunThreads();
  if (end == End::kDone) {
    model->Finish();
    if (!execution.failure().empty()) end = End::kFailed;
  }
  // After a failure nobody knows what the destructors would meet.
  if (end == End::kFailed) (void)model.release();
  return end;
}

bool Explorer::NextSchedule() {
  if (ByChance()) {
    decisions_.clear();
    return seed_ < options_.seeds;
  }
  for (; !decisions_.empty(); decisions_.pop_back()) {
    Decision& decision = decisions_.back();
    if (decision.is_chance) {
      if (++decision.chosen < decision.count) return true;
      continue;
    }
    decision.tried |= 1u << decision.chosen;
    const AgentSet left = decision.candidates & ~decision.tried;
    if (left != 0) {
      decision.chosen = __builtin_ctz(left);
      return true;
    }
  }
  return false;
}

std::string Explorer::Report() const {
  std::string schedule;
  for (std::size_t i = 0; i < depth_ && i < decisions_.size(); ++i) {
    schedule += LetterOf(decisions_[i].chosen);
  }
  return "model " + std::string(options_.name) + ": " + TheExecution().failure() + "\n" +
         TheExecution().Trace() + "  ERGON_MODEL_REPLAY='" + options_.name + ":" + schedule + "'";
}

Result Explorer::Run() {
  if (const char* wish = std::getenv("ERGON_MODEL_REPLAY")) {
    const std::string_view text(wish);
    const std::size_t colon = text.find(':');
    if (colon != text.npos && text.substr(0, colon) == options_.name) {
      replay_ = text.substr(colon + 1);
    }
  }
  Result result;
  do {
    switch (RunOnce()) {
      case End::kDone:
        ++result.executions;
        break;
      case End::kPruned:
        ++result.pruned;
        break;
      case End::kFailed:
        result.failure = Report();
        return result;
    }
    if (Replaying()) {
      std::printf("%s\n", Report().c_str());
      return result;
    }
    if (!NextSchedule()) {
      result.complete = true;
      return result;
    }
  } while (result.executions + result.pruned < options_.max_executions);
  return result;
}

// Freed envelopes are poisoned, so a thread that still uses one may crash: the schedule is wanted
// then, too. What was installed before, by doctest, takes over.
class CrashReport {
 public:
  CrashReport() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      TheExecution().NoteFailure("crashed");
      const std::string report = current->Report() + "\n";
      (void)!write(STDERR_FILENO, report.data(), report.size());
      sigaction(signal, &previous, nullptr);
    };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous);
  }
  ~CrashReport() { sigaction(SIGSEGV, &previous, nullptr); }
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

 private:
  static inline struct sigaction previous {};
};

}  // namespace

Result Explore(const Options& options, const ModelMaker& make) {
  Explorer explorer(options, make);
  current = &explorer;
  const CrashReport crash_report;
  Result result = explorer.Run();
  current = nullptr;
  return result;
}

}  // namespace ergon::model
