#include <ergon/node/timers/delayed_sends.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/time/deadline.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

// Nearly every send is made by one thread and freed by another: what the memory of envelopes is for.
template <class T>
struct EnvelopeMemory {
  using value_type = T;

  EnvelopeMemory() = default;
  template <class Other>
  EnvelopeMemory(const EnvelopeMemory<Other>&) noexcept {}  // NOLINT: as every allocator

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= core::kEnvelopeAlignment);
    std::uint8_t size_class = 0;
    return static_cast<T*>(core::AllocateEnvelope(count * sizeof(T), size_class));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    core::FreeEnvelope(memory, core::EnvelopeClassOf(count * sizeof(T)));
  }
  bool operator==(const EnvelopeMemory&) const = default;
};

}  // namespace

// A message on its way through time. Holds itself until it was sent or cancelled.
class DelayedSends::DelayedSend final : public gen::TimerHandle::State, public OwnSends::Entry {
 public:
  DelayedSend(const DelayedSends& parts, const gen::Target& to, core::EnvelopePtr envelope,
              OwnSends* own)
      : parts_(parts), to_(to), own_(own), envelope_(std::move(envelope)) {}

  static std::shared_ptr<DelayedSend> Start(const DelayedSends& parts, const gen::Target& to,
                                            core::EnvelopePtr envelope, std::int64_t deadline,
                                            OwnSends* own) {
    auto send = std::allocate_shared<DelayedSend>(EnvelopeMemory<DelayedSend>(), parts, to,
                                                  std::move(envelope), own);
    send->self_ = send;
    if (own != nullptr) own->Add(*send);
    send->timer_.fire = &DelayedSend::Fire;
    send->timer_.context = send.get();
    parts.timers_.Arm(send->timer_, deadline);
    return send;
  }

  bool Cancel() override { return Withdraw() != nullptr; }
  // Returns the message, which will not be sent; null: it is too late.
  core::EnvelopePtr Withdraw() {
    if (finished_.exchange(true)) return nullptr;
    if (own_ != nullptr) own_->Remove(*this);
    core::EnvelopePtr envelope = std::move(envelope_);
    // If the timer fires just now, Fire lets go of this, otherwise nobody else.
    if (parts_.timers_.Disarm(timer_)) self_.reset();
    return envelope;
  }
  // Cancels one that has just been taken from the list of its process, and returns what is to be destroyed without its
  // lock. Under that lock, for which Fire waits: only so it is there until this returns.
  struct Rest {
    core::EnvelopePtr envelope;
    std::shared_ptr<DelayedSend> self;
  };
  Rest End() {
    if (finished_.exchange(true)) return {};
    core::EnvelopePtr envelope = std::move(envelope_);
    if (!parts_.timers_.Disarm(timer_)) return {std::move(envelope), nullptr};
    return {std::move(envelope), std::move(self_)};
  }

 private:
  static void Fire(void* context, std::uint64_t) {
    const auto send = std::move(static_cast<DelayedSend*>(context)->self_);
    if (send->own_ != nullptr) send->own_->Remove(*send);
    if (send->finished_.exchange(true)) return;
    const DelayedSends& parts = send->parts_;
    // From here on it counts, whatever becomes of it: its sender will hear no more of it.
    if (IsMessage(*send->envelope_)) parts.totals_.accepted.Add();
    if (parts.addresses_.IsStopped()) {
      parts.delivery_.Drop(std::move(send->envelope_), gen::PID(), gen::DropReason::kTerminated,
                           gen::ErrNodeTerminated);
      return;
    }
    parts.delivery_.NoteSent(*send->envelope_);
    (void)parts.delivery_.DeliverOrDrop(send->to_, std::move(send->envelope_));
  }

  const DelayedSends& parts_;
  const gen::Target to_;
  OwnSends* const own_;  // null: it is on no list
  core::EnvelopePtr envelope_;
  core::Timer timer_;
  std::atomic<bool> finished_{false};  // whoever sets it decides: sent or cancelled
  std::shared_ptr<DelayedSend> self_;
};

gen::Result<gen::TimerHandle> DelayedSends::Start(const gen::Target& to,
                                                  core::EnvelopePtr& envelope,
                                                  std::chrono::nanoseconds delay, OwnSends* own) {
  auto checked = CheckNotNegative("delay", delay);
  if (!checked) return std::move(checked.error());
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  const auto send = DelayedSend::Start(*this, to, std::move(envelope),
                                       core::DeadlineAfter(clock_.Now(), delay), own);
  // Armed after the last firing (Shutdown) it would never go. The timer queue's locks
  // order the two: a timer that the last firing has not seen sees the flag.
  if (addresses_.IsStopped()) {
    envelope = send->Withdraw();
    if (envelope != nullptr) return gen::ErrNodeTerminated;
  }
  return gen::TimerHandle(send);
}

void DelayedSends::End(OwnSends& own) {
  own.BeginToEnd();
  DelayedSend::Rest rest;
  while (own.TakeEnding(
      [&](OwnSends::Entry& entry) { rest = static_cast<DelayedSend&>(entry).End(); })) {
    rest = {};
  }
}

}  // namespace ergon::node
