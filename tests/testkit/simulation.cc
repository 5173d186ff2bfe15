#include <ergon/testkit/simulation.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/hook_chain.h>
#include <ergon/core/stepping.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/node/node.h>
#include <ergon/node/process/process.h>
#include <ergon/testkit/conservation.h>

namespace ergon::testkit {
namespace {

constexpr std::int64_t kStart = 1'000'000'000;  // ns; any, but not 0
constexpr std::uint32_t kCreation = 4;
constexpr std::size_t kLogLines = 10'000;

// FNV-1a over what each turn was.
class Trace final : public core::DispatcherHooks {
 public:
  explicit Trace(const core::Clock& clock) : clock_(clock) {}

  void BeforeTurn(core::Schedulable& schedulable, int) override {
    Add(static_cast<std::uint64_t>(clock_.Now()));
    // Only a node's processes run on its dispatcher.
    Add(static_cast<node::Process&>(schedulable).Id());
  }
  void AfterTurn(core::Schedulable&, int, core::TurnEnd end) override {
    Add(static_cast<std::uint64_t>(end));
  }

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  void Add(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 0x100000001b3u; }

  const core::Clock& clock_;
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

const SimulationOptions& Checked(const SimulationOptions& options) {
  if (options.turn_time_most.count() < 0) {
    throw std::invalid_argument(fmt::format("turn_time_most: {}, must not be negative",
                                            core::ExactTime(options.turn_time_most)));
  }
  if (options.turns_most == 0) throw std::invalid_argument("turns_most: 0, has to be more than 0");
  if (options.throughput_most < 1 || options.throughput_most > 4096) {
    throw std::invalid_argument(
        fmt::format("throughput_most: {} is outside 1..4096", options.throughput_most));
  }
  return options;
}

void PrintThrown(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    std::fprintf(stderr, "Simulation: a planned action threw %s\n", core::ThrownText().c_str());
  }
}

// What is out of range is refused when the node starts.
std::size_t StackBytes(const gen::NodeOptions& options) {
  constexpr std::size_t kLeast = 16 * 1024;
  constexpr std::size_t kMost = 1024 * 1024 * 1024;
  return std::clamp(options.handler_stack_bytes, kLeast, kMost);
}

}  // namespace

struct Simulation::SimulatedNode {
  std::shared_ptr<Trace> trace;
  std::shared_ptr<core::TimerQueue> timers;
  std::shared_ptr<core::SteppingDispatcher> dispatcher;
  gen::Atom name;
  std::unique_ptr<node::Node> node;
};

Simulation::Simulation(std::uint64_t seed, const SimulationOptions& options)
    : seed_(seed),
      options_(Checked(options)),
      random_(seed),
      clock_(std::make_shared<core::ManualClock>(kStart)) {}

Simulation::~Simulation() {
  // What is planned or was made faulty refers to this.
  by_time_.clear();
  by_turns_.clear();
  for (auto& simulated : nodes_) simulated->node->Stop();
  if (thrown_ != nullptr) PrintThrown(thrown_);  // nothing has run the simulation since
}

gen::Node& Simulation::Node(std::string_view name, gen::NodeOptions options) {
  for (auto& simulated : nodes_) {
    if (simulated->name == gen::Atom(name)) return *simulated->node;
  }
  auto simulated = std::make_unique<SimulatedNode>();
  simulated->trace = std::make_shared<Trace>(*clock_);
  simulated->timers = std::make_shared<core::TimerQueue>(*clock_, 1);
  std::vector<std::shared_ptr<core::DispatcherHooks>> hooks{simulated->trace};
  if (options.hooks != nullptr) hooks.push_back(options.hooks);
  simulated->dispatcher = std::make_shared<core::SteppingDispatcher>(
      [this](std::size_t ready) { return static_cast<std::size_t>(random_.Below(ready)); },
      clock_.get(),
      core::DispatcherOptions{.fiber_stack_bytes = StackBytes(options),
                              .fibers_cached = 16,
                              .hooks = std::make_shared<core::HookChain>(std::move(hooks))});
  simulated->dispatcher->SetDriver([this](std::int64_t until) { return StepInside(until); });
  simulated->name = name;
  options.log_sink = [this](gen::LogLevel, const std::string& line) {
    if (log_.size() == kLogLines) log_.pop_front();
    log_.push_back(line);
  };
  options.clock = clock_;
  options.dispatcher = simulated->dispatcher;
  options.timers = simulated->timers;
  options.defer = [this](std::function<void()> function) {
    deferred_.push_back(std::move(function));
  };
  options.creation = kCreation;
  options.network = options_.network;
  simulated->node = std::make_unique<node::Node>(node::Start(name, options).value());
  nodes_.push_back(std::move(simulated));
  return *nodes_.back()->node;
}

void Simulation::ExpectConservation() const {
  for (const auto& simulated : nodes_) testkit::ExpectConservation(*simulated->node, {});
}

gen::Node& Simulation::NodeOf(gen::PID pid) {
  for (auto& simulated : nodes_) {
    if (simulated->name == pid.node) return *simulated->node;
  }
  throw std::invalid_argument("pid: " + pid.ToString() + " is of no node of this simulation");
}

// ---- chance

std::chrono::nanoseconds Simulation::Random(std::chrono::nanoseconds least,
                                            std::chrono::nanoseconds most) {
  return std::chrono::nanoseconds(Random(least.count(), most.count()));
}

std::int64_t Simulation::Random(std::int64_t least, std::int64_t most) {
  if (most < least) {
    throw std::invalid_argument("Random: " + std::to_string(least) + ".." + std::to_string(most) +
                                " is no range");
  }
  const auto width = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
  const std::uint64_t offset = width == 0 ? random_.Next() : random_.Below(width);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + offset);
}

