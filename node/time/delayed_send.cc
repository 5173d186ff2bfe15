// Messages that are sent later.
#include <atomic>
#include <memory>
#include <utility>

#include <ergon/core/time/timer_queue.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {
namespace {

// A message on its way through time. Holds itself until it was sent or cancelled.
class DelayedSend final : public gen::TimerHandle::State {
 public:
  DelayedSend(Runtime& runtime, const gen::Target& to, core::EnvelopePtr envelope)
      : runtime_(runtime), to_(to), envelope_(std::move(envelope)) {}

  static std::shared_ptr<DelayedSend> Start(Runtime& runtime, const gen::Target& to,
                                            core::EnvelopePtr envelope, std::int64_t deadline) {
    auto send = std::make_shared<DelayedSend>(runtime, to, std::move(envelope));
    send->self_ = send;
    send->timer_.fire = &DelayedSend::Fire;
    send->timer_.context = send.get();
    runtime.timers().Arm(send->timer_, deadline);
    return send;
  }

  bool Cancel() override {
    if (finished_.exchange(true)) return false;
    // It will not be sent. If the timer fires just now, Fire lets go of this, otherwise nobody
    // else.
    const core::EnvelopePtr dropped = std::move(envelope_);
    if (runtime_.timers().Disarm(timer_)) self_.reset();
    return true;
  }

 private:
  static void Fire(void* context, std::uint64_t) {
    const auto send = std::move(static_cast<DelayedSend*>(context)->self_);
    if (send->finished_.exchange(true)) return;
    Runtime& runtime = send->runtime_;
    // From here on it counts, whatever becomes of it: its sender will hear no more of it.
    if (gen::IsUserMessage(static_cast<gen::EnvelopeKind>(send->envelope_->kind))) {
      runtime.CountAccepted();
    }
    if (runtime.IsStopped()) {
      runtime.DropEnvelope(std::move(send->envelope_), gen::PID(), gen::DropReason::kTerminated,
                           gen::ErrNodeTerminated);
      return;
    }
    (void)runtime.DeliverOrDrop(send->to_, std::move(send->envelope_));
  }

  Runtime& runtime_;
  const gen::Target to_;
  core::EnvelopePtr envelope_;
  core::Timer timer_;
  std::atomic<bool> finished_{false};  // whoever sets it decides: sent or cancelled
  std::shared_ptr<DelayedSend> self_;
};

}  // namespace

gen::Result<gen::TimerHandle> Runtime::SendAfterFrom(const gen::Target& to,
                                                     core::EnvelopePtr envelope,
                                                     std::chrono::nanoseconds delay) {
  auto checked = CheckNotNegative("delay", delay);
  if (!checked) return std::move(checked.error());
  if (IsStopped()) return gen::ErrNodeTerminated;
  const gen::TimerHandle handle(
      DelayedSend::Start(*this, to, std::move(envelope), DeadlineAfter(clock_->Now(), delay)));
  // Armed after the last firing (Runtime::TearDown) it would never go. The timer queue's locks
  // order the two: a timer that the last firing has not seen sees the flag.
  if (IsStopped() && handle.Cancel()) return gen::ErrNodeTerminated;
  return handle;
}

gen::Result<gen::TimerHandle> Runtime::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr envelope,
                                                         std::chrono::nanoseconds delay) {
  envelope->from = Self().ToAddress();
  return SendAfterFrom(to, std::move(envelope), delay);
}

}  // namespace ergon::node
