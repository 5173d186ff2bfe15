// queue_service: a queue made of processes behaves like one, because a serializer stands in front
// of it. See README.md for a picture.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include <ergon/act/serializer.h>
#include <ergon/node/node.h>

#include "check.h"
#include "customer.h"
#include "options.h"
#include "queue.h"
#include "signals.h"

namespace queue_service {

using namespace ergon;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<History> RunCustomers(node::Node& node, gen::PID queue, const Options& options,
                                  const std::atomic<int>& stop) {
  std::vector<std::future<gen::Result<History>>> running;
  running.reserve(options.customers);
  for (std::uint64_t i = 0; i < options.customers; ++i) {
    const std::uint64_t share = options.operations / options.customers +
                                (i < options.operations % options.customers ? 1 : 0);
    const gen::PID customer = node.Spawn(gen::Factory<Customer>()).value();
    running.push_back(node.CallAsync(customer,
                                     Work{.queue = queue,
                                          .operations = share,
                                          .seed = options.seed * 1'000'003 + i,
                                          .first_item = i << 32,
                                          .stop = &stop},
                                     {.timeout = gen::kInfinite}));
  }
  std::vector<History> histories;
  histories.reserve(running.size());
  for (auto& customer : running) histories.push_back(customer.get().value());
  return histories;
}

std::uint64_t ExpectedProcesses(const Options& options, const Verdict& verdict) {
  return verdict.left + options.customers + 2;  // serializer and queue
}

// Whether there is one process for each item that is left: cells that were removed have ended, or
// are about to.
bool CountCells(const node::Node& node, const Options& options, const Verdict& verdict) {
  const std::uint64_t expected = ExpectedProcesses(options, verdict);
  const auto end = Clock::now() + 20s;
  while (node.Info().processes != expected) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

int Run(const Options& options) {
  // Who reads the output or the log may go: that is an error of a write.
  std::signal(SIGPIPE, SIG_IGN);
  const Signals signals;
  auto node = node::Start("queue@localhost", {.log_level = gen::LogLevel::kError}).value();
  const gen::PID queue = node.Spawn(act::Serializer::Of(gen::Factory<Queue>())).value();

  const auto started = Clock::now();
  const std::vector<History> histories = RunCustomers(node, queue, options, signals.received());
  const std::chrono::duration<double> elapsed = Clock::now() - started;
  Verdict verdict = Check(histories);
  if (verdict.problem.empty() && !CountCells(node, options, verdict)) {
    verdict.problem =
        fmt::format("{} items are left, but {} processes, and there should be {}", verdict.left,
                    node.Info().processes, ExpectedProcesses(options, verdict));
  }
  // The queue is linked with the serializer and all cells with the queue: they end together.
  node.SendExit(queue, gen::Reason::Shutdown()).value();

  const int signal = signals.received();
  fmt::print("{} operations of {} customers{} in {:.2f} s, {:.0f} a second\n", verdict.operations,
             options.customers, signal == 0 ? "" : ", then interrupted,", elapsed.count(),
             static_cast<double>(verdict.operations) / elapsed.count());
  fmt::print("{} put, {} taken, {} times nothing to take; at most {} in the queue, {} left\n",
             verdict.put, verdict.taken, verdict.missed, verdict.longest, verdict.left);
  if (!verdict.problem.empty()) {
    std::fputs(fmt::format("queue_service: {}\n", verdict.problem).c_str(), stderr);
    return 1;
  }
  fmt::print("all as with a std::deque, in the order in which the serializer let them in\n");
  if (std::fflush(stdout) != 0) {
    std::fputs(
        fmt::format("queue_service: cannot write to standard output: {}\n", std::strerror(errno))
            .c_str(),
        stderr);
    return 1;
  }
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace
}  // namespace queue_service

int main(int argc, char** argv) {
  try {
    auto options = queue_service::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return queue_service::Run(std::get<queue_service::Options>(options));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("queue_service: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
