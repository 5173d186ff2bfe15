// Messages that nobody handles: counted with their reason, and the last ones remembered.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/dropped_message.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/drop_memory.h>

namespace ergon::node {

// Any thread.
class Drops {
 public:
  Drops(const Addresses& addresses, const core::Clock& clock, int remembered)
      : addresses_(addresses), clock_(clock), memory_(remembered) {}

  // `to`: who should have handled it; the empty PID: not known.
  void Note(const core::Envelope& envelope, gen::PID to, gen::DropReason reason,
            const gen::Error& error);
  // Messages for another node that were lost with the connection, and are not remembered.
  void NoteLostConnection(std::uint64_t messages) noexcept {
    counts_[static_cast<std::size_t>(gen::DropReason::kNoConnection)].fetch_add(
        messages, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t Count(gen::DropReason reason) const noexcept {
    return counts_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }
  // Sets the counters of a gen::MessageBalance or a gen::NodeInfo.
  template <class Counts>
  void CopyCounts(Counts& counts) const noexcept {
    counts.dropped_terminated = Count(gen::DropReason::kTerminated);
    counts.dropped_unknown = Count(gen::DropReason::kUnknown);
    counts.dropped_mailbox_full = Count(gen::DropReason::kMailboxFull);
    counts.dropped_expired = Count(gen::DropReason::kExpired);
    counts.dropped_no_connection = Count(gen::DropReason::kNoConnection);
  }
  [[nodiscard]] const DropMemory& memory() const noexcept { return memory_; }

 private:
  [[nodiscard]] const std::type_info* BehaviorType(gen::PID pid) const;  // null: not known

  const Addresses& addresses_;
  const core::Clock& clock_;
  std::array<std::atomic<std::uint64_t>, gen::kDropReasons> counts_{};
  DropMemory memory_;
};

}  // namespace ergon::node
