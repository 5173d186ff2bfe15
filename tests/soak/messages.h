// What the processes of the load tell each other.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/ref.h>

#include <soak/ledger.h>

namespace ergon::soak {

// What the one who handles a message does, besides counting it. The sender decides.
enum class Deed : std::uint8_t {
  kNothing,
  kSleep,       // the process waits
  kBlock,       // its thread does
  kAsk,         // calls another process, and gives up soon
  kDefer,       // requests: answered when the next message comes, or never
  kFailAnswer,  // requests: answered with an error
  kMakeAlias,   // requests: answered with it
  kDropAlias,
  kSubscribe,  // to `event`
  // Faults:
  kThrow,
  kThrowOddly,  // something that is no std::exception
  kStop,        // with an error
  kStopNormally,
  kAnswerAndStop,  // requests
  kKillItself,
};

struct Errand {
  Deed deed = Deed::kNothing;
  std::chrono::microseconds time{0};
  gen::Atom event = {};
};

// A message.
struct Parcel {
  Ticket ticket;
  Errand errand;
};

// A request.
struct Question {
  Ticket ticket;
  Errand errand;
};
struct Answer {
  std::uint64_t sequence = 0;  // of the question
  gen::Alias alias = {};
};

// A published value.
struct News {};

// A driving process to itself: go on.
struct Tick {
  Ticket ticket;
};

// To a pool, with high priority.
struct Resize {
  Ticket ticket;
  int by = 0;
  bool at_once = false;  // removed workers are killed
};
struct EndPool {
  Ticket ticket;
};

}  // namespace ergon::soak
