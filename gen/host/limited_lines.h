// Limits the log lines of a process about what others send to it, as these others decide how many there would be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/log_limit.h>

namespace ergon::gen {

class Process;

// A LogLimit by the clock of the process. It takes 8 bytes until the first line. Use it in turns of the process only.
class LimitedLines {
 public:
  // Returns what LogLimit::Take returns.
  [[nodiscard]] std::optional<std::string> Take(const Process& process);
  // Must be called at the end of the process. Writes how many lines were left out since the last one that was written,
  // if any were. `about` names in the plural what these lines would have been about.
  void TellRest(Process& process, std::string_view about) const {
    if (limit_ != nullptr) WriteRest(process, about);
  }

 private:
  void WriteRest(Process& process, std::string_view about) const;

  std::unique_ptr<LogLimit> limit_;
};

}  // namespace ergon::gen
