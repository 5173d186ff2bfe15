// jobs: runs programs that come after each other, some at the same time. See README.md.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>
#include <asio/signal_set.hpp>

#include <ergon/node/await.h>
#include <ergon/node/node.h>

#include "options.h"
#include "printer.h"
#include "scheduler.h"

namespace jobs {

using namespace ergon;

namespace {

gen::Result<std::vector<Job>> Load(const std::string& path) {
  std::ifstream file(path);
  std::istream& input = path == "-" ? std::cin : file;
  auto jobs = input ? ReadJobs(input) : std::vector<Job>();
  // std::cin reads from stdin, and takes an error of that for the end.
  const bool is_read = input.eof() && (path != "-" || std::ferror(stdin) == 0);
  if (!is_read && jobs) {
    return gen::Error(
        fmt::format("cannot read it: {}; name a file that you may read", std::strerror(errno)));
  }
  if (!jobs || !jobs->empty()) return jobs;
  return gen::Error("no jobs; write one per line: name : command words");
}

std::string Table(const std::vector<Job>& jobs) {
  std::string table =
      fmt::format("\n{:<20} {:<11} {:>5} {:>9}", "name", "state", "tries", "seconds");
  for (const Job& job : jobs) {
    table +=
        fmt::format("\n{:<20} {:<11} {:>5} {:>9.2f}", job.name, job.state, job.tries, job.seconds);
  }
  return table;
}

int RunAll(const Options& options) {
  auto jobs = Load(options.file);
  if (!jobs) {
    std::fputs(fmt::format("jobs: {}: {}\n", options.file, jobs.error().detail()).c_str(), stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // jobs go on when nobody reads any more
  std::atomic<int> received{0};   // the last signal
  std::atomic<int> signals{0};
  auto node =
      node::Start("jobs@localhost", {.log_level = gen::LogLevel::kError, .dump_on_sigquit = true})
          .value();
  const gen::PID printer =
      node.Spawn([&signals](gen::Process& self) { Print(self, signals); }).value();
  const gen::PID scheduler = node.Spawn(Schedule).value();
  const auto caught = std::make_shared<asio::signal_set>(node::IoContext(node), SIGINT, SIGTERM);
  const auto forward = [caught, scheduler, &received, &signals](gen::Process& self) {
    while (auto signal = caught->async_wait(node::AwaitOrStop())) {
      received = *signal;
      ++signals;
      (void)self.Send(scheduler, Stop{});
    }
  };
  node.Spawn(forward).value();

  jobs = node.Call(
      scheduler,
      Run{std::move(*jobs), options.at_once, printer, std::chrono::seconds(options.grace)},
      {.timeout = gen::kInfinite});
  const auto print = [&](int file, std::string text) {
    return node.Call(printer, Line{file, std::move(text)}, {.timeout = gen::kInfinite}).value();
  };
  const int error = print(STDOUT_FILENO, Table(jobs.value()));
  if (error != 0 && error != ECANCELED) {
    print(STDERR_FILENO,
          fmt::format("jobs: cannot write to standard output: {}", std::strerror(error)));
    return 1;
  }
  if (received != 0) return 128 + received;
  const bool all_well =
      std::ranges::all_of(jobs.value(), [](const Job& job) { return job.state == "succeeded"; });
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace jobs

int main(int argc, char** argv) {
  try {
    auto options = jobs::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return jobs::RunAll(std::get<jobs::Options>(options));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("jobs: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
