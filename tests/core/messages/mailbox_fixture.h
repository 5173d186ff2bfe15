// Messages that have numbers, and a mailbox to put them into.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/messages/mailbox.h>
#include <ergon/core/messages/mailbox_turn.h>

namespace ergon::core::testing {

struct Item {
  explicit Item(std::uint64_t value) : number(value) { alive.fetch_add(1); }
  ~Item() { alive.fetch_sub(1); }
  std::uint64_t number;
  std::uint32_t sender = 0;
  static inline std::atomic<int> alive{0};
};

inline EnvelopePtr Make(Lane lane, std::uint64_t number) {
  return MakeEnvelope<Item>(0, lane, number);
}
inline std::uint64_t NumberOf(Envelope* envelope) { return envelope->ValueAs<Item>()->number; }

// A mailbox, closed at first. At the end nothing of what was pushed may be left.
class MailboxTest {
 protected:
  using Numbers = std::vector<std::uint64_t>;

  ~MailboxTest() {
    if (!mailbox.IsClosed()) DisposeRest(mailbox.Close());
    CHECK(Item::alive == 0);
  }

  PushOutcome Push(Lane lane, std::uint64_t number) {
    return Give(Make(lane, number), [&](Envelope* envelope) { return mailbox.Push(envelope); });
  }
  PushOutcome Main(std::uint64_t number) { return Push(Lane::kMain, number); }
  PushOutcome System(std::uint64_t number) { return Push(Lane::kSystem, number); }
  PushOutcome Urgent(std::uint64_t number) { return Push(Lane::kUrgent, number); }
  template <class PushFunction>
  static PushOutcome Give(EnvelopePtr envelope, PushFunction push) {
    const PushOutcome outcome = push(envelope.get());
    if (outcome == PushOutcome::kPushed || outcome == PushOutcome::kMustSchedule) {
      (void)envelope.release();
    }
    return outcome;
  }

  // The next message's number, or 0.
  std::uint64_t Handle(bool with_main = true) {
    Envelope* envelope = mailbox.Pop(with_main);
    if (envelope == nullptr) return 0;
    const std::uint64_t number = NumberOf(envelope);
    mailbox.Release(envelope);
    return number;
  }
  Numbers HandleAll() {
    Numbers numbers;
    while (const std::uint64_t number = Handle()) numbers.push_back(number);
    return numbers;
  }
  void OpenIdle(std::uint32_t capacity = 0) {
    mailbox.Open(capacity);
    REQUIRE(mailbox.TryIdle());
  }

  static Numbers TakeList(Envelope* list) {
    Numbers numbers;
    while (list != nullptr) {
      Envelope* next = list->next;
      numbers.push_back(NumberOf(list));
      DisposeEnvelope(list);
      list = next;
    }
    return numbers;
  }
  static void DisposeRest(const Mailbox::Rest& rest) {
    (void)TakeList(rest.main);
    (void)TakeList(rest.express);
  }

  Mailbox mailbox;
};

}  // namespace ergon::core::testing
