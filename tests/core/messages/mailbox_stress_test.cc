#include <ergon/core/messages/mailbox.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "mailbox_fixture.h"
#include "turns.h"

namespace ergon::core::mailbox_stress_test {
namespace {

using testing::Eventually;
using testing::Item;
using testing::kEnough;
using testing::kSanitized;
using testing::Make;
using testing::SpinUntil;

// A process in small. Several threads run it, one at a time: whoever gets kMustSchedule, schedules.
class Process {
 public:
  static constexpr std::size_t kMaxSenders = 3;

  explicit Process(std::uint32_t capacity) : capacity_(capacity) {
    mailbox.Open(capacity);
    if (!mailbox.TryIdle()) wrong.fetch_add(1);
  }
  // Nobody may use it any more.
  ~Process() {
    const Mailbox::Rest left = mailbox.Close();
    CheckList(left.main);
    CheckList(left.express);
    CHECK(rest + handled == accepted);
    CHECK(wrong == 0);
    CHECK(Item::alive == 0);
  }

  // A refused envelope is gone.
  PushOutcome Push(EnvelopePtr envelope) {
    const PushOutcome outcome = mailbox.Push(envelope.get());
    if (outcome == PushOutcome::kPushed || outcome == PushOutcome::kMustSchedule) {
      (void)envelope.release();
      accepted.fetch_add(1, std::memory_order_relaxed);
    }
    if (outcome == PushOutcome::kMustSchedule) Schedule();
    return outcome;
  }
  void Schedule() {
    if (scheduled_.exchange(true, std::memory_order_acq_rel)) wrong.fetch_add(1);
  }
  // What a worker does, until `done`.
  template <class Turn>
  void Work(std::atomic<bool>& done, Turn turn) {
    while (!done.load(std::memory_order_relaxed)) {
      if (!scheduled_.load(std::memory_order_relaxed) ||
          !scheduled_.exchange(false, std::memory_order_acq_rel)) {
        std::this_thread::yield();
        continue;
      }
      turn();
    }
  }
  void Enter() {
    if (running_.exchange(true, std::memory_order_relaxed)) wrong.fetch_add(1);
  }
  void Leave() { running_.store(false, std::memory_order_relaxed); }

  void Check(Envelope& envelope) {
    const Item& item = *envelope.ValueAs<Item>();
    std::uint64_t& last = last_[static_cast<std::size_t>(envelope.lane)][item.sender];
    if (item.number <= last) wrong.fetch_add(1);
    last = item.number;
    if (capacity_ != 0 && mailbox.MainDepthApprox() > capacity_) wrong.fetch_add(1);
  }
  void CheckList(Envelope* list) {
    while (list != nullptr) {
      Envelope* next = list->next;
      Check(*list);
      DisposeEnvelope(list);
      rest.fetch_add(1, std::memory_order_relaxed);
      list = next;
    }
  }
  // One turn: at most `budget` messages.
  void Turn(int budget) {
    Enter();
    for (;;) {
      for (int i = 0; i < budget; ++i) {
        Envelope* envelope = mailbox.Pop(!held.load(std::memory_order_relaxed));
        if (envelope == nullptr) break;
        Check(*envelope);
        if (++turns_ % 7 == 0) {
          mailbox.Detach(envelope);
          DisposeEnvelope(envelope);
        } else {
          mailbox.Release(envelope);
        }
        handled.fetch_add(1, std::memory_order_release);
      }
      Leave();
      if (mailbox.TryIdle(!held.load(std::memory_order_relaxed))) return;
      if (turns_ % 3 == 0) {
        Schedule();
        return;
      }
      Enter();
    }
  }

