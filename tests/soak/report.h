// The table at the end.
#pragma once

#include <cstdint>

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
  std::uint64_t resident_before = 0;  // bytes, after the warm-up
  std::uint64_t resident_after = 0;
  int threads_before = 0;
  int threads_after = 0;
};

void PrintReport(const Stage& stage, const gen::NodeInfo& info, const PoolLosses& losses,
                 const Measurements& measured, const Verdict& verdict);

}  // namespace ergon::soak
