// A model that has to be right, and how much of it has to be explored: a model that does next to
// nothing would be right as well.
#pragma once

#include <cstdint>

#include <doctest/doctest.h>

#include "explorer.h"

namespace ergon::model {

template <class M>
void CheckModel(const Options& options, std::uint64_t least_executions) {
  const Result result = Explore<M>(options);
  CHECK_MESSAGE(result.failure == "", options.name);
  CHECK_MESSAGE(result.complete, options.name);
  CHECK_MESSAGE(result.executions >= least_executions, options.name);
}

}  // namespace ergon::model
