// What processes of this node answer to Erlang's module sys.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include <ergon/gen/messenger.h>
#include <ergon/node/cluster/connection/peer_state.h>

namespace ergon::dist {

// Appends the answer to sys:get_state, get_status, suspend or resume: the inspection of the process as a map of
// binaries. `inspection` is null where none was asked for.
void AppendSystemAnswer(std::string& out, const PeerState::Request& request,
                        const gen::Inspection* inspection);

// What a process has counted, for sys:statistics.
struct SystemCounts {
  std::chrono::nanoseconds uptime{0};
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
};

enum class StatisticsRequest : std::uint8_t {
  kNone,    // another request
  kGet,     // the answer is {ok, [{start_time, ...}, ...]}
  kSwitch,  // on or off; the answer is ok, and nothing changes: this node always counts
};
// Reads the term behind {system, From, ...}.
[[nodiscard]] StatisticsRequest ReadStatisticsRequest(std::string_view term, std::size_t max_depth);

// Appends the answer to kGet. Times are local times, as in Erlang. `now`: seconds since 1970.
void AppendStatistics(std::string& out, const SystemCounts& counts, std::time_t now);

}  // namespace ergon::dist
