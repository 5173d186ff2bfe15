#include <ergon/core/messages/dispatch_state.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "turns.h"

namespace ergon::core::dispatch_state_test {
namespace {

using testing::kSanitized;

class DispatchStateTest {
 protected:
  EnvelopePtr one = MakeSignal(1, Lane::kMain);
  EnvelopePtr two = MakeSignal(2, Lane::kMain);
  EnvelopePtr three = MakeSignal(3, Lane::kMain);
  std::atomic<std::uint32_t> taken{0};
  DispatchState state;

  PushOutcome Push(EnvelopePtr& envelope, std::uint32_t capacity = 0) {
    return state.Push(envelope.get(), capacity, taken);
  }
  void MakeIdle() {
    state.Open();
    REQUIRE(state.TryIdle(nullptr));
  }
};

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: closed from the start") {
  CHECK(state.IsClosed());
  CHECK_FALSE(state.IsRedirected());
  CHECK(Push(one) == PushOutcome::kClosed);
  CHECK(state.PushAndAccept(one.get()) == PushOutcome::kClosed);
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(state.Top() == nullptr);
  CHECK(state.Close() == nullptr);
  CHECK(state.CountApprox() == 0);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: open is busy") {
  state.Open();
  CHECK_FALSE(state.IsClosed());
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(Push(one) == PushOutcome::kPushed);
  CHECK(state.Top() == one.get());
  CHECK(one->next == nullptr);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: the first push to an idle one schedules") {
  MakeIdle();
  CHECK(Push(one) == PushOutcome::kMustSchedule);
  CHECK(Push(two) == PushOutcome::kPushed);
  CHECK(one->next == nullptr);
  CHECK(two->next == one.get());
  CHECK(state.Top() == two.get());
  CHECK(state.CountApprox() == 2);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: wake takes the right exactly once") {
  MakeIdle();
  CHECK(state.WakeIfIdle());
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(Push(one) == PushOutcome::kPushed);
  CHECK_FALSE(state.WakeIfIdle());
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: idle only with nothing above the marker") {
  state.Open();
  (void)Push(one);
  CHECK_FALSE(state.TryIdle(nullptr));
  CHECK(state.Top() == one.get());
  (void)Push(two);
  CHECK_FALSE(state.TryIdle(one.get()));
  CHECK(state.TryIdle(two.get()));
  CHECK(state.Top() == nullptr);
  CHECK_FALSE(state.TryIdle(nullptr));  // it is already
  CHECK(Push(three) == PushOutcome::kMustSchedule);
  CHECK(three->next == nullptr);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: forgetting stays busy") {
  state.Open();
  (void)Push(one);
  (void)Push(two);
  CHECK_FALSE(state.TryForget(one.get()));
  CHECK(state.TryForget(two.get()));
  CHECK(state.Top() == nullptr);
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(Push(three) == PushOutcome::kPushed);
  CHECK(three->next == nullptr);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: redirected takes nothing") {
  state.Open();
  CHECK(state.TryRedirect(nullptr));
  CHECK(state.IsRedirected());
  CHECK(Push(one) == PushOutcome::kRedirected);
  CHECK(state.Top() == nullptr);
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(state.TryIdle(nullptr));
  CHECK(state.IsRedirected());
  CHECK(Push(one) == PushOutcome::kRedirected);
  CHECK(state.WakeIfIdle());
  CHECK(state.IsRedirected());
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(state.CountApprox() == 0);
  state.Accept();
  CHECK_FALSE(state.IsRedirected());
  CHECK(Push(one) == PushOutcome::kPushed);
  state.Accept();  // not redirected: nothing happens
  CHECK(state.Top() == one.get());
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: redirecting needs an empty lane") {
  state.Open();
  (void)Push(one);
  CHECK_FALSE(state.TryRedirect(nullptr));
  (void)Push(two);
  CHECK_FALSE(state.TryRedirect(one.get()));
  CHECK_FALSE(state.IsRedirected());
  CHECK(state.TryRedirect(two.get()));
  CHECK(state.IsRedirected());
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: a push that ends the redirection") {
  state.Open();
  CHECK(state.PushAndAccept(one.get()) == PushOutcome::kPushed);  // was not redirected
  CHECK(state.TryRedirect(one.get()));
  CHECK(state.PushAndAccept(two.get()) == PushOutcome::kPushed);
  CHECK_FALSE(state.IsRedirected());
  CHECK(two->next == nullptr);
  CHECK(state.PushAndAccept(three.get()) == PushOutcome::kPushed);
  CHECK(three->next == two.get());
  CHECK(state.TryRedirect(three.get()));
  CHECK(state.TryIdle(nullptr));
  CHECK(state.PushAndAccept(one.get()) == PushOutcome::kMustSchedule);
  CHECK(state.TryIdle(one.get()));
  CHECK(state.PushAndAccept(two.get()) == PushOutcome::kMustSchedule);
}

TEST_CASE_FIXTURE(DispatchStateTest,
                  "dispatch state: refused takes nothing, in whatever way, until it is closed") {
  state.Open();
  SUBCASE("empty") { CHECK(state.TryRefuse(nullptr)); }
  SUBCASE("redirected") {
    REQUIRE(state.TryRedirect(nullptr));
    CHECK(state.TryRefuse(nullptr));
  }
  SUBCASE("with something above the marker") {
    (void)Push(two);
    (void)Push(three);
    CHECK_FALSE(state.TryRefuse(nullptr));
    CHECK_FALSE(state.TryRefuse(two.get()));
    CHECK_FALSE(state.IsRefused());
    CHECK(state.TryRefuse(three.get()));
  }
  CHECK(state.IsRefused());
  CHECK_FALSE(state.IsRedirected());
  CHECK_FALSE(state.IsClosed());
  CHECK(state.TryRefuse(nullptr));  // again
  const std::uint32_t count = state.CountApprox();
  const auto check_refused = [&] {
    CHECK(Push(one) == PushOutcome::kClosed);
    CHECK(state.TryPush(one.get(), 0, taken) == PushOutcome::kUntried);
    CHECK(state.PushAndAccept(one.get()) == PushOutcome::kClosed);
  };
  check_refused();
  CHECK_FALSE(state.TryRedirect(nullptr));
  state.Accept();
  CHECK(state.IsRefused());
  CHECK_FALSE(state.WakeIfIdle());
  CHECK(state.TryIdle(nullptr));
  CHECK(state.IsIdle());
  check_refused();
  CHECK(state.WakeIfIdle());
  CHECK(state.IsRefused());
  CHECK(state.CountApprox() == count);
  CHECK(state.Top() == nullptr);
  CHECK(state.Close() == nullptr);
  CHECK(state.IsClosed());
  state.Open();
  CHECK(Push(one) == PushOutcome::kPushed);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: closing in every state gives out the stack") {
  SUBCASE("busy") {
    state.Open();
    CHECK(state.Close() == nullptr);
  }
  SUBCASE("idle") {
    MakeIdle();
    CHECK(state.Close() == nullptr);
  }
  SUBCASE("redirected") {
    state.Open();
    REQUIRE(state.TryRedirect(nullptr));
    CHECK(state.Close() == nullptr);
  }
  SUBCASE("stack") {
    state.Open();
    (void)Push(one);
    (void)Push(two);
    CHECK(state.Close() == two.get());
    CHECK(two->next == one.get());
  }
  CHECK(state.IsClosed());
  CHECK(Push(three) == PushOutcome::kClosed);
  CHECK(state.PushAndAccept(three.get()) == PushOutcome::kClosed);
  CHECK_FALSE(state.WakeIfIdle());
  CHECK_FALSE(state.TryIdle(nullptr));
  CHECK(state.Close() == nullptr);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: the count goes on after closing") {
  state.Open();
  (void)Push(one);
  (void)Push(two);
  (void)state.Close();
  CHECK(state.CountApprox() == 2);
  state.Open();
  CHECK(state.CountApprox() == 2);
  (void)Push(three);
  CHECK(state.CountApprox() == 3);
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: the bound is exact") {
  state.Open();
  CHECK(Push(one, 2) == PushOutcome::kPushed);
  CHECK(Push(two, 2) == PushOutcome::kPushed);
  CHECK(Push(three, 2) == PushOutcome::kFull);
  CHECK(state.Top() == two.get());
  CHECK(state.CountApprox() == 2);
  taken = 1;
  CHECK(Push(three, 2) == PushOutcome::kPushed);
  EnvelopePtr four = MakeSignal(4, Lane::kMain);
  CHECK(Push(four, 2) == PushOutcome::kFull);
  CHECK(Push(four, 0) == PushOutcome::kPushed);  // no bound
}

TEST_CASE_FIXTURE(DispatchStateTest, "dispatch state: the count wraps, the bound stays exact") {
  state.Open();
  std::uint32_t pushed = 0;
  // The same one again and again, until the count is about to wrap.
  for (; pushed < DispatchState::kCountMask; ++pushed) {
    if (Push(one) != PushOutcome::kPushed || !state.TryForget(one.get())) break;
  }
  REQUIRE(pushed == DispatchState::kCountMask);
  CHECK(state.CountApprox() == DispatchState::kCountMask);
  taken = pushed;
  CHECK(Push(one, 2) == PushOutcome::kPushed);
  CHECK(state.CountApprox() == 0);
  CHECK(Push(two, 2) == PushOutcome::kPushed);
  CHECK(Push(three, 2) == PushOutcome::kFull);
  taken = pushed + 1;  // does not wrap at the same number
  CHECK(Push(three, 2) == PushOutcome::kPushed);
  CHECK(state.TryIdle(three.get()));
}

// A sender that was interrupted between its looks at the two counts must not take what others have
// pushed, and the consumer has taken, meanwhile for a full lane.
TEST_CASE("dispatch state: never full when there is always room") {
  constexpr std::size_t kSenders = 2;
  constexpr std::size_t kEach = 16;  // envelopes that a sender has on their way at most
  constexpr std::uint32_t kPushes = kSanitized ? 50'000 : 5'000'000;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  DispatchState state;
  std::atomic<std::uint32_t> taken{0};
  state.Open();
  struct alignas(64) Sender {
    std::atomic<std::uint32_t> returned{0};
    EnvelopePtr envelopes[kEach];
  };
  std::vector<Sender> senders(kSenders);
  std::atomic<int> full{0};
  std::atomic<int> refused{0};
  std::atomic<std::size_t> left{kSenders};
  std::vector<std::thread> threads;
  for (std::size_t s = 0; s < kSenders; ++s) {
    threads.emplace_back([&, s] {
      Sender& sender = senders[s];
      for (EnvelopePtr& envelope : sender.envelopes) {
        envelope = MakeSignal(static_cast<std::uint8_t>(s), Lane::kMain);
      }
      std::uint32_t pushed = 0;
      while (pushed < kPushes) {
        // They come back in the order they were sent.
        if (pushed - sender.returned.load(std::memory_order_acquire) == kEach) {
          CpuPause();
          continue;
        }
        if (pushed % 1024 == 0 && std::chrono::steady_clock::now() > enough) break;
        const PushOutcome outcome =
            state.Push(sender.envelopes[pushed % kEach].get(), kSenders * kEach, taken);
        if (outcome == PushOutcome::kPushed) {
          ++pushed;
        } else {
          (outcome == PushOutcome::kFull ? full : refused).fetch_add(1);
        }
      }
      left.fetch_sub(1);
    });
  }
  // The consumer takes the whole stack at once.
  std::uint32_t popped = 0;
  while (left.load(std::memory_order_relaxed) > 0 || state.Top() != nullptr) {
    Envelope* top = state.Top();
    if (top == nullptr || !state.TryForget(top)) continue;
    Envelope* oldest = nullptr;
    while (top != nullptr) {
      Envelope* older = top->next;
      top->next = oldest;
      oldest = top;
      top = older;
    }
    while (oldest != nullptr) {
      Envelope* next = oldest->next;
      taken.store(++popped, std::memory_order_release);
      senders[oldest->kind].returned.fetch_add(1, std::memory_order_release);
      oldest = next;
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(full == 0);
  CHECK(refused == 0);
  CHECK(state.CountApprox() == (popped & DispatchState::kCountMask));
}

}  // namespace
}  // namespace ergon::core::dispatch_state_test
