#include <ergon/core/messages/await_state.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "turns.h"

namespace ergon::core::await_state_test {
namespace {

using testing::kEnough;
using testing::kSanitized;
using testing::SpinUntil;

class AwaitStateTest {
 protected:
  AwaitState state;
  EnvelopePtr response = MakeEnvelope<int>(0, Lane::kMain, 42);
  EnvelopePtr other = MakeEnvelope<int>(0, Lane::kMain, 43);
  Envelope* taken = nullptr;
};

TEST_CASE_FIXTURE(AwaitStateTest, "await state: waits for nothing") {
  CHECK(state.WaitingFor() == 0);
  CHECK_FALSE(state.HasOutcome());
  CHECK_FALSE(state.TryPark());
  CHECK_FALSE(state.Unpark());
  CHECK_FALSE(state.Interrupt());
  CHECK(state.Complete(1, response.get()) == CompleteOutcome::kIgnored);
  CHECK(state.Expire(1) == CompleteOutcome::kIgnored);
  CHECK(state.Complete(0, response.get()) == CompleteOutcome::kIgnored);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kNone);
  CHECK(taken == nullptr);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: the answer comes before the process parks") {
  state.Begin(7);
  CHECK(state.WaitingFor() == 7);
  CHECK_FALSE(state.HasOutcome());
  CHECK(state.Complete(7, response.get()) == CompleteOutcome::kStored);
  CHECK(state.WaitingFor() == 0);
  CHECK(state.HasOutcome());
  CHECK_FALSE(state.TryPark());
  CHECK_FALSE(state.Interrupt());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
  CHECK(taken == response.get());
  CHECK_FALSE(state.HasOutcome());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kNone);
  CHECK(taken == nullptr);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: the answer wakes a parked process") {
  state.Begin(7);
  CHECK(state.TryPark());
  CHECK(state.WaitingFor() == 7);
  CHECK_FALSE(state.HasOutcome());
  CHECK_FALSE(state.TryPark());
  CHECK_FALSE(state.Interrupt());  // only while running
  CHECK(state.Complete(7, response.get()) == CompleteOutcome::kMustSchedule);
  CHECK_FALSE(state.Unpark());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
  CHECK(taken == response.get());
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: the time-out, running and parked") {
  state.Begin(7);
  CHECK(state.Expire(7) == CompleteOutcome::kStored);
  CHECK(state.HasOutcome());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpired);
  CHECK(taken == nullptr);
  state.Begin(8);
  CHECK(state.TryPark());
  CHECK(state.Expire(7) == CompleteOutcome::kIgnored);
  CHECK(state.Expire(8) == CompleteOutcome::kMustSchedule);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpired);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: begun or expired, the first of the two counts") {
  state.Begin(7);
  CHECK_FALSE(state.NoteBegun(6));
  CHECK(state.NoteBegun(7));
  CHECK(state.NoteBegun(7));  // put aside, and begun with again
  CHECK(state.WaitingFor() == 7);
  CHECK_FALSE(state.HasOutcome());
  CHECK(state.Expire(7) == CompleteOutcome::kStored);
  CHECK_FALSE(state.NoteBegun(7));
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpiredBegun);
  CHECK(taken == nullptr);
  state.Begin(8);
  CHECK(state.TryPark());
  CHECK(state.NoteBegun(8));
  CHECK_FALSE(state.TryPark());
  CHECK(state.Unpark());
  CHECK(state.TryPark());
  CHECK(state.Expire(8) == CompleteOutcome::kMustSchedule);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpiredBegun);
  state.Begin(9);
  CHECK(state.Expire(9) == CompleteOutcome::kStored);
  CHECK_FALSE(state.NoteBegun(9));
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpired);
  state.Begin(10);
  CHECK(state.NoteBegun(10));
  CHECK(state.Complete(10, response.get()) == CompleteOutcome::kStored);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
  CHECK(taken == response.get());
  state.Begin(11);
  CHECK(state.NoteBegun(11));
  CHECK(state.Interrupt());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kInterrupted);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: a late answer, a second one, somebody else's") {
  state.Begin(7);
  CHECK(state.Complete(6, other.get()) == CompleteOutcome::kIgnored);
  CHECK(state.Complete(8, other.get()) == CompleteOutcome::kIgnored);
  CHECK(state.Complete(7, response.get()) == CompleteOutcome::kStored);
  CHECK(state.Complete(7, other.get()) == CompleteOutcome::kIgnored);
  CHECK(state.Expire(7) == CompleteOutcome::kIgnored);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
  CHECK(taken == response.get());
  CHECK(state.Complete(7, other.get()) == CompleteOutcome::kIgnored);
  state.Begin(8);  // the next call is not disturbed
  CHECK(state.Complete(7, other.get()) == CompleteOutcome::kIgnored);
  CHECK(state.WaitingFor() == 8);
  CHECK(state.Expire(8) == CompleteOutcome::kStored);
  CHECK(state.Complete(8, other.get()) == CompleteOutcome::kIgnored);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: interrupted") {
  state.Begin(7);
  CHECK(state.Interrupt());
  CHECK_FALSE(state.Interrupt());
  CHECK(state.HasOutcome());
  CHECK(state.WaitingFor() == 0);
  CHECK_FALSE(state.TryPark());
  CHECK(state.Complete(7, response.get()) == CompleteOutcome::kIgnored);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kInterrupted);
  CHECK(taken == nullptr);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: a signal unparks, the wait goes on") {
  state.Begin(7);
  CHECK_FALSE(state.Unpark());  // runs
  CHECK(state.TryPark());
  CHECK(state.Unpark());
  CHECK_FALSE(state.Unpark());
  CHECK(state.WaitingFor() == 7);
  CHECK(state.TryPark());
  CHECK(state.Unpark());
  CHECK(state.Interrupt());
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kInterrupted);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: giving up takes back the wait") {
  state.Begin(7);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kNone);
  CHECK(state.WaitingFor() == 0);
  CHECK(state.Complete(7, response.get()) == CompleteOutcome::kIgnored);
}

