// What is to be done: a job per line, `name [after=name,name] [retries=N] [timeout=2s] : command words`.
#pragma once

#include <chrono>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include <ergon/gen/result.h>

namespace jobs {

struct Job {
  int line = 0;
  std::string name;
  std::vector<std::string> after;  // jobs that have to succeed first
  std::vector<std::size_t> next;   // the places of those that come after this one
  int retries = 0;
  std::optional<std::chrono::milliseconds> timeout;  // of one try
  std::vector<std::string> command;

  // What has become of it.
  std::string state = "not started";
  int tries = 0;
  double seconds = 0;
};

// In the order of the lines. The error says which field of which line has a wrong value, as in
// `line 3: retries: "x" is not a number from 0 to 100`, or which jobs wait for each other in a circle.
[[nodiscard]] ergon::gen::Result<std::vector<Job>> ReadJobs(std::istream& input);

}  // namespace jobs
