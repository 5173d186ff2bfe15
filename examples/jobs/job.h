// A job that runs is a process, which has a port for each of its tries.
#pragma once

#include <chrono>

#include <ergon/gen/process.h>

#include "job_list.h"

namespace jobs {

struct Trying {};  // to its parent, at the beginning of each try
struct Stop {};    // to it: the program is to end; the second time it is killed

// What the process does. It ends with reason normal when the job has succeeded, with shutdown when it was
// stopped, else with the error of the last try. `grace` is the time from SIGTERM to SIGKILL.
ergon::gen::Reason RunJob(ergon::gen::Process& self, const Job& job, ergon::gen::PID printer,
                          std::chrono::seconds grace);

}  // namespace jobs
