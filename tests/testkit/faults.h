// The faults of a simulated process, and how often they have happened.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <ergon/gen/factory.h>
#include <ergon/testkit/random.h>

namespace ergon::testkit {

// Probabilities, 0..1, of what happens at each start of a process, and at each message, request or event with priority
// normal.
struct Faults {
  double factory_failure = 0;  // its factory throws
  double init_failure = 0;     // its Init throws
  double throw_before = 0;     // an exception instead of the handler
  double throw_after = 0;      // an exception when the handler has done its work
  double stop_after = 0;       // it ends, with reason "fault", when the handler has done its work
  double kill = 0;             // it is killed while the handler runs
  double lost_response = 0;    // its answer to a request is lost
  double slow = 0;             // the handler begins late, by at most `slow_most` of virtual time
  std::chrono::nanoseconds slow_most = std::chrono::milliseconds(10);
  double full_mailbox = 0;  // its mailbox takes one message only, until the next one is handled
};

// How often each fault has happened.
struct FaultCounts {
  std::uint64_t factory_failures = 0;
  std::uint64_t init_failures = 0;
  std::uint64_t throws_before = 0;
  std::uint64_t throws_after = 0;
  std::uint64_t stops_after = 0;
  std::uint64_t kills = 0;
  std::uint64_t lost_responses = 0;
  std::uint64_t slow_handlers = 0;
  std::uint64_t full_mailboxes = 0;

  [[nodiscard]] std::uint64_t Total() const {
    return factory_failures + init_failures + throws_before + throws_after + stops_after + kills +
           lost_responses + slow_handlers + full_mailboxes;
  }
};

// Returns a factory of the processes that `factory` makes, with faults. `random` and `counts` outlive them. Throws
// std::invalid_argument, naming field and value, if a fault is out of range, or if the processes are made of a function
// (Process::Receive).
[[nodiscard]] gen::ProcessFactory MakeFaulty(gen::ProcessFactory factory, const Faults& faults,
                                             Random& random, FaultCounts& counts);

}  // namespace ergon::testkit
