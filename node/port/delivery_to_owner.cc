#include <ergon/node/port/delivery_to_owner.h>

#include <algorithm>

namespace ergon::node {

bool DeliveryToOwner::IsForGood(gen::ErrorCode code) noexcept {
  switch (code) {
    case gen::ErrorCode::kProcessMailboxFull:
    case gen::ErrorCode::kOverloaded:
    case gen::ErrorCode::kInternal:  // its mailbox threw
      return false;
    default:
      return true;
  }
}

bool DeliveryToOwner::MayBegin(bool paused) {
  if (room_ == 0) {
    auto window = static_cast<std::uint64_t>(program_.options().window);
    const auto info = self_.Node().ProcessInfo(owner_);
    const std::uint64_t waiting = info ? info->messages_queued + info->messages_held : 0;
    // A mailbox that drops its oldest refuses nothing.
    if (info && info->mailbox_size != 0)
      window = std::min<std::uint64_t>(window, info->mailbox_size);
    // Half of it, so that looks are rare; the owner has something to do meanwhile. It may have stashed the rest.
    if (waiting <= window / 2 || (paused && waiting < window)) room_ = window - waiting;
  }
  if (room_ == 0) return false;
  --room_;
  return true;
}

bool DeliveryToOwner::HasRoom() const {
  const auto info = self_.Node().ProcessInfo(owner_);
  return !info || info->mailbox_size == 0 || info->messages_queued < info->mailbox_size;
}

}  // namespace ergon::node
