#include <ergon/node/port/delivery_to_owner.h>

#include <algorithm>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

bool DeliveryToOwner::IsForNow(const gen::Error& error) noexcept {
  return error == gen::ErrProcessMailboxFull || error.code() == gen::ErrorCode::kOverloaded;
}

bool DeliveryToOwner::IsForAll(const gen::Error& error) noexcept {
  return gen::HasReceiverEnded(error) || error == gen::ErrNodeTerminated ||
         error == gen::ErrNoConnection;
}

// Without its lists: an owner of many ports has many links, and would wait while each of these copies them.
gen::Result<gen::ProcessInfo> DeliveryToOwner::OwnerInfo() const {
  return RuntimeOf(self_.Node(), "Port").inspection().ProcessInfo(owner_, 0);
}

bool DeliveryToOwner::MayBegin(bool has_paused) {
  if (room_ == 0) {
    auto window = static_cast<std::uint64_t>(program_.options().window);
    const auto info = OwnerInfo();
    const std::uint64_t queued = info ? info->messages_queued : 0;
    const std::uint64_t waiting = queued + (info ? info->messages_held : 0);
    // A mailbox that drops its oldest refuses nothing.
    if (info && info->mailbox_size != 0)
      window = std::min<std::uint64_t>(window, info->mailbox_size);
    // Half of it, so that looks are rare: the owner has something to do meanwhile. But it may be one that leaves there
    // what is no output, such as Receive does, or what it has stashed.
    if ((queued <= window / 2 || has_paused) && waiting < window) room_ = window - waiting;
  }
  if (room_ == 0) return false;
  --room_;
  return true;
}

bool DeliveryToOwner::HasRoom() const {
  const auto info = OwnerInfo();
  return !info || info->mailbox_size == 0 || info->messages_queued < info->mailbox_size;
}

}  // namespace ergon::node
