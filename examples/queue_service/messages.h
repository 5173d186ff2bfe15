// What customers, the queue and its cells send each other.
#pragma once

#include <cstdint>
#include <optional>

#include <ergon/gen/pid.h>

namespace queue_service {

using Item = std::uint64_t;

// -- customers to the queue --

struct Done {
  std::uint64_t order = 0;   // 1 for the first operation that was let in, then 2
  std::optional<Item> item;  // put or taken; nothing: the queue was empty
};
struct Put {
  using Reply = Done;
  Item item = 0;
};
struct Take {
  using Reply = Done;
};

// -- the queue to its cells --

// Answered with Removed; the cell ends.
struct Remove {};
struct Removed {
  Item item = 0;
  std::optional<ergon::gen::PID> next;  // nothing: it was the last one
};
// To the last cell; answered with the PID of the cell that comes after it.
struct Append {
  Item item = 0;
};

}  // namespace queue_service
