// treesum: the SHA-256 of every file under some directories, by a pool of workers.
//
// main's own thread walks the directories and feeds the pool; a printer brings the results back
// into the order of the walk. See README.md for a picture.
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include <ergon/node/node.h>
#include <ergon/node/observer.h>
#include <unistd.h>

#include "feeder.h"
#include "hash_pool.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "printer.h"
#include "signals.h"
#include "stats.h"
#include "survey.h"
#include "text.h"
#include "walk.h"

namespace treesum {

using namespace ergon;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

int MaxWorkers(const Options& options) {
  int workers = options.workers;
  for (const ScaleStep& step : options.scale) workers = std::max(workers, step.workers);
  return workers;
}

// What the pool has done. The printer knows that a batch is done a moment before the worker is idle
// again, so this waits a little for those that are busy.
gen::Inspection InspectAtRest(gen::Node& node, gen::PID pool) {
  constexpr int kAttempts = 50;
  gen::Inspection inspection;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    inspection = node.Inspect(pool).value();
    if (inspection["workers_busy"] == "0" && inspection["workers_leaving"] == "0") break;
    std::this_thread::sleep_for(2ms);
  }
  return inspection;
}

// Lets the node be observed, and tells where. Returns what is wrong, or nothing.
std::string StartObserver(gen::Node& node, const Observe& observe) {
  const auto observer =
      node.Spawn(node::ObserverFactory({.address = observe.address, .port = observe.port}));
  if (!observer) return "--observe: " + std::string(observer.error().detail());
  const auto where = node.Call(*observer, node::GetObserverAddress{}).value();
  const bool is_six = where.address.find(':') != std::string::npos;
  WriteMessage("see http://" + (is_six ? "[" + where.address + "]" : where.address) + ":" +
               std::to_string(where.port) + "/metrics");
  return {};
}

// Requests the stop when a scope is left, in whatever way.
struct StopAtEnd {
  std::stop_source stop;
  ~StopAtEnd() { stop.request_stop(); }
};

int Run(const Options& options) {
  auto started = Clock::now();
  std::stop_source stop;
  auto tally = std::make_shared<Tally>();
  Signals signals(stop, [started, tally] {
    RunResult result{.summary = {.files = tally->files, .bytes_read = tally->bytes_read},
                     .elapsed = Clock::now() - started};
    WriteMessageIfReady("interrupted after " + DescribeRun(result) +
                        ", without waiting any longer");
  });

  // Workers wait for disks, so each gets a thread even if there are fewer cores.
  int max_workers = MaxWorkers(options);
  auto node = node::Start("treesum@localhost",
                          {.workers = std::max(2, max_workers), .log_level = gen::LogLevel::kError})
                  .value();
  StopAtEnd stop_at_end{stop};  // before the node ends, so that it need not wait for anybody
  if (options.observe) {
    if (const std::string wrong = StartObserver(node, *options.observe); !wrong.empty()) {
      WriteMessage(wrong);
      return 2;
    }
  }
  bool progress = options.progress && ::isatty(STDERR_FILENO) == 1;
  gen::PID printer = node.Spawn(PrinterFactory({.progress = progress,
                                                .line_end = options.line_end,
                                                .stop = stop,
                                                .tally = tally}),
                                {.detached = true})
                         .value();
  gen::PID pool = node.Spawn(HashPoolFactory({.workers = options.workers,
                                              .mailbox = options.mailbox,
                                              .scale = options.scale,
                                              .line_end = options.line_end,
                                              .printer = printer,
                                              .stop = stop.get_token()}))
                      .value();
  if (progress) {
    node.Spawn(SurveyFactory(options.arguments, printer, stop.get_token()), {.detached = true})
        .value();
  }

  Feeder feeder(node, {.pool = pool,
                       .printer = printer,
                       .max_workers = max_workers,
                       .mailbox = options.mailbox,
                       .stop = stop.get_token()});
  Walk(options.arguments,
       {.report_newlines = options.line_end == LineEnd::kNewline, .stop = stop.get_token()},
       feeder);
  feeder.Finish();

  RunResult result{.summary = node.Call<Summary>(printer, Finish{}).value(),
                   .links = feeder.links(),
                   .elapsed = Clock::now() - started};
  bool failed = result.summary.problems.Total() > 0 || !result.summary.output_error.empty();
  int signal = signals.received();
  if (signal != 0) {
    WriteMessage("interrupted after " + DescribeRun(result));
  } else if (failed || progress || options.stats) {
    WriteMessage(DescribeRun(result));
  }
  if (options.stats) WriteError("pool:\n" + DescribePool(InspectAtRest(node, pool)));

  if (signal != 0) return Signals::ExitStatus(signal);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace treesum

int main(int argc, char** argv) {
  treesum::OccupyStandardDescriptors();
  try {
    auto options = treesum::ParseOptions(argc, argv);
    if (int* status = std::get_if<int>(&options)) return *status;
    return treesum::Run(std::get<treesum::Options>(options));
  } catch (const std::exception& error) {
    treesum::WriteMessage(error.what());
    return 1;
  }
}
