// Messages that nobody handles: they are counted with their reason, and the last ones are remembered.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/dead_letter.h>
#include <ergon/gen/dropped_message.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/drop_memory.h>

namespace ergon::node {

// Any thread.
class Drops {
 public:
  // `started_at`: of the node, Clock ns. `remembered`: how many drops are kept.
  Drops(const Addresses& addresses, const core::Clock& clock, std::int64_t started_at,
        int remembered)
      : addresses_(addresses), clock_(clock), started_at_(started_at), memory_(remembered) {}

  // Counts a dropped envelope. `to`: the process that should have handled it; the empty PID: not known.
  void Note(const core::Envelope& envelope, gen::PID to, gen::DropReason reason,
            const gen::Error& error);

  // While one lives, what is dropped on this thread is counted only: a dead letter must not make the next one.
  class Silence {
   public:
    Silence() noexcept;
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    ~Silence();
    [[nodiscard]] static bool IsSet() noexcept;
  };
  // The receiver of dropped messages. What it drops for that is dropped under a Silence.
  class Listener {
   public:
    virtual void Dropped(gen::DeadLetter letter) = 0;

   protected:
    ~Listener() = default;
  };
  // Sets the listener, which must outlive this. Null: there is none.
  void SetListener(Listener* listener) noexcept {
    listener_.store(listener, std::memory_order_release);  // partner: Tell
  }
  // Gives a message that was noted to the listener, if there is one; else destroys it.
  void Tell(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
            const gen::Error& error) {
    Listener* const listener = listener_.load(std::memory_order_acquire);
    if (listener != nullptr) [[unlikely]]
      TellListener(*listener, std::move(envelope), to, reason, error);
  }
  // Counts messages for another node that were lost with the connection; they are not remembered.
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
    counts.dropped_unreadable = Count(gen::DropReason::kUnreadable);
    counts.dropped_failed = Count(gen::DropReason::kFailed);
  }
  // Returns the last drops; see gen::Node::LastDrops.
  [[nodiscard]] std::vector<gen::DroppedMessage> Newest() const {
    return memory_.Newest(started_at_);
  }
  [[nodiscard]] std::uint64_t NotRemembered() const noexcept { return memory_.skipped(); }

 private:
  [[gnu::cold]] void TellListener(Listener& listener, core::EnvelopePtr envelope, gen::PID to,
                                  gen::DropReason reason, const gen::Error& error);
  [[nodiscard]] DropMemory::Drop MakeDrop(const core::Envelope& envelope, gen::PID to,
                                          gen::DropReason reason, const gen::Error& error) const;
  [[nodiscard]] const std::type_info* BehaviorType(gen::PID pid) const;  // null: not known

  const Addresses& addresses_;
  const core::Clock& clock_;
  const std::int64_t started_at_;
  std::array<std::atomic<std::uint64_t>, gen::kDropReasons> counts_{};
  DropMemory memory_;
  std::atomic<Listener*> listener_{nullptr};
};

}  // namespace ergon::node
