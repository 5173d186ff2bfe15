// ergon-soak: random load and faults, and at the end the proof that nothing was lost.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <variant>

#include <fmt/core.h>
#include <unistd.h>

#include <ergon/node/node.h>

#include <soak/load.h>
#include <soak/machine.h>
#include <soak/options.h>
#include <soak/report.h>
#include <soak/waiting.h>

namespace ergon::soak {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Longer runs stop now and then for all laws to be checked. The first such round is the warm-up: what
// each thread keeps for later use fills up within minutes.
constexpr Seconds kRound(300);
constexpr double kMemoryTolerance = 0.05;
constexpr double kRateTolerance = 0.1;
// Shorter runs tell too little about memory and speed: those are printed, and not judged.
constexpr Seconds kJudged(60);

class Soak {
 public:
  Soak(const Options& options, gen::Node& node)
      : options_(options),
        node_(node),
        load_(stage_, node, options.seed, options.detached),
        shows_progress_(options.progress && ::isatty(STDERR_FILENO) != 0) {
    stage_.crash_every = options.crash_every;
  }

  bool Run() {
    const auto begin = Clock::now();
    const Seconds total(static_cast<double>(options_.seconds));
    // Until everything that is kept for later use has been made once.
    RunRound(std::min(total / 4, kRound), options_.messages / 4, false);
    measured_.resident.push_back(TrimmedResidentBytes());
    measured_.threads_before = ThreadCount();
    for (Seconds left = total - (Clock::now() - begin);
         (left.count() > 0 || measured_.rounds == 1) && verdict_.holds() && !HasEnough();
         left = total - (Clock::now() - begin)) {
      RunRound(std::min(left, kRound), options_.messages, true);
      measured_.resident.push_back(TrimmedResidentBytes());
    }
    measured_.threads_after = ThreadCount();
    measured_.seconds = Seconds(Clock::now() - begin).count();
    // Sanitizers keep freed memory on purpose, and make everything slow.
    if (total >= kJudged && options_.messages == 0 && !kit::kSanitized) {
      JudgeMemory();
      JudgeRates();
    }
    PrintReport(stage_, node_.Info(), load_.losses(), measured_, verdict_);
    return verdict_.holds();
  }

 private:
  [[nodiscard]] bool HasEnough() const {
    return options_.messages != 0 && stage_.ledger.Started() >= options_.messages;
  }

  void RunRound(Seconds length, std::uint64_t messages, bool counts) {
    ++measured_.rounds;
    load_.Start();
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(length);
    while (Clock::now() < end && (messages == 0 || stage_.ledger.Started() < messages)) {
      const auto from = Clock::now();
      const std::uint64_t before = stage_.ledger.Started();
      std::this_thread::sleep_until(std::min<Clock::time_point>(from + Step(), end));
      const Seconds passed = Clock::now() - from;
      // A short rest is no second.
      if (counts && passed.count() > 0.5 * Seconds(Step()).count()) {
        measured_.rates.Add(static_cast<double>(stage_.ledger.Started() - before) / passed.count());
      }
      ShowProgress();
    }
    load_.Stop(verdict_);
  }

  [[nodiscard]] std::chrono::milliseconds Step() const {
    return std::chrono::milliseconds(options_.messages == 0 ? 1000 : 10);
  }

  void ShowProgress() {
    const auto now = Clock::now();
    const Seconds passed = now - last_progress_;
    if (!shows_progress_ || passed < Seconds(5)) return;
    const std::uint64_t handled = stage_.ledger.Started();
    const gen::NodeInfo info = node_.Info();
    std::fputs(fmt::format("{} messages, {:.0f}/s, {} failures, {} processes, {:.1f} MB\n", handled,
                           static_cast<double>(handled - last_handled_) / passed.count(),
                           info.processes_failed, info.processes,
                           static_cast<double>(ResidentBytes()) / 1e6)
                   .c_str(),
               stderr);
    last_progress_ = now;
    last_handled_ = handled;
  }

  void JudgeMemory() {
    const auto before = static_cast<double>(measured_.resident.front());
    const auto after = static_cast<double>(measured_.resident.back());
    verdict_.Check(after <= before * (1 + kMemoryTolerance),
                   "resident memory: {:.2f} MB after the warm-up, {:.2f} MB at the end",
                   before / 1e6, after / 1e6);
  }

  void JudgeRates() {
    const double first = measured_.rates.First();
    const double last = measured_.rates.Last();
    verdict_.Check(last >= first * (1 - kRateTolerance),
                   "throughput: {:.0f} messages/s at first, {:.0f} at last", first, last);
  }

  const Options options_;
  gen::Node& node_;
  Stage stage_;
  Load load_;
  const bool shows_progress_;
  Verdict verdict_;
  Measurements measured_;
  Clock::time_point last_progress_ = Clock::now();
  std::uint64_t last_handled_ = 0;
};

int Main(int count, char** words) {
  const auto parsed = ParseOptions(count, words);
  if (const int* status = std::get_if<int>(&parsed)) return *status;
  const auto& options = std::get<Options>(parsed);
  gen::NodeOptions node_options;
  node_options.workers = options.workers;
  node_options.log_level = gen::LogLevel::kOff;  // failures are what is wanted here
  auto node = node::Start("soak@localhost", node_options).value();
  const bool holds = Soak(options, node).Run();
  // Whoever does not end in time would keep the program from telling.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written) {
    std::fputs(
        fmt::format("ergon-soak: cannot write to standard output: {}\n", std::strerror(errno))
            .c_str(),
        stderr);
  }
  node.Stop();
  return holds && written ? 0 : 1;
}

}  // namespace
}  // namespace ergon::soak

int main(int count, char** words) {
  if (!ergon::kit::kSanitized) ergon::soak::RestartWithoutMallocCaches(words);
  try {
    return ergon::soak::Main(count, words);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("ergon-soak: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
