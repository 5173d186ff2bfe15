#include <ergon/core/stealing_effort.h>

#include <utility>

#include <ergon/core/foundations/number_text.h>

namespace ergon::core {

std::string StealingEffort::Validate() const {
  constexpr int kMaxAttempts = 1'000'000;
  constexpr std::chrono::nanoseconds kMaxPause = std::chrono::seconds(1);
  const std::pair<const char*, const StealingPhase*> phases[] = {
      {"aggressive", &aggressive}, {"moderate", &moderate}, {"relaxed", &relaxed}};
  for (const auto& [name, phase] : phases) {
    const std::string field = std::string("stealing.") + name;
    if (phase->attempts < 0 || phase->attempts > kMaxAttempts) {
      return field + ".attempts: " + std::to_string(phase->attempts) + " is outside 0.." +
             std::to_string(kMaxAttempts);
    }
    if (phase->pause.count() < 0 || phase->pause > kMaxPause) {
      return field + ".pause: " + ExactTime(phase->pause) + " is outside 0.." +
             ExactTime(kMaxPause);
    }
  }
  return "";
}

std::int64_t RaidPlan::NextPause() {
  const StealingPhase* const phases[kPhases] = {&effort_.aggressive, &effort_.moderate,
                                                &effort_.relaxed};
  for (; phase_ < kPhases; ++phase_, raids_ = 0) {
    const StealingPhase& phase = *phases[phase_];
    if (raids_ >= phase.attempts) continue;
    ++raids_;
    return phase.pause.count();
  }
  return kOver;
}

}  // namespace ergon::core
