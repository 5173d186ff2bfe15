// The process that knows which job may start now. It monitors those that run.
#pragma once

#include "job.h"

namespace jobs {

// A request to it, answered with the jobs when nothing runs any more.
struct Run {
  using Reply = std::vector<Job>;

  std::vector<Job> jobs;
  std::size_t at_once;
  ergon::gen::PID printer;
  std::chrono::seconds grace;
};

// What the process does: Run, once. After a Stop it starts nothing more; the jobs that run get it, too.
void Schedule(ergon::gen::Process& self);

}  // namespace jobs
