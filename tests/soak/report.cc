#include <soak/report.h>

#include <string>
#include <vector>

#include <fmt/core.h>

namespace ergon::soak {
namespace {

void Row(const std::string& name, const std::string& value) {
  fmt::print("{:<20} {}\n", name, value);
}

double Megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string FaultsText(const Stage& stage) {
  std::string text;
  for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", kFaultNames[i], stage.faults[i].load());
  }
  return text;
}

std::string CallErrorsText(const Stage& stage) {
  std::string text;
  for (std::size_t i = 0; i < stage.call_errors.size(); ++i) {
    const std::uint64_t count = stage.call_errors[i].load();
    if (count == 0) continue;
    const gen::Error error(static_cast<gen::ErrorCode>(i));
    const std::string name =
        error.code() == gen::ErrorCode::kApplication ? "the answer" : error.ToString();
    text += fmt::format(", {} {}", name, count);
  }
  return text;
}

// That it stops growing shows in the middle.
std::string ResidentText(const std::vector<std::uint64_t>& rests) {
  std::string text = fmt::format("{:.2f} MB after the warm-up", Megabytes(rests.front()));
  if (rests.size() > 2)
    text += fmt::format(", {:.2f} half-way", Megabytes(rests[rests.size() / 2]));
  return text + fmt::format(", {:.2f} at the end", Megabytes(rests.back()));
}

}  // namespace

void PrintReport(const Stage& stage, const gen::NodeInfo& info, const PoolLosses& losses,
                 const Measurements& measured, const Verdict& verdict) {
  const Book::Counts total = stage.ledger.Total();
  std::uint64_t refused = 0;
  for (const std::uint64_t count : total.refused) refused += count;
  Row("time", fmt::format("{:.1f} s, {} rounds", measured.seconds, measured.rounds));
  Row("messages accepted", fmt::format("{} ({} sent, {} delayed, {} requests)", total.Accepted(),
                                       total.accepted[0], total.accepted[1], total.accepted[2]));
  Row("  handled", fmt::format("{}", total.Started()));
  Row("  cancelled", fmt::format("{}", total.cancelled));
  Row("  dropped", fmt::format("{} (node: terminated {}, unknown {}, full {}, expired {})",
                               total.Dropped(), info.dropped_terminated, info.dropped_unknown,
                               info.dropped_mailbox_full, info.dropped_expired));
  Row("messages refused", fmt::format("{}", refused));
  Row("pools at the end", fmt::format("lost {} crashed, {} full, {} terminated", losses.crashed,
                                      losses.full, losses.terminated));
  Row("calls", fmt::format("{}: answers {}{}", stage.calls.load(), stage.answers.load(),
                           CallErrorsText(stage)));
  Row("events",
      fmt::format("sent {}, handled {}", stage.news_sent.load(), stage.news_handled.load()));
  Row("links, monitors", fmt::format("made {}, undone {}, notices {}", stage.relations_made.load(),
                                     stage.relations_undone.load(), stage.notices.load()));
  Row("faults", FaultsText(stage));
  Row("restarts", fmt::format("{} by keepers, {} failed attempts", stage.restarts.load(),
                              stage.failed_restarts.load()));
  Row("processes", fmt::format("spawned {}, ended {}, failed {}", info.processes_spawned,
                               info.processes_ended, info.processes_failed));
  Row("resident memory", ResidentText(measured.resident));
  Row("threads", fmt::format("{} after the warm-up, {} at the end", measured.threads_before,
                             measured.threads_after));
  Row("messages/s", fmt::format("{:.0f} at first, {:.0f} at last", measured.rates.First(),
                                measured.rates.Last()));
  for (const std::string& law : verdict.broken()) fmt::print("BROKEN: {}\n", law);
  fmt::print("{}\n", verdict.holds() ? "all laws hold" : "laws are broken");
}

}  // namespace ergon::soak
