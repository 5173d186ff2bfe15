#include "job.h"

#include <algorithm>
#include <variant>

#include <fmt/core.h>

#include <ergon/gen/node.h>
#include <ergon/node/port.h>

#include "printer.h"

namespace jobs {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

// Returns the reason when the program is gone, and what it has started is killed.
gen::Reason Kill(gen::Process& self, gen::PID port, gen::Reason reason) {
  (void)self.Monitor(port);
  (void)self.Node().Kill(port);
  (void)self.Receive<gen::MessageDownPID>();
  return reason;
}

gen::Reason Try(gen::Process& self, const Job& job, gen::PID printer, std::chrono::seconds grace) {
  const auto port =
      self.Spawn(node::Port({.program = job.command[0],
                             .arguments = {job.command.begin() + 1, job.command.end()},
                             .input = node::PortStream::kNull,
                             .errors = node::PortStream::kAsOutput,
                             .lines = 65'536,
                             .shutdown_timeout = grace}));
  if (!port) return gen::Reason::Error(std::string(port.error().detail()));
  const std::int64_t started = self.Now();
  bool is_stopping = false;
  for (;;) {
    std::chrono::nanoseconds left = gen::kInfinite;
    if (job.timeout) left = *job.timeout - std::chrono::nanoseconds(self.Now() - started);
    auto next = self.Receive<node::PortData, node::PortExit, Stop>(std::max(left, 0ns));
    if (left <= 0ns || (!next && next.error() == gen::ErrTimeout)) {
      return Kill(
          self, *port,
          is_stopping ? gen::Reason::Shutdown() : gen::Reason::Error("took too long, killed"));
    }
    if (!next) return gen::Reason::Shutdown();  // the port ends with its owner
    if (const auto* data = std::get_if<node::PortData>(&*next)) {
      // While the printer does not answer, the port does not read, and the program has to wait.
      (void)self.Call(printer, Line{stdout, job.name + " | " + data->bytes},
                      {.timeout = gen::kInfinite});
    } else if (std::holds_alternative<Stop>(*next)) {
      if (is_stopping) return Kill(self, *port, gen::Reason::Shutdown());
      is_stopping = true;
      (void)self.SendExit(*port, gen::Reason::Shutdown());  // SIGTERM, then SIGKILL
    } else if (const auto& exit = std::get<node::PortExit>(*next); exit.port == *port) {
      if (is_stopping) return gen::Reason::Shutdown();
      return exit.code == 0 ? gen::Reason::Normal() : gen::Reason::Error(exit.ToString());
    }
  }
}

}  // namespace

gen::Reason RunJob(gen::Process& self, const Job& job, gen::PID printer,
                   std::chrono::seconds grace) {
  std::chrono::milliseconds back_off = 100ms;
  for (int retries = job.retries;; --retries) {
    // Of high priority, as the notice of this process's end: it is not overtaken by that.
    (void)self.SendWithPriority(self.Parent(), Trying{}, gen::MessagePriority::kHigh);
    gen::Reason reason = Try(self, job, printer, grace);
    if (!reason.IsFailure()) return reason;
    std::string text = fmt::format("jobs: {}: {}", job.name, reason.ToString());
    if (retries > 0) text += fmt::format("; again in {} ms", back_off.count());
    (void)self.Call(printer, Line{stderr, std::move(text)}, {.timeout = gen::kInfinite});
    if (retries == 0) return reason;
    const auto stop = self.Receive<Stop>(back_off);
    if (stop || stop.error() != gen::ErrTimeout) return gen::Reason::Shutdown();
    back_off = std::min<std::chrono::milliseconds>(2 * back_off, 1min);
  }
}

}  // namespace jobs
