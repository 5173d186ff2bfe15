// Log lines of a process about what others send to it: they decide how many there are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/log_limit.h>

namespace ergon::gen {

class Process;

// A LogLimit by the clock of the process, which takes 8 bytes until the first line. In turns of the process.
class LimitedLines {
 public:
  // What LogLimit::Take returns.
  [[nodiscard]] std::optional<std::string> Take(const Process& process);
  // Has to be called at the end of the process: writes how many lines were left out last, if any were. `about` is what they
  // would have been about, in the plural.
  void TellRest(Process& process, std::string_view about) const {
    if (limit_ != nullptr) WriteRest(process, about);
  }

 private:
  void WriteRest(Process& process, std::string_view about) const;

  std::unique_ptr<LogLimit> limit_;
};

}  // namespace ergon::gen
