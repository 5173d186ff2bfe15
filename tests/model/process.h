// A process as the models of the mailbox know it: whoever gets the right to run it takes its turns
// at once, on his own thread.
#pragma once

#include "envelopes.h"

#include <optional>

#include <ergon/core/messages/mailbox_turn.h>

namespace ergon::model {

class Process : public Model {
 public:
  explicit Process(std::uint32_t capacity = 0) {
    ResetEnvelopes();
    mailbox_.Open(capacity);
    Check(mailbox_.TryIdle(), "an empty mailbox is not idle");
  }

 protected:
  using PushFunction = core::PushOutcome (core::Mailbox::*)(core::Envelope*);

  core::PushOutcome Send(core::Lane lane, int number) {
    return SendWith(MakeItem(lane, number), [&](core::Envelope* given) { return Push(given); });
  }
  core::PushOutcome Send(core::EnvelopePtr envelope, PushFunction push) {
    return SendWith(std::move(envelope),
                    [&](core::Envelope* given) { return (mailbox_.*push)(given); });
  }

  // By the one who has the right to run.
  virtual void Turns() {
    do {
      right_to_run_.Write(right_to_run_.Read() + 1);
    } while (!HandleUntilIdle());
  }
  // As ProcessRunner does. Returns false if more has arrived, while the process is idle or before that.
  bool HandleUntilIdle() {
    while (core::Envelope* envelope = mailbox_.Pop()) {
      if (const auto is_idle = HandleAndTryIdle(envelope)) return *is_idle;
    }
    return mailbox_.TryIdleAfterPop();
  }
  // Nothing is returned if the envelope was not the last one.
  std::optional<bool> HandleAndTryIdle(core::Envelope* envelope) {
    Handle(NumberOf(envelope));
    mailbox_.ReleaseValue(envelope);
    std::uint64_t count = 0;
    if (mailbox_.IsLast(envelope, count)) return mailbox_.ReleaseAndTryIdle(envelope, count);
    mailbox_.ReleaseMemory(envelope);
    return std::nullopt;
  }
  void HandleAndRelease(core::Envelope* envelope) {
    Handle(NumberOf(envelope));
    mailbox_.Release(envelope);
  }
  void Handle(int number) {
    Check(handled_count_ < handled_.size(), "handles more than was sent");
    handled_[handled_count_++] = number;
  }
  void CheckTurns() { right_to_run_.Write(right_to_run_.Read() + 1); }

  // After the threads.
  std::size_t IndexOf(int number) const {
    const auto end = handled_.begin() + static_cast<std::ptrdiff_t>(handled_count_);
    const auto found = std::find(handled_.begin(), end, number);
    Check(found != end, "a message was lost");
    return static_cast<std::size_t>(found - handled_.begin());
  }
  bool IsHandled(int number) const {
    const auto end = handled_.begin() + static_cast<std::ptrdiff_t>(handled_count_);
    return std::find(handled_.begin(), end, number) != end;
  }
  // The mailbox is idle and empty, and all memory came back.
  void CheckQuiet() {
    Check(LiveEnvelopes() == 0, "an envelope was leaked");
    Check(mailbox_.Push(MakeItem(core::Lane::kMain, 99).release()) ==
              core::PushOutcome::kMustSchedule,
          "the process is not idle");
  }

  core::Mailbox mailbox_;

 private:
  // As Delivery does: one attempt, and the whole of it when that was not enough.
  core::PushOutcome Push(core::Envelope* envelope) {
    core::PushOutcome outcome = core::PushOutcome::kUntried;
    if (envelope->lane == core::Lane::kMain) outcome = mailbox_.TryPushMain(envelope);
    return outcome == core::PushOutcome::kUntried ? mailbox_.Push(envelope) : outcome;
  }
  template <class Give>
  core::PushOutcome SendWith(core::EnvelopePtr envelope, Give give) {
    const core::PushOutcome outcome = model::Give(std::move(envelope), give);
    if (outcome == core::PushOutcome::kMustSchedule) Turns();
    return outcome;
  }

 protected:
  // For those who run the process: each has to see what the one before has done.
  Plain<int> right_to_run_{0};
  std::array<int, 8> handled_{};
  std::size_t handled_count_ = 0;
};

}  // namespace ergon::model
