// A process waits for one answer, as node/process/wait.cc does it, while the response (its envelope), the time-out
// and a signal race: exactly one of them ends the wait, and the process is resumed once.
#include "envelopes.h"

#include <ergon/core/messages/await_state.h>

namespace ergon::model {
namespace {

using core::AwaitOutcome;
using core::AwaitState;
using core::CompleteOutcome;
using core::Envelope;
using core::Lane;

constexpr std::uint64_t kId = 5;

enum Event : unsigned {
  kResponds = 1,
  kExpires = 2,
  kSignals = 4,
  kRespondsAgain = 8,
  kBegins = 16
};

// Thread 0 is the process; each event comes from a thread of its own. Without a signal that ends it,
// the process waits a second time, and a late event must not disturb that.
template <unsigned kFirst, unsigned kSecond = 0>
class Wait : public Model {
 public:
  Wait() { ResetEnvelopes(); }

  void Run(int thread) override {
    if (thread == 0) {
      right_to_run_.Write(1);
      await_.Begin(kId);
      asked_.store(true, std::memory_order_release);  // the request
      Suspend();
    } else {
      while (!asked_.load(std::memory_order_acquire)) core::CpuPause();
      Happen(thread == 1 ? kFirst : kSecond);
    }
  }
  void Finish() override {
    const bool responds = ((kFirst | kSecond) & (kResponds | kRespondsAgain)) != 0;
    Check(outcome_ != AwaitOutcome::kExpired || !begun_.load(),
          "begun with, and told that it is not");
    Check(outcome_ != AwaitOutcome::kExpiredBegun || begun_.load(),
          "not begun with, and told that it is");
    Check(resumed_ <= 1, "two ends of one wait");
    Check(resumed_ == 1, "the process sleeps for ever");
    Check(outcome_ != AwaitOutcome::kNone, "resumed without a reason");
    Check(outcome_ != AwaitOutcome::kResponse || responds, "nobody has responded");
    Check((outcome_ == AwaitOutcome::kResponse) == (stored_.load() == 1), "a response is lost");
    Check(stored_.load() <= 1, "two responses");
    Check(await_.WaitingFor() == kId + 1, "the second wait was disturbed");
    Check(LiveEnvelopes() == 0, "an envelope was leaked");
  }

 private:
  void Happen(unsigned event) {
    if ((event & kBegins) != 0) {
      if (await_.NoteBegun(kId)) begun_.store(true);
      event -= kBegins;
    }
    if (event == 0) return;
    if (event == kExpires) {
      Schedule(await_.Expire(kId));
    } else if (event == kSignals) {
      express_.store(true, std::memory_order_seq_cst);  // as the push to the express stack
      if (await_.Unpark()) Suspend();
    } else {
      core::EnvelopePtr response = MakeItem(Lane::kMain, 42);
      const CompleteOutcome outcome = await_.Complete(kId, response.get());
      if (outcome == CompleteOutcome::kIgnored) return;
      (void)response.release();
      stored_.fetch_add(1);
      Schedule(outcome);
    }
  }
  void Schedule(CompleteOutcome outcome) {
    if (outcome == CompleteOutcome::kMustSchedule) Resume();
  }
  // By the one who has the right to run. Process::SettleParked.
  void Suspend() {
    for (;;) {
      right_to_run_.Write(1);
      if (await_.HasOutcome()) return Resume();
      if (express_.load(std::memory_order_seq_cst)) {
        (void)await_.Interrupt();
        return Resume();
      }
      if (!await_.TryPark()) continue;
      if (!express_.load(std::memory_order_seq_cst)) return;
      if (!await_.Unpark()) return;
    }
  }
  void Resume() {
    right_to_run_.Write(1);
    ++resumed_;
    Envelope* response = nullptr;
    outcome_ = await_.TakeOutcome(response);
    Check((outcome_ == AwaitOutcome::kResponse) == (response != nullptr), "no response");
    if (response != nullptr) {
      Check(NumberOf(response) == 42, "the wrong response");
      core::DisposeEnvelope(response);
    }
    await_.Begin(kId + 1);
  }

  AwaitState await_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> express_{false};
  std::atomic<int> stored_{0};
  std::atomic<bool> begun_{false};
  // What follows belongs to the one who runs the process.
  Plain<int> right_to_run_{0};
  int resumed_ = 0;
  AwaitOutcome outcome_ = AwaitOutcome::kNone;
};

TEST_CASE("model: a wait and one event") {
  CheckModel<Wait<kResponds>>({.name = "await-response", .spurious = 1}, 50);
  CheckModel<Wait<kExpires>>({.name = "await-expiry", .spurious = 1}, 50);
  CheckModel<Wait<kSignals>>({.name = "await-signal", .spurious = 1}, 100);
}

TEST_CASE("model: a wait and two events at once") {
  CheckModel<Wait<kResponds, kExpires>>({.name = "await-response-expiry", .threads = 3}, 900);
  CheckModel<Wait<kResponds, kSignals>>({.name = "await-response-signal", .threads = 3}, 20'000);
  CheckModel<Wait<kExpires, kSignals>>({.name = "await-expiry-signal", .threads = 3}, 20'000);
  CheckModel<Wait<kResponds, kRespondsAgain>>({.name = "await-two-responses", .threads = 3}, 900);
  CheckModel<Wait<kSignals, kSignals>>({.name = "await-two-signals", .threads = 3}, 15'000);
}

TEST_CASE("model: a wait ends while its request is begun with") {
  CheckModel<Wait<kExpires, kBegins>>({.name = "await-expiry-begin", .threads = 3}, 900);
  CheckModel<Wait<kSignals, kBegins>>({.name = "await-signal-begin", .threads = 3}, 900);
  CheckModel<Wait<kExpires, kBegins | kResponds>>({.name = "await-expiry-answer", .threads = 3},
                                                  900);
}

}  // namespace
}  // namespace ergon::model
