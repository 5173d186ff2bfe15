// What every program that runs workloads has: its command line, and the line it prints.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <bench/measurement.h>
#include <bench/offer.h>
#include <bench/params.h>

namespace ergon::bench {

struct Program {
  std::string name;
  std::string peer;           // what is measured
  std::string version;        // which of it; "": the commit says so
  std::string runs_on;        // "a node of its own"
  std::vector<Param> common;  // what every workload can be told, besides what Run knows itself
  std::vector<Offer> workloads;
  // Starts what the workload of this index needs, and runs it with RunOften.
  std::function<Measurement(std::size_t, const Params&)> run;
};

// `run` as often as the parameters say; the median.
Measurement RunOften(const Params& params, const std::function<Measurement()>& run);

// The whole main(): reads the words, runs one workload, prints its line. Returns the program's status.
int Run(const Program& program, int count, char** words);

}  // namespace ergon::bench
