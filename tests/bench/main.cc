// ergon-bench: one workload, one line of JSON.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <bench/commit.h>
#include <bench/workload.h>
#include <ergon/node/node.h>

namespace ergon::bench {

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> kAll = {
      PingPong(), PingPongPairs(),    Stream(), StreamPairs(), FanIn(), Ring(),     SpawnIdle(),
      Churn(),    Skynet(),           Call(),   CallMany(),    Pool(),  PoolWork(), Urgent(),
      Timer(),    LatencyUnderLoad(), Inspect()};
  return kAll;
}

namespace {

// What every workload can be told besides its own.
std::vector<Param> CommonParams() {
  return {
      {"workers", 2, 2, 1024, "threads of the node"},
      {"policy", 0, 0, 1, "stealing or sharing", {"stealing", "sharing"}},
      {"warmup", 1, 0, 100, "runs that do not count, first"},
      {"yardstick", 1, 0, 1, "0: without the times of a cache line, as for counting instructions"},
      {"seconds", 0, 0, 3600, "counted runs until so much time has passed; the median is told"}};
}

void PrintParams(const std::vector<Param>& params) {
  for (const Param& param : params) {
    fmt::print("  {:<16} {:<10} {}\n", param.name, param.Text(param.value), param.meaning);
  }
}

void PrintHelp() {
  std::puts(
      "usage: ergon-bench WORKLOAD [key=value ...]\n"
      "       ergon-bench --list | --help\n"
      "\n"
      "Runs a workload on a node of its own and prints one line of JSON. The clock runs from the\n"
      "first message until the last handler has run; start, spawning and stop are outside.\n"
      "line_ns_before and line_ns_after: a cache line's way to the other core and back; compare\n"
      "only runs in which they are alike.\n"
      "\n"
      "every workload:");
  PrintParams(CommonParams());
}

void PrintList() {
  for (const Workload& workload : AllWorkloads()) {
    fmt::print("{:<20} {}\n", workload.name, workload.measures);
    PrintParams(workload.params);
  }
}

// What is left in a buffer is written only at the end of a program, which nobody hears of.
int Written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  fmt::print(stderr, "ergon-bench: cannot write to standard output: {}\n", std::strerror(errno));
  return 1;
}

int Usage(const std::string& problem) {
  fmt::print(stderr, "ergon-bench: {}; see ergon-bench --help\n", problem);
  return 2;
}

Measurement RunOften(const Workload& workload, gen::Node& node, const Params& params) {
  for (std::int64_t i = 0; i < params["warmup"]; ++i) (void)workload.run(node, params);
  std::vector<Measurement> runs;
  const std::int64_t end = Now() + params["seconds"] * 1'000'000'000;
  do {
    runs.push_back(workload.run(node, params));
  } while (Now() < end);
  std::sort(runs.begin(), runs.end(), [](const Measurement& a, const Measurement& b) {
    return a.nanoseconds < b.nanoseconds;
  });
  return runs[runs.size() / 2];
}

int Main(const std::vector<std::string>& words) {
  if (words.empty()) return Usage("no workload named");
  if (words[0] == "--help" || words[0] == "-h") return PrintHelp(), Written();
  if (words[0] == "--list") return PrintList(), Written();
  const auto& all = AllWorkloads();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Workload& workload) { return workload.name == words[0]; });
  if (found == all.end()) return Usage(words[0] + ": no such workload (--list shows them)");
  std::vector<Param> known = CommonParams();
  known.insert(known.end(), found->params.begin(), found->params.end());
  Params params(known);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const std::string problem = params.Set(words[i]); !problem.empty()) return Usage(problem);
  }

  gen::NodeOptions options;
  options.workers = static_cast<int>(params["workers"]);
  options.policy = params["policy"] != 0 ? gen::DispatcherPolicy::kWorkSharing
                                         : gen::DispatcherPolicy::kWorkStealing;
  auto node = node::Start("bench@localhost", options);
  if (!node) return Usage(node.error().ToString());
  const bool has_yardstick = params["yardstick"] != 0;
  const double before = has_yardstick ? LineRoundTrip() : 0;
  const Measurement measurement = RunOften(*found, *node, params);
  const double after = has_yardstick ? LineRoundTrip() : 0;
  node->Stop();
  fmt::print("{}\n", ToJson(found->name, params.ToJson(), measurement,
                            fmt::format(R"("workers":{},"commit":"{}","line_ns_before":{:.0f},)"
                                        R"("line_ns_after":{:.0f})",
                                        params["workers"], kCommit, before, after)));
  return Written();
}

}  // namespace
}  // namespace ergon::bench

int main(int count, char** words) {
  try {
    return ergon::bench::Main({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "ergon-bench: {}\n", error.what());
    return 1;
  }
}
