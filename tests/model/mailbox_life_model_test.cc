// What a mailbox can do besides taking and giving messages: be full, close and open again for the
// next process of the slot, redirect its Main lane, and let an envelope go elsewhere.
#include <utility>

#include "process.h"

namespace ergon::model {
namespace {

using core::Envelope;
using core::Lane;
using core::Mailbox;
using core::PushOutcome;

constexpr int kStop = 7;

bool IsTaken(PushOutcome outcome) {
  return outcome == PushOutcome::kPushed || outcome == PushOutcome::kMustSchedule;
}

// A bound of one message, and two senders.
class Bounded : public Process {
 public:
  Bounded() : Process(1) {}
  void Run(int thread) override {
    for (int i = 0; i < 2 - thread; ++i) {
      const PushOutcome outcome = Send(Lane::kMain, 10 * thread + i);
      Check(IsTaken(outcome) || outcome == PushOutcome::kFull, "neither taken nor full");
      taken_[thread][i] = IsTaken(outcome);
    }
  }
  void Finish() override {
    std::size_t count = 0;
    for (int thread = 0; thread < 2; ++thread) {
      for (int i = 0; i < 2; ++i) {
        if (!taken_[thread][i]) continue;
        ++count;
        (void)IndexOf(10 * thread + i);
      }
    }
    Check(count == handled_count_, "a refused message was handled");
    Check(count > 0, "all were refused");
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
      Check(mailbox_.MainDepthApprox() <= 1, "more wait than the bound allows");
      while (Envelope* envelope = mailbox_.Pop()) HandleAndRelease(envelope);
    } while (!mailbox_.TryIdle());
  }

  bool taken_[2][2]{};
};

TEST_CASE("model: a bounded mailbox") { CheckModel<Bounded>({.name = "mailbox-bounded"}, 1000); }

// There is room for all messages that are ever sent, whatever was taken in the meantime.
class RoomForAll : public Process {
 public:
  RoomForAll() : Process(2) {}
  void Run(int thread) override {
    Check(IsTaken(Send(Lane::kMain, thread)), "full without a reason");
  }
  void Finish() override { CheckQuiet(); }
};

TEST_CASE("model: a mailbox with a bound that is not reached") {
  CheckModel<RoomForAll>({.name = "mailbox-room-for-all"}, 20);
}

// Thread 1 sends its second message only when its first one was taken out, so there is room.
class NeverFull : public Process {
 public:
  NeverFull() : Process(1) {
    Check(mailbox_.Push(MakeItem(Lane::kMain, 1).release()) == PushOutcome::kMustSchedule, "busy");
  }
  void Run(int thread) override {
    if (thread == 0) {
      Turns();
    } else {
      while (!first_was_taken_.load(std::memory_order_acquire)) core::CpuPause();
      Check(IsTaken(Send(Lane::kMain, 2)), "full without a reason");
    }
  }
  void Finish() override { Check(IndexOf(1) < IndexOf(2), "the order was changed"); }

 private:
  void Turns() override {
    do {
      CheckTurns();
      while (Envelope* envelope = mailbox_.Pop()) {
        if (NumberOf(envelope) == 1) first_was_taken_.store(true, std::memory_order_release);
        HandleAndRelease(envelope);
      }
    } while (!mailbox_.TryIdle());
  }

  std::atomic<bool> first_was_taken_{false};
};

TEST_CASE("model: a bounded mailbox is not full after its message was taken") {
  CheckModel<NeverFull>({.name = "mailbox-never-full"}, 10);
}

// The message kStop ends the process; the slot is opened again for another one.
template <Lane kLane>
class SlotReuse : public Process {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      stop_outcome_ = Send(Lane::kMain, kStop);
    } else {
      for (int i = 0; i < 2; ++i) outcomes_[i] = Send(i == 0 ? kLane : Lane::kMain, 10 + i);
    }
  }
  void Finish() override {
    Check(IsTaken(stop_outcome_), "the process had ended before it was told to");
    for (int i = 0; i < 2; ++i) {
      const PushOutcome outcome = outcomes_[i];
      Check(IsTaken(outcome) || outcome == PushOutcome::kClosed, "neither taken nor closed");
      Check(IsTaken(outcome) == IsHandled(10 + i), "taken and lost, or refused and handled");
    }
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
    } while (!HandleOrStopUntilIdle());
  }
  bool HandleOrStopUntilIdle() {
    while (Envelope* envelope = mailbox_.Pop()) {
      if (NumberOf(envelope) == kStop) {
        const Mailbox::Rest rest = mailbox_.Close();
        HandleAll(rest.express);
        HandleAll(rest.main);
        HandleAndRelease(envelope);
        mailbox_.Open(0);
      } else if (const auto is_idle = HandleAndTryIdle(envelope)) {
        return *is_idle;
      }
    }
    return mailbox_.TryIdle();
  }
  void HandleAll(Envelope* envelope) {
    while (envelope != nullptr) {
      Envelope* next = envelope->next;
      Handle(NumberOf(envelope));
      core::DisposeEnvelope(envelope);
      envelope = next;
    }
  }

  PushOutcome stop_outcome_{};
  PushOutcome outcomes_[2]{};
};

