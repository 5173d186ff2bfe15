#include <ergon/node/delivery/late_drops.h>

#include <new>
#include <utility>

namespace ergon::node {

thread_local constinit LateDrops* LateDrops::current_ = nullptr;

LateDrops::~LateDrops() {
  current_ = former_;
  for (Kept& kept : kept_) {
    try {
      delivery_.DropPushedOut(std::move(kept.envelope), kept.receiver, kept.waiting_pool);
    } catch (const std::bad_alloc&) {
      // It is counted; no memory to tell who hears of dead letters.
    }
  }
}

bool LateDrops::Keep(core::EnvelopePtr& envelope, gen::PID receiver,
                     gen::PID waiting_pool) noexcept {
  if (current_ == nullptr) return false;
  try {
    current_->kept_.emplace_back(nullptr, receiver, waiting_pool);
  } catch (const std::bad_alloc&) {
    return false;
  }
  current_->kept_.back().envelope = std::move(envelope);
  return true;
}

}  // namespace ergon::node