  Mailbox mailbox;
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> rest{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> held{false};  // without Main from now on

 private:
  const std::uint32_t capacity_;
  std::atomic<bool> scheduled_{false};
  std::atomic<bool> running_{false};
  // Not atomic: the right to run hands it on.
  std::array<std::array<std::uint64_t, kMaxSenders>, 3> last_{};
  unsigned turns_ = 0;
};

EnvelopePtr MakeFrom(std::size_t sender, Lane lane, std::uint64_t number) {
  EnvelopePtr envelope = Make(lane, number);
  envelope->ValueAs<Item>()->sender = static_cast<std::uint32_t>(sender);
  return envelope;
}

// Senders on all lanes, two workers, idle again and again.
void StressSenders(std::uint32_t capacity, bool sometimes_held) {
  constexpr std::uint64_t kEach = kSanitized ? 20'000 : 500'000;
  constexpr std::size_t kSenders = Process::kMaxSenders;
  Process process(capacity);
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] { process.Work(done, [&] { process.Turn(1 + w * 8); }); });
  }
  std::vector<std::thread> senders;
  std::atomic<std::uint64_t> sent{0};
  const auto enough = std::chrono::steady_clock::now() + kEnough;
  for (std::size_t s = 0; s < kSenders; ++s) {
    senders.emplace_back([&, s] {
      std::minstd_rand random(static_cast<unsigned>(s) + 1);
      for (std::uint64_t i = 1; i <= kEach; ++i) {
        if (i % 1024 == 0 && std::chrono::steady_clock::now() > enough) break;
        const unsigned choice = random() % 8;
        const Lane lane = choice == 0 ? Lane::kUrgent : choice == 1 ? Lane::kSystem : Lane::kMain;
        if (sometimes_held && i % 64 == 0) process.held.store(i % 128 == 0);
        while (process.Push(MakeFrom(s, lane, i)) == PushOutcome::kFull) {
          std::this_thread::yield();
        }
        ++sent;
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  process.held = false;
  // Held messages wait for the next reason to run.
  if (sometimes_held) (void)process.Push(MakeFrom(0, Lane::kUrgent, kEach + 1));
  CHECK(Eventually([&] { return process.handled.load() == process.accepted.load(); }));
  done = true;
  for (std::thread& worker : workers) worker.join();
  CHECK(process.accepted >= sent);
}

TEST_CASE("mailbox: stress, senders on all lanes") { StressSenders(0, false); }

TEST_CASE("mailbox: stress, senders against a bound") { StressSenders(16, false); }

TEST_CASE("mailbox: stress, main held back now and then") { StressSenders(0, true); }

// One message at a time, so that no later one heals a lost wake-up: the next is sent as soon as the
// last has been handled, which is just when the process tries to become idle.
TEST_CASE("mailbox: stress, no lost wake-up") {
  constexpr std::uint64_t kRounds = kSanitized ? 50'000 : 2'000'000;
  Process process(0);
  std::atomic<bool> done{false};
  std::thread worker([&] { process.Work(done, [&] { process.Turn(32); }); });
  bool stuck = false;
  const auto enough = std::chrono::steady_clock::now() + kEnough;
  for (std::uint64_t i = 1; i <= kRounds && !stuck; ++i) {
    if (i % 1024 == 0 && std::chrono::steady_clock::now() > enough) break;
    (void)process.Push(MakeFrom(0, static_cast<Lane>(i % 3), i));
    stuck = !SpinUntil([&] { return process.handled.load(std::memory_order_acquire) == i; });
  }
  done = true;
  worker.join();
  CHECK_FALSE(stuck);
}

// The same with three senders at once, one on each lane.
TEST_CASE("mailbox: stress, no lost wake-up among three senders") {
  constexpr std::uint64_t kRounds = kSanitized ? 5'000 : 200'000;
  Process process(0);
  std::atomic<bool> done{false};
  std::atomic<bool> stuck{false};
  std::thread worker([&] { process.Work(done, [&] { process.Turn(32); }); });
  std::atomic<std::uint64_t> last{kRounds};  // the round after which to end
  std::vector<std::thread> senders;
  for (std::size_t s = 0; s < 3; ++s) {
    senders.emplace_back([&, s] {
      const auto enough = std::chrono::steady_clock::now() + kEnough;
      for (std::uint64_t i = 1; i <= last.load() && !stuck.load(); ++i) {
        // The others are at most in the next round.
        if (s == 0 && i % 1024 == 0 && std::chrono::steady_clock::now() > enough) last = i + 1;
        (void)process.Push(MakeFrom(s, static_cast<Lane>(s), i));
        if (!SpinUntil([&] {
              return process.handled.load(std::memory_order_acquire) >= 3 * i || stuck.load();
            })) {
          stuck = true;
        }
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  done = true;
  worker.join();
  CHECK_FALSE(stuck);
  CHECK(process.handled == 3 * last);
}

// Each accepted message is either handled or given out by Close, in order; others go back to their
// senders, who do not stop when the mailbox is opened for the next process.
TEST_CASE("mailbox: stress, closing while others send") {
  constexpr std::uint64_t kCloses = kSanitized ? 1'000 : 30'000;
  constexpr std::size_t kSenders = Process::kMaxSenders;
  Process process(0);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> senders;
  for (std::size_t s = 0; s < kSenders; ++s) {
    senders.emplace_back([&, s] {
      for (std::uint64_t i = 1; !done.load(std::memory_order_relaxed); ++i) {
        const PushOutcome outcome = process.Push(MakeFrom(s, static_cast<Lane>(i % 3), i));
        if (outcome == PushOutcome::kClosed) refused.fetch_add(1, std::memory_order_relaxed);
        if (process.accepted.load() - process.handled.load() > 10'000) std::this_thread::yield();
      }
    });
  }
  std::uint64_t closes = 0;
  const auto enough = std::chrono::steady_clock::now() + kEnough;
  std::atomic<bool> worker_done{false};
  std::thread worker([&] {
    std::minstd_rand random(5);
    process.Work(worker_done, [&] {
      if (random() % 4 != 0 || done.load(std::memory_order_relaxed)) {
        process.Turn(1 + static_cast<int>(random() % 40));
        return;
      }
      process.Enter();
      // In the middle of a message, now and then.
      Envelope* current = random() % 2 == 0 ? process.mailbox.Pop() : nullptr;
      if (current != nullptr) process.Check(*current);
      const Mailbox::Rest rest = process.mailbox.Close();
      process.CheckList(rest.main);
      process.CheckList(rest.express);
      if (current != nullptr) {
        process.mailbox.Release(current);
        process.handled.fetch_add(1);
      }
      if (random() % 8 == 0) std::this_thread::yield();
      process.mailbox.Open(0);
      process.Leave();
      process.Schedule();
      if (++closes == kCloses || std::chrono::steady_clock::now() > enough) done = true;
    });
  });
  for (std::thread& sender : senders) sender.join();
  CHECK(Eventually(
      [&] { return process.handled.load() + process.rest.load() == process.accepted.load(); }));
  worker_done = true;
  worker.join();
  CHECK(closes > 0);
  CHECK(process.accepted > 0);
}

// Seen from outside, taken messages must not seem to be more than sent ones.
TEST_CASE("mailbox: stress, the depth as others see it") {
  constexpr std::uint64_t kRounds = kSanitized ? 50'000 : 2'000'000;
  Mailbox mailbox;
  mailbox.Open(0);
  std::atomic<bool> done{false};
  int absurd = 0;
  std::thread observer([&] {
    while (!done.load(std::memory_order_relaxed)) {
      absurd += mailbox.MainDepthApprox() > DispatchState::kCountMask / 2;
    }
  });
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    Envelope* envelope = Make(Lane::kMain, i).release();
    (void)mailbox.Push(envelope);
    mailbox.Release(mailbox.Pop());
  }
  done = true;
  observer.join();
  CHECK(absurd == 0);
  CHECK(mailbox.MainDepthApprox() == 0);
  (void)mailbox.Close();
}

}  // namespace
}  // namespace ergon::core::mailbox_stress_test
