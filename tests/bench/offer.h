// Workloads, and what the command line knows of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <bench/measurement.h>
#include <bench/params.h>

namespace ergon::bench {

// A workload as the command line knows it.
struct Offer {
  std::string name;
  std::string measures;
  std::vector<Param> params;
};

// A workload that runs on a system of the kind `System`: a node, say.
template <class System>
struct WorkloadOn {
  std::string name;
  std::string measures;
  std::vector<Param> params;
  // One run on a system that was started. Ends the processes it has spawned.
  std::function<Measurement(System&, const Params&)> run;
};

template <class System>
std::vector<Offer> OffersOf(const std::vector<WorkloadOn<System>>& workloads) {
  std::vector<Offer> offers;
  for (const auto& workload : workloads) {
    offers.push_back({workload.name, workload.measures, workload.params});
  }
  return offers;
}

}  // namespace ergon::bench