TEST_CASE("model: a process ends, and its slot is used again, while others send") {
  CheckModel<SlotReuse<Lane::kMain>>({.name = "mailbox-slot-reuse-main"}, 2000);
  CheckModel<SlotReuse<Lane::kSystem>>({.name = "mailbox-slot-reuse-express"}, 1000);
}

// A pool redirects its Main lane; a sender that finds it has no workers ends that.
class Redirection : public Process {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      (void)Send(Lane::kSystem, kStop);  // "redirect now"
    } else if (thread == 1) {
      PushOutcome outcome = Send(Lane::kMain, 1);
      if (outcome == PushOutcome::kRedirected) {
        outcome = Send(MakeItem(Lane::kMain, 1), &Mailbox::PushAndAccept);
      }
      Check(IsTaken(outcome), "not taken");
    } else {
      sent_ = true;
      refused_ = Send(Lane::kMain, 2) == PushOutcome::kRedirected;
    }
  }
  void Finish() override {
    (void)IndexOf(1);
    (void)IndexOf(kStop);
    Check(!sent_ || refused_ != IsHandled(2), "redirected and handled, or taken and lost");
    Check(!refused_ || redirected_, "redirected by nobody");
    if (mailbox_.IsRedirected()) {
      Check(mailbox_.Push(MakeItem(Lane::kSystem, 98).release()) == PushOutcome::kMustSchedule,
            "the process is not idle");
      mailbox_.AcceptMain();
      while (Envelope* envelope = mailbox_.Pop()) mailbox_.Release(envelope);
      Check(mailbox_.TryIdle(), "not idle in the end");
    }
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
      while (Envelope* envelope = mailbox_.Pop()) {
        if (NumberOf(envelope) == kStop) redirected_ = mailbox_.TryRedirect();
        HandleAndRelease(envelope);
      }
    } while (!mailbox_.TryIdle());
  }

  bool redirected_ = false;
  bool sent_ = false;
  bool refused_ = false;
};

TEST_CASE("model: redirection of the Main lane, and its end") {
  CheckModel<Redirection>({.name = "mailbox-redirection-2"}, 90);
  CheckModel<Redirection>({.name = "mailbox-redirection-3", .threads = 3, .detours = 4}, 40'000);
}

// A process that is about to end refuses its Main lane, handles what it has taken, and then the order to end. Pools do
// so, too, while a sender that finds no workers ends their redirection.
class Refusal : public Process {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      (void)Send(Lane::kSystem, kStop);  // "refuse now"
      return;
    }
    PushOutcome outcome = Send(Lane::kMain, thread);
    if (outcome == PushOutcome::kRedirected) {
      outcome = Send(MakeItem(Lane::kMain, thread), &Mailbox::PushAndAccept);
    }
    outcomes_[thread - 1] = outcome;
  }
  void Finish() override {
    (void)IndexOf(kStop);
    for (int i = 0; i < 2; ++i) {
      const int number = i + 1;
      Check(IsTaken(outcomes_[i]) || outcomes_[i] == PushOutcome::kClosed, "redirected in the end");
      Check(IsTaken(outcomes_[i]) == IsHandled(number), "taken and lost, or refused and handled");
      Check(!IsTaken(outcomes_[i]) || IndexOf(number) < IndexOf(kLast), "handled after the order");
    }
    Check(mailbox_.Push(MakeItem(Lane::kSystem, 98).release()) == PushOutcome::kMustSchedule,
          "the process is not idle");
    core::DisposeEnvelope(mailbox_.Close().express);
    mailbox_.Open(0);
    Check(mailbox_.TryIdle(), "not idle in the end");
    CheckQuiet();
  }

 private:
  static constexpr int kLast = 97;

  void Turns() override {
    do {
      CheckTurns();
      if (!std::exchange(begun_, true)) (void)mailbox_.TryRedirect();
      while (Envelope* envelope = mailbox_.Pop()) {
        if (NumberOf(envelope) == kStop) {
          mailbox_.RefuseMain();
          mailbox_.PutLast(MakeItem(Lane::kMain, kLast).release());
        }
        HandleAndRelease(envelope);
      }
    } while (!mailbox_.TryIdle());
  }

  bool begun_ = false;
  PushOutcome outcomes_[2]{PushOutcome::kClosed, PushOutcome::kClosed};
};

