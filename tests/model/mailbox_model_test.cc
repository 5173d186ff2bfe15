// Messages on their way: no one is lost or handled twice, the right to run is with one at a time,
// and each sender's order is kept.
#include "process.h"

namespace ergon::model {
namespace {

using core::Lane;
using core::PushOutcome;

template <int kThreads, int kEach>
class MainOnly : public Process {
 public:
  void Run(int thread) override {
    for (int i = 0; i < kEach; ++i) {
      const PushOutcome outcome = Send(Lane::kMain, 10 * thread + i);
      Check(outcome == PushOutcome::kPushed || outcome == PushOutcome::kMustSchedule, "refused");
    }
  }
  void Finish() override {
    Check(handled_count_ == kThreads * kEach, "not each message was handled once");
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int i = 0; i + 1 < kEach; ++i) {
        Check(IndexOf(10 * thread + i) < IndexOf(10 * thread + i + 1), "the order was changed");
      }
    }
    Check(mailbox_.MainDepthApprox() == 0, "the depth is not exact at rest");
    CheckQuiet();
  }
};

TEST_CASE("model: two senders and a process that goes idle in between") {
  CheckModel<MainOnly<2, 2>>({.name = "mailbox-main-2x2"}, 20'000);
}

TEST_CASE("model: three senders and a process that goes idle in between") {
  CheckModel<MainOnly<3, 1>>({.name = "mailbox-main-3x1", .threads = 3, .detours = 4}, 30'000);
}

TEST_CASE("model: compare_exchange_weak may fail for no reason when messages are sent") {
  CheckModel<MainOnly<2, 1>>({.name = "mailbox-main-spurious", .spurious = 1}, 650);
}

// Thread 0 sends to the express lanes, the others to Main.
template <int kExpress>
class Express : public Process {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      (void)Send(Lane::kSystem, 1);
      if (kExpress > 1) (void)Send(Lane::kUrgent, 2);
    } else {
      (void)Send(Lane::kMain, 10 * thread);
    }
  }
  void Finish() override {
    (void)IndexOf(1);
    (void)IndexOf(10);
    if (kExpress > 1) (void)IndexOf(2);
    CheckQuiet();
  }
};

TEST_CASE("model: an express message and a process that goes idle") {
  CheckModel<Express<1>>({.name = "mailbox-express-1"}, 20);
  CheckModel<Express<2>>({.name = "mailbox-express-2"}, 600);
  CheckModel<Express<1>>({.name = "mailbox-express-3", .threads = 3}, 40'000);
}

// Two express senders while a third turn may be going idle.
class ExpressOnly : public Process {
 public:
  void Run(int thread) override { (void)Send(thread == 0 ? Lane::kUrgent : Lane::kSystem, thread); }
  void Finish() override {
    for (int thread = 0; thread < 3; ++thread) (void)IndexOf(thread);
    CheckQuiet();
  }
};

TEST_CASE("model: three express messages and a process that goes idle") {
  CheckModel<ExpressOnly>({.name = "mailbox-express-only", .threads = 3, .detours = 4}, 30'000);
}

}  // namespace
}  // namespace ergon::model