// ---- running

std::chrono::nanoseconds Simulation::Now() const {
  return std::chrono::nanoseconds(clock_->Now() - kStart);
}

bool Simulation::Step() {
  ThrowWhatWasThrown();
  const bool has_more = StepUntil(core::kNever);
  ThrowWhatWasThrown();
  return has_more;
}

// For a function of a node that waits. An exception would leave it while the node still knows of it.
bool Simulation::StepInside(std::int64_t until) noexcept {
  try {
    if (StepUntil(until)) return true;
  } catch (...) {
    if (thrown_ == nullptr) thrown_ = std::current_exception();
    return true;
  }
  if (thrown_ != nullptr) PrintThrown(thrown_);  // the wait may end the program for it
  return false;
}

void Simulation::ThrowWhatWasThrown() {
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

bool Simulation::StepUntil(std::int64_t until) {
  ++steps_without_turn_;
  std::size_t fired = 0;
  for (auto& simulated : nodes_) fired += simulated->timers->RunDue();
  if (RunPlanned()) return true;
  std::size_t ready = 0;
  for (const auto& simulated : nodes_) ready += simulated->dispatcher->ready();
  if (ready != 0) {
    RunTurn(ready);
    return true;
  }
  const std::int64_t next = std::min(NextTime(), until);
  if (next == core::kNever) return fired != 0;
  clock_->AdvanceTo(std::max(next, clock_->Now() + 1));
  return true;
}

// One thing that was planned for now or before.
bool Simulation::RunPlanned() {
  std::function<void()> action;
  if (!deferred_.empty()) {
    action = std::move(deferred_.front());
    deferred_.pop_front();
  } else if (!by_time_.empty() && by_time_.begin()->first <= clock_->Now()) {
    action = std::move(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  } else if (!by_turns_.empty() && by_turns_.begin()->first <= turns_) {
    action = std::move(by_turns_.begin()->second);
    by_turns_.erase(by_turns_.begin());
  } else {
    return false;
  }
  action();
  return true;
}

void Simulation::RunTurn(std::size_t ready) {
  const auto most = static_cast<std::uint64_t>(options_.turn_time_most.count());
  clock_->AdvanceBy(static_cast<std::int64_t>(random_.Below(most + 1)));
  auto chosen = static_cast<std::size_t>(random_.Below(ready));
  for (auto& simulated : nodes_) {
    core::SteppingDispatcher& dispatcher = *simulated->dispatcher;
    if (chosen >= dispatcher.ready()) {
      chosen -= dispatcher.ready();
      continue;
    }
    const auto throughput = static_cast<std::uint64_t>(options_.throughput_most);
    dispatcher.SetThroughput(1 + static_cast<int>(random_.Below(throughput)));
    ++turns_;
    steps_without_turn_ = 0;
    (void)dispatcher.RunOne();
    return;
  }
}

// When something happens next if nothing is ready now.
std::int64_t Simulation::NextTime() const {
  std::int64_t next = by_time_.empty() ? core::kNever : by_time_.begin()->first;
  for (const auto& simulated : nodes_) next = std::min(next, simulated->timers->NextDeadline());
  return next;
}

void Simulation::CheckTurns(std::uint64_t since, const char* function) const {
  if (turns_ - since >= options_.turns_most) {
    core::Fatal(function,
                "turns_most is reached: something never comes to rest. Where messages are sent "
                "again and again, as by SendEvery, use RunFor or RunUntil");
  }
}

void Simulation::CheckEndless(const char* function) const {
  if (steps_without_turn_ >= options_.turns_most) {
    core::Fatal(
        function,
        "turns_most is reached, and no process had a turn: what is planned again and again, "
        "as by SendEvery to nobody, never comes to rest. Use RunFor");
  }
}

void Simulation::RunUntilIdle() {
  const std::uint64_t since = turns_;
  steps_without_turn_ = 0;
  while (Step()) {
    CheckTurns(since, "Simulation::RunUntilIdle");
    CheckEndless("Simulation::RunUntilIdle");
  }
}

void Simulation::RunFor(std::chrono::nanoseconds time) {
  const std::uint64_t since = turns_;
  const std::int64_t end = core::DeadlineAfter(clock_->Now(), time);
  steps_without_turn_ = 0;
  ThrowWhatWasThrown();
  for (std::int64_t before = clock_->Now(); before < end;) {
    const bool has_more = StepUntil(end);
    ThrowWhatWasThrown();
    if (!has_more) return;  // an infinite time does not pass
    CheckTurns(since, "Simulation::RunFor");
    const std::int64_t now = clock_->Now();
    if (now != before && end != core::kNever) steps_without_turn_ = 0;  // it comes to its end
    before = now;
    CheckEndless("Simulation::RunFor");
  }
}

bool Simulation::RunUntil(const std::function<bool()>& condition) {
  const std::uint64_t since = turns_;
  steps_without_turn_ = 0;
  while (!condition()) {
    if (!Step()) return condition();
    CheckTurns(since, "Simulation::RunUntil");
    CheckEndless("Simulation::RunUntil");
  }
  return true;
}

// ---- plans

void Simulation::After(std::chrono::nanoseconds time, std::function<void()> action) {
  by_time_.emplace(core::DeadlineAfter(clock_->Now(), time), std::move(action));
}

void Simulation::AfterTurns(std::uint64_t turns, std::function<void()> action) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  by_turns_.emplace(turns > kMost - turns_ ? kMost : turns_ + turns, std::move(action));
}

void Simulation::Kill(gen::PID pid, std::chrono::nanoseconds after) {
  After(after, [&node = NodeOf(pid), pid] { (void)node.Kill(pid); });
}

void Simulation::KillRandomChild(gen::PID parent, std::chrono::nanoseconds after) {
  (void)NodeOf(parent);
  After(after, [this, parent] { KillChild(parent); });
}

void Simulation::KillChild(gen::PID parent) {
  gen::Node& node = NodeOf(parent);
  const auto info = node.ProcessInfo(parent);
  if (!info) return;
  std::vector<gen::PID> children;
  for (const gen::PID pid : info->links) {
    const auto linked = node.ProcessInfo(pid);
    if (linked && linked->parent == parent) children.push_back(pid);
  }
  if (children.empty()) return;
  std::sort(children.begin(), children.end());  // whatever order the node keeps them in
  (void)node.Kill(children[static_cast<std::size_t>(random_.Below(children.size()))]);
}

void Simulation::StopNode(std::string_view name, std::chrono::nanoseconds after) {
  After(after, [&node = Node(name)] { node.Stop(); });
}

// ---- looking back

std::uint64_t Simulation::TraceHash() const {
  std::uint64_t hash = 0;
  for (const auto& simulated : nodes_) hash = hash * 31 + simulated->trace->hash();
  return hash;
}

}  // namespace ergon::testkit
