// What of a pool's options may be changed while it runs, as options and as text.
#pragma once

#include <string>
#include <vector>

#include <ergon/act/pool_options.h>
#include <ergon/gen/pool_change.h>

namespace ergon::act {

using gen::PoolChange;

// Returns `options` with the change applied; the result may be invalid (PoolOptions::Validate).
[[nodiscard]] PoolOptions Changed(const PoolOptions& options, const PoolChange& change);
// Returns an empty text, or why this pool cannot take the change, as in "autoscale_max: 8, but the pool has no
// autoscale".
[[nodiscard]] std::string Misfit(const PoolOptions& options, const PoolChange& change);
// Returns what is wrong with changed options, by the names that a change and a file have for them: "autoscale_max: ..."
// for "autoscale.max: ...".
[[nodiscard]] std::string ByNamesOfChange(std::string problem);
// Returns the changes that lead from `before` to `now`, as in "max_restarts: 3, was 0".
[[nodiscard]] std::vector<std::string> Differences(const PoolOptions& now,
                                                   const PoolOptions& before);

}  // namespace ergon::act