TEST_CASE(
    "model: what is taken before the Main lane is refused is handled before the process ends") {
  CheckModel<Refusal>({.name = "mailbox-refusal-2"}, 60);
  CheckModel<Refusal>({.name = "mailbox-refusal-3", .threads = 3, .detours = 4}, 20'000);
}

// The process sends to itself: the envelope released last may be the marker, whose memory must not
// return yet.
class ToItself : public Process {
 public:
  void Run(int thread) override { (void)Send(Lane::kMain, 1 + thread); }
  void Finish() override {
    Check(handled_count_ == 4, "not each message was handled once");
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
      while (Envelope* envelope = mailbox_.Pop()) {
        const int number = NumberOf(envelope);
        HandleAndRelease(envelope);
        if (number < 100) (void)Send(Lane::kMain, 100 + number);
      }
    } while (!mailbox_.TryIdle());
  }
};

TEST_CASE("model: a process that sends to itself") {
  CheckModel<ToItself>({.name = "mailbox-to-itself"}, 100);
}

// The consumer takes each envelope out, frees it elsewhere, and sends one of the same memory.
class Detachment : public Process {
 public:
  void Run(int thread) override { (void)Send(Lane::kMain, 1 + thread); }
  void Finish() override {
    Check(handled_count_ == 4, "not each message was handled once");
    for (const int number : {1, 2}) Check(IndexOf(number) < IndexOf(100 + number), "too early");
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
      while (Envelope* envelope = mailbox_.Pop()) {
        const int number = NumberOf(envelope);
        Handle(number);
        mailbox_.Detach(envelope);
        core::DisposeEnvelope(envelope);
        if (number < 100) {
          Check(Send(Lane::kMain, 100 + number) == PushOutcome::kPushed, "not busy");
        }
      }
    } while (!mailbox_.TryIdle());
  }
};

TEST_CASE("model: an envelope leaves the mailbox, and its address returns") {
  CheckModel<Detachment>({.name = "mailbox-detachment"}, 1000);
}

// Main waits while the process, in a long turn, looks at the express lanes only.
class WithoutMain : public Process {
 public:
  void Run(int thread) override {
    (void)Send(thread == 0 ? Lane::kMain : Lane::kUrgent, thread == 0 ? 1 : 2);
    if (thread == 0) (void)Send(Lane::kMain, 3);
  }
  void Finish() override {
    // Main messages that arrived before the urgent one stay until the next one wakes the process.
    with_main_ = true;
    Check(mailbox_.Push(MakeItem(Lane::kUrgent, 4).release()) == PushOutcome::kMustSchedule,
          "the process is not idle");
    Turns();
    Check(IndexOf(1) < IndexOf(3), "the order was changed");
    (void)IndexOf(2);
    Check(handled_count_ == 4, "not each message was handled once");
    CheckQuiet();
  }

 private:
  void Turns() override {
    do {
      CheckTurns();
      while (Envelope* envelope = mailbox_.Pop(with_main_)) {
        with_main_ = with_main_ || NumberOf(envelope) == 2;
        HandleAndRelease(envelope);
      }
    } while (!mailbox_.TryIdle(with_main_));
  }

  bool with_main_ = false;
};

TEST_CASE("model: a process that leaves its Main messages for later") {
  CheckModel<WithoutMain>({.name = "mailbox-without-main"}, 200);
}

}  // namespace
}  // namespace ergon::model
