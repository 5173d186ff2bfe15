#include "job.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <unistd.h>

#include <ergon/gen/node.h>
#include <ergon/node/port.h>

#include "printer.h"

namespace jobs {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

// One try: a program that runs. Wherever it waits, also for the printer, it hears of a Stop and keeps to the time.
class Try {
 public:
  // `unprinted` counts the lines at the printer, also those of former tries.
  Try(gen::Process& self, const Job& job, gen::PID printer, int& unprinted)
      : self_(self), job_(job), printer_(printer), unprinted_(unprinted) {}

  gen::Reason Run(std::chrono::seconds grace) {
    const auto port =
        self_.Spawn(node::Port({.program = job_.command[0],
                                .arguments = {job_.command.begin() + 1, job_.command.end()},
                                .input = node::PortStream::kNull,
                                .errors = node::PortStream::kAsOutput,
                                .lines = 65'536,
                                .shutdown_timeout = grace}));
    if (!port) return gen::Reason::Error(std::string(port.error().detail()));
    port_ = *port;
    started_ = self_.Now();
    std::optional<gen::Reason> end;
    while (!end) end = HandleNext();
    return *end;
  }

 private:
  // These return the reason when the try is over.

  std::optional<gen::Reason> HandleNext() {
    if (!exit_ && TimeLeft() == 0ns) return HandleTimeout();  // also when there is always a line
    auto next =
        self_.Receive<node::PortData, node::PortExit, Printed, Stop>(exit_ ? 0ns : TimeLeft());
    if (!next) return HandleError(next.error());
    if (const auto* data = std::get_if<node::PortData>(&*next)) return PrintLine(data->bytes);
    if (std::holds_alternative<Stop>(*next)) return HandleStop();
    if (const auto* exit = std::get_if<node::PortExit>(&*next); exit && exit->port == port_) {
      return ReasonOf(*exit);
    }
    if (std::holds_alternative<Printed>(*next)) --unprinted_;
    return std::nullopt;
  }

  // While the printer does not answer, the port does not read, and the program has to wait.
  std::optional<gen::Reason> PrintLine(const std::string& text) {
    if (self_.Send(printer_, Line{STDOUT_FILENO, job_.name + " | " + text})) ++unprinted_;
    std::optional<gen::Reason> end;
    while (!end && unprinted_ > 0) {
      auto next = self_.Receive<Printed, Stop>(exit_ ? gen::kInfinite : TimeLeft());
      if (next && std::holds_alternative<Printed>(*next)) {
        --unprinted_;
      } else {
        end = next ? HandleStop() : HandleError(next.error());
      }
    }
    return end;
  }

  std::optional<gen::Reason> HandleStop() {
    if (std::exchange(is_stopping_, true)) return Kill(gen::Reason::Shutdown());
    (void)self_.SendExit(port_, gen::Reason::Shutdown());  // SIGTERM, then SIGKILL
    return std::nullopt;
  }

  std::optional<gen::Reason> HandleError(const gen::Error& error) {
    if (error != gen::ErrTimeout) return gen::Reason::Shutdown();  // the port ends with its owner
    return exit_ ? ReasonOf(*exit_) : HandleTimeout();
  }

  std::optional<gen::Reason> HandleTimeout() {
    // The time is that of the program: one that has ended may be printed later.
    while (auto exit = self_.Receive<node::PortExit>(0ns)) {
      if (exit->port != port_) continue;
      exit_ = *exit;
      return std::nullopt;
    }
    return Kill(is_stopping_ ? gen::Reason::Shutdown()
                             : gen::Reason::Error("took too long, killed"));
  }

  // Returns when the program is gone, and what it has started is killed.
  gen::Reason Kill(gen::Reason reason) {
    (void)self_.Monitor(port_);
    (void)self_.Node().Kill(port_);
    (void)self_.Receive<gen::MessageDownPID>();
    return reason;
  }

  gen::Reason ReasonOf(const node::PortExit& exit) const {
    if (is_stopping_) return gen::Reason::Shutdown();
    return exit.code == 0 ? gen::Reason::Normal() : gen::Reason::Error(exit.ToString());
  }

  std::chrono::nanoseconds TimeLeft() const {
    if (!job_.timeout) return gen::kInfinite;
    return std::max(*job_.timeout - std::chrono::nanoseconds(self_.Now() - started_), 0ns);
  }

  gen::Process& self_;
  const Job& job_;
  const gen::PID printer_;
  int& unprinted_;
  gen::PID port_;
  std::int64_t started_ = 0;
  bool is_stopping_ = false;
  std::optional<node::PortExit>
      exit_;  // it has ended; some of what it has written is to be printed
};

}  // namespace

gen::Reason RunJob(gen::Process& self, const Job& job, gen::PID printer,
                   std::chrono::seconds grace) {
  std::chrono::milliseconds back_off = 100ms;
  int unprinted = 0;
  for (int retries = job.retries;; --retries) {
    // Of high priority, as the notice of this process's end: it is not overtaken by that.
    (void)self.SendWithPriority(self.Parent(), Trying{}, gen::MessagePriority::kHigh);
    gen::Reason reason = Try(self, job, printer, unprinted).Run(grace);
    if (!reason.IsFailure()) return reason;
    std::string text = fmt::format("jobs: {}: {}", job.name, reason.ToString());
    if (retries > 0) text += fmt::format("; again in {} ms", back_off.count());
    if (self.Send(printer, Line{STDERR_FILENO, std::move(text)})) ++unprinted;
    if (retries == 0) return reason;
    const auto stop = self.Receive<Stop>(back_off);
    if (stop || stop.error() != gen::ErrTimeout) return gen::Reason::Shutdown();
    back_off = std::min<std::chrono::milliseconds>(2 * back_off, 1min);
  }
}

}  // namespace jobs
