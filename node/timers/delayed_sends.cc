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
class DelayedSends::DelayedSend final : public gen::TimerHandle::State {
 public:
  DelayedSend(const DelayedSends& parts, const gen::Target& to, core::EnvelopePtr envelope)
      : parts_(parts), to_(to), envelope_(std::move(envelope)) {}

  static std::shared_ptr<DelayedSend> Start(const DelayedSends& parts, const gen::Target& to,
                                            core::EnvelopePtr envelope, std::int64_t deadline) {
    auto send = std::allocate_shared<DelayedSend>(EnvelopeMemory<DelayedSend>(), parts, to,
                                                  std::move(envelope));
    send->self_ = send;
    send->timer_.fire = &DelayedSend::Fire;
    send->timer_.context = send.get();
    parts.timers_.Arm(send->timer_, deadline);
    return send;
  }

  bool Cancel() override { return Withdraw() != nullptr; }
  // Returns the message, which will not be sent; null: it is too late.
  core::EnvelopePtr Withdraw() {
    if (finished_.exchange(true)) return nullptr;
    core::EnvelopePtr envelope = std::move(envelope_);
    // If the timer fires just now, Fire lets go of this, otherwise nobody else.
    if (parts_.timers_.Disarm(timer_)) self_.reset();
    return envelope;
  }

 private:
  static void Fire(void* context, std::uint64_t) {
    const auto send = std::move(static_cast<DelayedSend*>(context)->self_);
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
  core::EnvelopePtr envelope_;
  core::Timer timer_;
  std::atomic<bool> finished_{false};  // whoever sets it decides: sent or cancelled
  std::shared_ptr<DelayedSend> self_;
};

gen::Result<gen::TimerHandle> DelayedSends::Start(const gen::Target& to,
                                                  core::EnvelopePtr& envelope,
                                                  std::chrono::nanoseconds delay) {
  auto checked = CheckNotNegative("delay", delay);
  if (!checked) return std::move(checked.error());
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  const auto send =
      DelayedSend::Start(*this, to, std::move(envelope), core::DeadlineAfter(clock_.Now(), delay));
  // Armed after the last firing (Shutdown) it would never go. The timer queue's locks
  // order the two: a timer that the last firing has not seen sees the flag.
  if (addresses_.IsStopped()) {
    envelope = send->Withdraw();
    if (envelope != nullptr) return gen::ErrNodeTerminated;
  }
  return gen::TimerHandle(send);
}

}  // namespace ergon::node
