// The table at the end.
#pragma once

#include <cstdint>
#include <vector>

#include <ergon/gen/node_info.h>

#include <soak/laws.h>
#include <soak/rates.h>
#include <soak/stage.h>
#include <soak/verdict.h>

namespace ergon::soak {

struct Measurements {
  double seconds = 0;
  int rounds = 0;
  Rates rates = {};
  std::vector<std::uint64_t> resident = {};  // bytes: after the warm-up, and at each rest since
  int threads_before = 0;
  int threads_after = 0;
};

void PrintReport(const Stage& stage, const gen::NodeInfo& info, const PoolLosses& losses,
                 const Measurements& measured, const Verdict& verdict);

}  // namespace ergon::soak