TEST_CASE_FIXTURE(AwaitStateTest, "await state: the largest id") {
  state.Begin(AwaitState::kMaxId);
  CHECK(state.WaitingFor() == AwaitState::kMaxId);
  CHECK_FALSE(state.HasOutcome());
  CHECK(state.TryPark());
  CHECK(state.WaitingFor() == AwaitState::kMaxId);
  CHECK(state.NoteBegun(AwaitState::kMaxId));
  CHECK(state.WaitingFor() == AwaitState::kMaxId);
  CHECK(state.Complete(AwaitState::kMaxId, response.get()) == CompleteOutcome::kMustSchedule);
  CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
}

// The outcomes' words must not be mistaken for waits, whatever the id.
TEST_CASE_FIXTURE(AwaitStateTest, "await state: small ids and the outcomes' words") {
  for (std::uint64_t id = 1; id <= 4; ++id) {
    state.Begin(100);
    CHECK(state.Expire(100) == CompleteOutcome::kStored);
    CHECK(state.Complete(id, response.get()) == CompleteOutcome::kIgnored);
    CHECK_FALSE(state.Unpark());
    CHECK(state.TakeOutcome(taken) == AwaitOutcome::kExpired);
    state.Begin(id);
    CHECK(state.TryPark());
    CHECK(state.Complete(id, response.get()) == CompleteOutcome::kMustSchedule);
    CHECK(state.TakeOutcome(taken) == AwaitOutcome::kResponse);
  }
}

