#include <ergon/gen/host/limited_lines.h>

#include <chrono>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/process.h>

namespace ergon::gen {

std::optional<std::string> LimitedLines::Take(const Process& process) {
  if (limit_ == nullptr) limit_ = std::make_unique<LogLimit>();
  return limit_->Take(LogLimit::Time(std::chrono::nanoseconds(process.Now())));
}

void LimitedLines::WriteRest(Process& process, std::string_view about) const {
  if (limit_->LeftOut() == 0) return;
  process.Log().Warning("{} about {} {} left out at the end",
                        core::Counted(limit_->LeftOut(), "line", "lines"), about,
                        limit_->LeftOut() == 1 ? "was" : "were");
}

}  // namespace ergon::gen
