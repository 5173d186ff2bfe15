// The two sides of a measurement between nodes, each a program of its own. network.escript has the same for Erlang: any
// client measures any server.
#pragma once

#include <cstdint>
#include <string>

namespace ergon::bench {

// What every message, request and answer is.
inline constexpr std::size_t kPayloadBytes = 16;

// A node with the processes `echo`, which answers a binary with itself, `counter`, which counts messages and answers
// `count` with their number since the last time, and those that attackers want (tests/cluster/victim.h). Prints
// "ready"; ends with its standard input. It listens at `port`, 0: any, and has what attackers call (fire.h).
void Serve(const std::string& name, std::uint16_t port);

// These return the nanoseconds of one, or more. Throw std::runtime_error when something went wrong.
// Calls `echo`, again when it has the answer.
double MeasureCalls(const std::string& name, const std::string& peer, std::int64_t count);
// The same; how long single calls take, in nanoseconds, of those that are answered. After each hundredth one the
// connection is ended and made again; how long that takes at most.
struct Latency {
  double p50 = 0;
  double p99 = 0;
  double most = 0;
  std::int64_t answered = 0;
  std::int64_t connects = 0;
  std::int64_t failed_connects = 0;
  double longest_connect = 0;
};
Latency MeasureLatency(const std::string& name, const std::string& peer, std::int64_t count);
// A process sends `count` messages to `counter` and then asks it: they count when they have been handled there. `what`
// they are: a "text"; or a struct of three numbers and a text as "terms", or "packed" with cereal.
double MeasureStream(const std::string& name, const std::string& peer, const std::string& what,
                     std::int64_t count);

}  // namespace ergon::bench