// The process waits for one answer after the other. It gets answers from one thread, time-outs
// from a second one, signals from a third, and interrupts itself now and then.
TEST_CASE("await state: exactly one of answer, time-out and interruption wins") {
  constexpr std::uint64_t kRounds = kSanitized ? 20'000 : 300'000;
  AwaitState state;
  std::atomic<std::uint64_t> current{0};  // the id that others may act on
  std::atomic<std::uint64_t> rights{0};   // given by whoever got kMustSchedule
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> answers_ignored{0};
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> unparked{0};

  auto for_each_id = [&](auto act) {
    std::uint64_t last = 0;
    while (!done.load(std::memory_order_relaxed)) {
      const std::uint64_t id = current.load(std::memory_order_acquire);
      if (id == last) {
        std::this_thread::yield();
        continue;
      }
      last = id;
      act(id);
    }
  };
  std::thread responder([&] {
    for_each_id([&](std::uint64_t id) {
      EnvelopePtr response = MakeEnvelope<std::uint64_t>(0, Lane::kMain, id);
      const CompleteOutcome outcome = state.Complete(id, response.get());
      if (outcome == CompleteOutcome::kIgnored) {
        answers_ignored.fetch_add(1);
        return;
      }
      (void)response.release();
      answered.fetch_add(1);
      if (outcome == CompleteOutcome::kMustSchedule) rights.fetch_add(1);
    });
  });
  std::thread timer([&] {
    for_each_id([&](std::uint64_t id) {
      if (id % 3 == 0) std::this_thread::yield();
      const CompleteOutcome outcome = state.Expire(id);
      if (outcome != CompleteOutcome::kIgnored) expired.fetch_add(1);
      if (outcome == CompleteOutcome::kMustSchedule) rights.fetch_add(1);
    });
  });
  std::thread signaller([&] {
    while (!done.load(std::memory_order_relaxed)) {
      if (state.Unpark()) {
        unparked.fetch_add(1);
        rights.fetch_add(1);
      }
      std::this_thread::yield();
    }
  });

  std::uint64_t seen_responses = 0;
  std::uint64_t seen_expired = 0;
  std::uint64_t interrupted = 0;
  std::uint64_t used_rights = 0;
  int wrong = 0;
  bool stuck = false;
  const auto enough = std::chrono::steady_clock::now() + kEnough;
  std::uint64_t rounds = 0;
  for (std::uint64_t id = 1; id <= kRounds && !stuck; ++id) {
    if (id % 1024 == 0 && std::chrono::steady_clock::now() > enough) break;
    ++rounds;
    state.Begin(id);
    current.store(id, std::memory_order_release);
    bool did_interrupt = false;
    // Meets the others at another point each time.
    for (std::uint64_t spins = id % 61; spins > 0; --spins) CpuPause();
    while (!state.HasOutcome()) {
      if (id % 5 == 0 && state.Interrupt()) {
        did_interrupt = true;
        break;
      }
      if (!state.TryPark()) {
        wrong += !state.HasOutcome();
        break;
      }
      // Not running: somebody has to give the right back, exactly once.
      if (!SpinUntil([&] { return rights.load() > used_rights; })) {
        stuck = true;
        break;
      }
      ++used_rights;
    }
    Envelope* response = nullptr;
    switch (state.TakeOutcome(response)) {
      case AwaitOutcome::kResponse:
        ++seen_responses;
        wrong += *response->ValueAs<std::uint64_t>() != id;
        DisposeEnvelope(response);
        break;
      case AwaitOutcome::kExpired:
      case AwaitOutcome::kExpiredBegun:
        ++seen_expired;
        break;
      case AwaitOutcome::kInterrupted:
        ++interrupted;
        wrong += !did_interrupt;
        break;
      case AwaitOutcome::kNone:
        ++wrong;
    }
  }
  done = true;
  responder.join();
  timer.join();
  signaller.join();
  CHECK_FALSE(stuck);
  CHECK(wrong == 0);
  CHECK(seen_responses + seen_expired + interrupted == rounds);
  CHECK(seen_responses == answered);
  CHECK(seen_expired == expired);
  CHECK(rights == used_rights);
}

// The signal is pushed first and then looks for a parked process; the process parks first and then
// looks for signals. One of them has to see the other.
TEST_CASE("await state: no signal falls between the last look and the park") {
  constexpr int kSignals = kSanitized ? 30'000 : 500'000;
  AwaitState state;
  std::atomic<int> express{0};
  std::atomic<int> handled{0};
  std::atomic<int> rights{0};
  std::atomic<bool> stuck{false};
  std::atomic<bool> done{false};
  int sent = 0;
  std::thread signaller([&] {
    const auto enough = std::chrono::steady_clock::now() + kEnough;
    while (sent < kSignals) {
      if (sent % 1024 == 1 && std::chrono::steady_clock::now() > enough) break;
      const int i = ++sent;
      express.store(i, std::memory_order_seq_cst);
      if (state.Unpark()) rights.fetch_add(1);
      // One at a time, so that no later signal heals a lost one.
      if (!SpinUntil([&] { return handled.load() == i; })) {
        stuck = true;
        return;
      }
    }
    done = true;
  });
  int used_rights = 0;
  int wrong = 0;
  state.Begin(1);
  while (!done.load() && !stuck.load()) {
    const int seen = express.load(std::memory_order_seq_cst);
    if (seen != handled.load()) {
      handled.store(seen);
      continue;
    }
    if (!state.TryPark()) {
      ++wrong;
      stuck = true;
      break;
    }
    if (express.load(std::memory_order_seq_cst) != handled.load() && state.Unpark()) continue;
    if (!SpinUntil([&] { return rights.load() > used_rights || done.load() || stuck.load(); })) {
      stuck = true;
      break;
    }
    if (rights.load() > used_rights) ++used_rights;
  }
  signaller.join();
  CHECK_FALSE(stuck);
  CHECK(wrong == 0);
  CHECK(handled == sent);
  CHECK(rights == used_rights);
}

}  // namespace
}  // namespace ergon::core::await_state_test
