#include <ergon/node/delivery/late_drops.h>

#include <new>
#include <utility>

#include <ergon/node/delivery/drops.h>

namespace ergon::node {

thread_local constinit LateDrops* LateDrops::current_ = nullptr;

// Out of line, as all that uses `current_`: a caller that was suspended in between may be on another thread.
LateDrops::LateDrops(Dropper& dropper) noexcept : dropper_(dropper), former_(current_) {
  current_ = this;
}

LateDrops::~LateDrops() {
  current_ = former_;
  for (Kept& kept : kept_) {
    if (KeepIn(former_, kept)) continue;
    try {
      dropper_.DropPushedOut(std::move(kept.envelope), kept.receiver, kept.waiting_pool,
                             kept.is_told);
    } catch (const std::bad_alloc&) {
      // It is counted; no memory to tell who hears of dead letters.
    }
  }
}

bool LateDrops::KeepIn(LateDrops* drops, Kept& kept) noexcept {
  if (drops == nullptr) return false;
  try {
    drops->kept_.push_back(std::move(kept));  // moves when there is memory for it
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool LateDrops::Keep(core::EnvelopePtr& envelope, gen::PID receiver,
                     gen::PID waiting_pool) noexcept {
  Kept kept{std::move(envelope), receiver, waiting_pool, !Drops::Silence::IsSet()};
  if (KeepIn(current_, kept)) return true;
  envelope = std::move(kept.envelope);
  return false;
}

}  // namespace ergon::node
