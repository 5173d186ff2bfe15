#include <bench/program.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include <bench/commit.h>
#include <bench/machine.h>

namespace ergon::bench {
namespace {

// What every workload can be told besides its own.
std::vector<Param> CommonParams(const Program& program) {
  std::vector<Param> params = {{"workers", 2, 1, 1024, "threads that run handlers"}};
  params.insert(params.end(), program.common.begin(), program.common.end());
  params.push_back({"warmup", 1, 0, 100, "runs that do not count, first"});
  params.push_back(
      {"yardstick", 1, 0, 1, "0: without the times of a cache line, as for counting instructions"});
  params.push_back(
      {"seconds", 0, 0, 3600, "counted runs until so much time has passed; the median is told"});
  return params;
}

void PrintParams(const std::vector<Param>& params) {
  for (const Param& param : params) {
    fmt::print("  {:<16} {:<10} {}\n", param.name, param.Text(param.value), param.meaning);
  }
}

void PrintHelp(const Program& program) {
  fmt::print(
      "usage: {0} WORKLOAD [key=value ...]\n"
      "       {0} --list | --help\n"
      "\n"
      "Runs a workload on {1} and prints one line of JSON. The clock runs from the\n"
      "first message until the last handler has run; start, spawning and stop are outside.\n"
      "line_ns_before and line_ns_after: a cache line's way to the other core and back; compare\n"
      "only runs in which they are alike. processor_ns_per_op: the processor time of all threads\n"
      "of the program, start and end of each run with it.\n"
      "\n"
      "every workload:\n",
      program.name, program.runs_on);
  PrintParams(CommonParams(program));
}

void PrintList(const Program& program) {
  for (const Offer& workload : program.workloads) {
    fmt::print("{:<20} {}\n", workload.name, workload.measures);
    PrintParams(workload.params);
  }
}

// What is left in a buffer is written only at the end of a program, which nobody hears of.
int Written(const Program& program) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs(
      fmt::format("{}: cannot write to standard output: {}\n", program.name, std::strerror(errno))
          .c_str(),
      stderr);
  return 1;
}

int Usage(const Program& program, const std::string& problem) {
  std::fputs(fmt::format("{0}: {1}; see {0} --help\n", program.name, problem).c_str(), stderr);
  return 2;
}

int Answer(const Program& program, const std::vector<std::string>& words) {
  if (words.empty()) return Usage(program, "no workload named");
  if (words[0] == "--help" || words[0] == "-h") return PrintHelp(program), Written(program);
  if (words[0] == "--list") return PrintList(program), Written(program);
  const auto& all = program.workloads;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Offer& workload) { return workload.name == words[0]; });
  if (found == all.end()) {
    return Usage(program, words[0] + ": no such workload (--list shows them)");
  }
  std::vector<Param> known = CommonParams(program);
  known.insert(known.end(), found->params.begin(), found->params.end());
  Params params(known);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const std::string problem = params.Set(words[i]); !problem.empty()) {
      return Usage(program, problem);
    }
  }

  const bool has_yardstick = params["yardstick"] != 0;
  const double before = has_yardstick ? LineRoundTrip() : 0;
  const Measurement measurement =
      program.run(static_cast<std::size_t>(found - all.begin()), params);
  const double after = has_yardstick ? LineRoundTrip() : 0;
  const std::string version =
      program.version.empty() ? "" : fmt::format(R"("version":"{}",)", program.version);
  fmt::print("{}\n", ToJson(program.peer, found->name, params.ToJson(), measurement,
                            fmt::format(R"({}"workers":{},"commit":"{}","line_ns_before":{:.0f},)"
                                        R"("line_ns_after":{:.0f})",
                                        version, params["workers"], kCommit, before, after)));
  return Written(program);
}

}  // namespace

Measurement RunOften(const Params& params, const std::function<Measurement()>& run) {
  for (std::int64_t i = 0; i < params["warmup"]; ++i) (void)run();
  std::vector<Measurement> runs;
  const std::int64_t end = Now() + params["seconds"] * 1'000'000'000;
  const std::int64_t processor_time = ProcessorTime();
  std::int64_t ops = 0;
  do {
    runs.push_back(run());
    ops += runs.back().ops;
  } while (Now() < end);
  const auto spent = static_cast<double>(ProcessorTime() - processor_time);
  std::sort(runs.begin(), runs.end(), [](const Measurement& a, const Measurement& b) {
    return a.nanoseconds < b.nanoseconds;
  });
  Measurement& median = runs[runs.size() / 2];
  if (ops != 0) {
    median.extra.emplace_back("processor_ns_per_op", spent / static_cast<double>(ops));
  }
  return median;
}

int Run(const Program& program, int count, char** words) {
  try {
    return Answer(program, {words + 1, words + count});
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", program.name, error.what()).c_str(), stderr);
    return 1;
  }
}

}  // namespace ergon::bench
