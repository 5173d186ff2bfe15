#include <ergon/node/timers/periodic_sends.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/log_limit.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

// Whether every further tick would fail, too, if this one has to a PID or an alias. A mailbox has room again, and so
// has the way to another node, or a pool that is overloaded.
bool IsForGood(gen::ErrorCode code) {
  switch (code) {
    case gen::ErrorCode::kProcessUnknown:
    case gen::ErrorCode::kProcessTerminated:
    case gen::ErrorCode::kProcessIncarnation:
    case gen::ErrorCode::kNodeTerminated:
    case gen::ErrorCode::kUnsupported:  // no form for that node
    case gen::ErrorCode::kIncorrect:    // larger than a frame may be
      return true;
    default:
      return false;
  }
}

}  // namespace

// One of them. Holds itself while its timer is armed or fires.
class PeriodicSend final : public gen::TimerHandle::State {
 public:
  PeriodicSend(PeriodicSends& owner, const PeriodicSends::Needs& needs, gen::PID from,
               const gen::Target& to, PeriodicSends::Make make, std::chrono::nanoseconds period)
      : owner_(owner),
        needs_(needs),
        from_(from),
        to_(to),
        make_(std::move(make)),
        period_(period.count()),
        due_(core::DeadlineAfter(needs.clock.Now(), period)) {
    timer_.fire = &PeriodicSend::Fire;
    timer_.context = this;
  }

  void Arm(std::shared_ptr<PeriodicSend> self) {
    std::lock_guard lock(mutex_);
    self_ = std::move(self);
    needs_.timers.Arm(timer_, due_);
  }

  bool Cancel() override {
    std::shared_ptr<PeriodicSend> self;  // let go of outside of the lock
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true)) return false;
      // If the timer fires just now, Fire lets go of this, otherwise nobody else.
      if (needs_.timers.Disarm(timer_)) self = std::move(self_);
    }
    owner_.Ended(id_, from_);
    return true;
  }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

 private:
  static void Fire(void* context, std::uint64_t) {
    auto* const send = static_cast<PeriodicSend*>(context);
    const bool goes_on = !send->IsEnded() && !send->needs_.addresses.IsStopped() && send->Tick();
    if (!goes_on) (void)send->Cancel();
    std::shared_ptr<PeriodicSend> self;
    {
      std::lock_guard lock(send->mutex_);
      if (send->ended_) {
        self = std::move(send->self_);
      } else {
        send->SetNextDue();
        send->needs_.timers.Arm(send->timer_, send->due_);
      }
    }
  }

  [[nodiscard]] bool IsEnded() {
    std::lock_guard lock(mutex_);
    return ended_;
  }

  // The first multiple of the period that has not passed.
  void SetNextDue() {
    const std::int64_t missed = (needs_.clock.Now() - due_) / period_;
    due_ = core::DeadlineAfter(due_ + missed * period_, std::chrono::nanoseconds(period_));
  }

  // False: there can be no other one.
  bool Tick() {
    if (waits_->exchange(true, std::memory_order_acq_rel)) return true;  // the last one still waits
    core::EnvelopePtr tick;
    try {
      tick = make_();
    } catch (...) {
      const std::string thrown = core::ThrownText();
      if (const auto more = copy_lines_.Take(gen::LogLimit::Time(std::chrono::nanoseconds(due_)))) {
        gen::Log(needs_.log)
            .Error("a message for {}, to be sent again, could not be copied: {}{}", to_.ToString(),
                   thrown, *more);
      }
      waits_->store(false, std::memory_order_release);
      return true;
    }
    tick->from = from_.ToAddress();
    tick->flags |= core::Envelope::kFlagStamped;
    tick->deadline = static_cast<std::int64_t>(id_);
    needs_.totals.accepted.Add();
    auto sent = needs_.delivery.DeliverOrDrop(to_, std::move(tick));
    // A name may belong to somebody again, a PID or an alias never.
    return sent || to_.AsProcessID() != nullptr || !IsForGood(sent.error().code());
  }

  PeriodicSends& owner_;
  const PeriodicSends::Needs needs_;
  const std::uint64_t id_ = NextUniqueId();
  const gen::PID from_;
  const gen::Target to_;
  const PeriodicSends::Make make_;
  const std::int64_t period_;
  // Its last tick is in a mailbox: else the next one may be sent.
  const Ticks::Waits waits_ = needs_.ticks.Add(id_);
  gen::LogLimit copy_lines_;  // one for each tick of which the copy throws

  std::mutex mutex_;  // of what follows
  std::int64_t due_;  // once it is armed, only the thread that fires it changes it
  bool ended_ = false;
  core::Timer timer_;
  std::shared_ptr<PeriodicSend> self_;
};

gen::Result<gen::TimerHandle> PeriodicSends::Start(gen::PID from, const gen::Target& to, Make make,
                                                   std::chrono::nanoseconds period) {
  if (period <= std::chrono::nanoseconds::zero()) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("period: {}, must be more than 0", core::ExactTime(period)));
  }
  if (needs_.addresses.IsStopped()) return gen::ErrNodeTerminated;
  auto send = std::make_shared<PeriodicSend>(*this, needs_, from, to, std::move(make), period);
  {
    std::lock_guard lock(mutex_);
    running_.emplace(send->id(), send);
    by_sender_[from].insert(send->id());
  }
  send->Arm(send);
  // As for a delayed send: armed after the last firing it would never go.
  if (needs_.addresses.IsStopped() && send->Cancel()) return gen::ErrNodeTerminated;
  return gen::TimerHandle(std::move(send));
}

void PeriodicSends::EndThoseOf(gen::PID sender) {
  std::vector<std::shared_ptr<PeriodicSend>> sends;
  {
    std::lock_guard lock(mutex_);
    auto found = by_sender_.find(sender);
    if (found == by_sender_.end()) return;
    for (const std::uint64_t id : found->second) sends.push_back(running_.at(id));
  }
  for (const auto& send : sends) (void)send->Cancel();
}

void PeriodicSends::Ended(std::uint64_t id, gen::PID sender) {
  needs_.ticks.Remove(id);
  std::shared_ptr<PeriodicSend> send;  // let go of outside of the lock
  std::lock_guard lock(mutex_);
  auto found = running_.find(id);
  if (found == running_.end()) return;
  send = std::move(found->second);
  running_.erase(found);
  auto sends = by_sender_.find(sender);
  sends->second.erase(id);
  if (sends->second.empty()) by_sender_.erase(sends);
}

}  // namespace ergon::node
