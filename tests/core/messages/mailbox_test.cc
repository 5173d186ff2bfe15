#include <ergon/core/messages/mailbox.h>
#include <ergon/core/messages/mailbox_turn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "turns.h"

namespace ergon::core {
namespace {

using testing::Eventually;
using testing::kSanitized;

struct Item {
  explicit Item(std::uint64_t value) : number(value) { alive.fetch_add(1); }
  ~Item() { alive.fetch_sub(1); }
  std::uint64_t number;
  std::uint32_t sender = 0;
  static inline std::atomic<int> alive{0};
};

EnvelopePtr Make(Lane lane, std::uint64_t number) { return MakeEnvelope<Item>(0, lane, number); }
std::uint64_t NumberOf(Envelope* envelope) { return envelope->ValueAs<Item>()->number; }

// Races end after so much time, if they have not had all their rounds on a busy machine.
constexpr std::chrono::seconds kEnough(2);

template <class Condition>
bool SpinUntil(Condition condition) {
  for (int spins = 0; spins < 200; ++spins) {
    if (condition()) return true;
    CpuPause();
  }
  return Eventually(condition);
}

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

TEST_CASE_FIXTURE(MailboxTest, "mailbox: closed from the start") {
  CHECK(mailbox.IsClosed());
  CHECK(Main(1) == PushOutcome::kClosed);
  CHECK(System(1) == PushOutcome::kClosed);
  CHECK(Urgent(1) == PushOutcome::kClosed);
  EnvelopePtr envelope = Make(Lane::kMain, 1);
  CHECK(mailbox.PushBeyondBound(envelope.get()) == PushOutcome::kClosed);
  CHECK(mailbox.PushAndAccept(envelope.get()) == PushOutcome::kClosed);
  CHECK(mailbox.MainDepthApprox() == 0);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: lanes in order, first in first out in each") {
  mailbox.Open(0);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    CHECK(Main(i) == PushOutcome::kPushed);
    CHECK(System(10 + i) == PushOutcome::kPushed);
    CHECK(Urgent(100 + i) == PushOutcome::kPushed);
  }
  CHECK(HandleAll() == Numbers{101, 102, 103, 11, 12, 13, 1, 2, 3});
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: urgent messages are seen between any two others") {
  mailbox.Open(0);
  for (std::uint64_t i = 1; i <= 3; ++i) (void)Main(i);
  CHECK(Handle() == 1);
  (void)System(11);
  CHECK(Handle() == 11);
  CHECK(Handle() == 2);
  (void)System(12);
  (void)System(13);
  CHECK(Handle() == 12);
  (void)Urgent(101);
  CHECK(HandleAll() == Numbers{101, 13, 3});
}

// That urgent ones interrupt the turning round is for the models, where a step is one envelope.
TEST_CASE_FIXTURE(MailboxTest, "mailbox: a long stack is turned round while urgent ones come") {
  constexpr std::uint64_t kMain = kit::Scaled(100'000, 4);
  constexpr std::uint64_t kUrgent = 1'000'000'000;  // and above: numbers of urgent ones
  mailbox.Open(0);
  for (std::uint64_t i = 1; i <= kMain; ++i) (void)Main(i);
  std::atomic<bool> done{false};
  std::uint64_t sent = 0;
  std::thread sender([&] {
    while (!done.load()) {
      (void)Urgent(kUrgent + ++sent);
      for (int i = 0; i < 100; ++i) CpuPause();
    }
  });
  std::uint64_t main_expected = 1;
  std::uint64_t urgent_expected = kUrgent + 1;
  const auto take = [&](bool with_main) {
    const std::uint64_t number = Handle(with_main);
    if (number == 0) return;
    CHECK(number == (number > kUrgent ? urgent_expected++ : main_expected++));
  };
  while (main_expected <= kMain / 2) take(true);
  // What is on its way then is neither lost nor out of order: held, or closed.
  SUBCASE("until it is empty") {
    while (main_expected <= kMain) take(true);
  }
  SUBCASE("some held meanwhile") {
    for (std::uint64_t i = 1; i <= kMain; ++i) (void)Main(kMain + i);
    for (int i = 0; i < 1000; ++i) take(i % 2 == 0);
    while (main_expected <= 2 * kMain) take(true);
  }
  SUBCASE("closed") {
    for (std::uint64_t i = 1; i <= kMain; ++i) (void)Main(kMain + i);
    while (main_expected <= kMain + 1) take(true);
  }
  done.store(true);
  sender.join();
  Mailbox::Rest rest = mailbox.Close();
  while (rest.main != nullptr) {
    const EnvelopePtr envelope(rest.main);
    rest.main = rest.main->next;
    CHECK(NumberOf(envelope.get()) == main_expected++);
  }
  while (rest.express != nullptr) {
    const EnvelopePtr envelope(rest.express);
    rest.express = rest.express->next;
    CHECK(NumberOf(envelope.get()) == urgent_expected++);
  }
  CHECK(urgent_expected == kUrgent + sent + 1);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: an envelope that stands for several messages") {
  mailbox.Open(10);
  (void)Main(1);
  EnvelopePtr together = Make(Lane::kMain, 100);
  CHECK(mailbox.PushTogether(together.get(), 10) == PushOutcome::kFull);
  REQUIRE(mailbox.PushTogether(together.get(), 5) == PushOutcome::kPushed);
  (void)together.release();
  CHECK(mailbox.MainDepthApprox() == 6);
  (void)Main(7);
  CHECK(mailbox.MainDepthApprox() == 7);
  SUBCASE("is not taken") {
    Mailbox::Rest rest = mailbox.Close();
    CHECK(rest.main_messages == 7);
    CHECK(TakeList(rest.main) == Numbers{1, 100, 7});
    return;
  }
  CHECK(Handle() == 1);
  Envelope* const popped = mailbox.Pop();
  REQUIRE(NumberOf(popped) == 100);
  mailbox.NoteWaiting();  // until it is replaced
  CHECK(mailbox.MainDepthApprox() == 6);
  EnvelopeList list;
  Numbers expected = {7};
  SUBCASE("is replaced by all of them") { expected = {2, 3, 4, 5, 6, 7}; }
  SUBCASE("is replaced by some of them") { expected = {2, 6, 7}; }
  SUBCASE("is replaced by nothing") {}
  for (std::size_t i = 0; i + 1 < expected.size(); ++i) {
    Envelope* const message = Make(Lane::kMain, expected[i]).release();
    list.Append(message, message);
  }
  mailbox.Unfold(popped, list, static_cast<std::uint32_t>(6 - expected.size()));
  CHECK(mailbox.MainDepthApprox() == expected.size());
  for (const std::uint64_t number : expected) CHECK(Handle() == number);
  CHECK(mailbox.MainDepthApprox() == 0);
  CHECK(mailbox.TryIdle());
  CHECK(Main(8) == PushOutcome::kMustSchedule);
  CHECK(Handle() == 8);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: main messages of several drains stay in order") {
  mailbox.Open(0);
  Numbers handled;
  Numbers expected;
  std::uint64_t next = 0;
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < i % 4; ++k) {
      expected.push_back(++next);
      (void)Main(next);
    }
    for (int k = 0; k < (i / 2) % 4; ++k) {
      if (const std::uint64_t number = Handle()) handled.push_back(number);
    }
  }
  while (const std::uint64_t number = Handle()) handled.push_back(number);
  CHECK(handled == expected);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: main can be held back") {
  mailbox.Open(0);
  (void)Main(1);
  (void)System(11);
  CHECK(Handle(false) == 11);
  CHECK(Handle(false) == 0);
  (void)Urgent(101);
  CHECK(Handle(false) == 101);
  CHECK(mailbox.MainDepthApprox() == 1);
  CHECK(Handle() == 1);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: the bound is exact and for main only") {
  mailbox.Open(3);
  CHECK(mailbox.capacity() == 3);
  for (std::uint64_t i = 1; i <= 3; ++i) CHECK(Main(i) == PushOutcome::kPushed);
  CHECK(Main(4) == PushOutcome::kFull);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    CHECK(System(10 + i) == PushOutcome::kPushed);
    CHECK(Urgent(100 + i) == PushOutcome::kPushed);
  }
  CHECK(Main(4) == PushOutcome::kFull);
  CHECK(mailbox.MainDepthApprox() == 3);
  for (int i = 0; i < 40; ++i) (void)Handle(false);
  CHECK(Handle() == 1);
  CHECK(Main(4) == PushOutcome::kPushed);
  CHECK(Main(5) == PushOutcome::kFull);
  CHECK(HandleAll() == Numbers{2, 3, 4});
  CHECK(mailbox.MainDepthApprox() == 0);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: a message being handled does not count as waiting") {
  mailbox.Open(1);
  CHECK(Main(1) == PushOutcome::kPushed);
  CHECK(Main(2) == PushOutcome::kFull);
  Envelope* one = mailbox.Pop();
  CHECK(Main(2) == PushOutcome::kPushed);
  CHECK(Main(3) == PushOutcome::kFull);
  mailbox.Release(one);
  CHECK(Main(3) == PushOutcome::kFull);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: beyond the bound") {
  auto beyond = [&](Envelope* envelope) { return mailbox.PushBeyondBound(envelope); };
  OpenIdle(1);
  CHECK(Give(Make(Lane::kMain, 1), beyond) == PushOutcome::kMustSchedule);
  CHECK(Give(Make(Lane::kMain, 2), beyond) == PushOutcome::kPushed);
  CHECK(Give(Make(Lane::kMain, 3), beyond) == PushOutcome::kPushed);
  CHECK(mailbox.MainDepthApprox() == 3);
  CHECK(Main(4) == PushOutcome::kFull);
  CHECK(Handle() == 1);
  CHECK(Handle() == 2);
  CHECK(Main(4) == PushOutcome::kFull);
  CHECK(Handle() == 3);
  CHECK(Main(4) == PushOutcome::kPushed);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: the bound changes while messages wait") {
  mailbox.Open(0);
  for (std::uint64_t i = 1; i <= 5; ++i) (void)Main(i);
  mailbox.SetCapacity(3);
  CHECK(Main(6) == PushOutcome::kFull);
  CHECK(Handle() == 1);
  CHECK(Handle() == 2);
  CHECK(Main(6) == PushOutcome::kFull);
  CHECK(Handle() == 3);
  CHECK(Main(6) == PushOutcome::kPushed);
  CHECK(Main(7) == PushOutcome::kFull);
  mailbox.SetCapacity(4);
  CHECK(Main(7) == PushOutcome::kPushed);
  CHECK(HandleAll() == Numbers{4, 5, 6, 7});
}

TEST_CASE_FIXTURE(MailboxTest,
                  "mailbox: idle only when empty, and whoever ends it has to schedule") {
  mailbox.Open(0);
  for (Lane lane : {Lane::kMain, Lane::kSystem, Lane::kUrgent}) {
    (void)Push(lane, 1);
    (void)Push(lane, 2);
    CHECK_FALSE(mailbox.TryIdle());
    CHECK(Handle() == 1);
    CHECK_FALSE(mailbox.TryIdle());
    CHECK(Handle() == 2);
    CHECK(mailbox.TryIdle());
    CHECK(Push(lane, 3) == PushOutcome::kMustSchedule);
    CHECK(Push(lane, 4) == PushOutcome::kPushed);
    CHECK(HandleAll() == Numbers{3, 4});
  }
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: idle with the release of the last message") {
  mailbox.Open(0);
  (void)Main(1);
  (void)Main(2);
  std::uint64_t count = 0;
  Envelope* envelope = mailbox.Pop();
  CHECK_FALSE(mailbox.IsLast(envelope, count));  // 2 waits
  mailbox.Release(envelope);
  envelope = mailbox.Pop();
  REQUIRE(mailbox.IsLast(envelope, count));
  (void)Main(3);
  CHECK_FALSE(mailbox.IsLast(envelope, count));
  mailbox.Release(envelope);
  CHECK(Handle() == 3);

  (void)Main(4);
  envelope = mailbox.Pop();
  mailbox.ReleaseValue(envelope);
  CHECK(Item::alive == 0);
  REQUIRE(mailbox.IsLast(envelope, count));
  CHECK(mailbox.ReleaseAndTryIdle(envelope, count));
  CHECK(mailbox.IsIdle());
  CHECK(mailbox.MainDepthApprox() == 0);
  CHECK(Main(5) == PushOutcome::kMustSchedule);
  CHECK(Main(6) == PushOutcome::kPushed);
  CHECK(HandleAll() == Numbers{5, 6});
}

TEST_CASE_FIXTURE(MailboxTest,
                  "mailbox: busy after the release of the last message, if more came") {
  mailbox.Open(0);
  for (const Lane lane : {Lane::kMain, Lane::kSystem, Lane::kUrgent}) {
    (void)Main(1);
    Envelope* const envelope = mailbox.Pop();
    mailbox.ReleaseValue(envelope);
    std::uint64_t count = 0;
    REQUIRE(mailbox.IsLast(envelope, count));
    CHECK(Push(lane, 2) == PushOutcome::kPushed);
    CHECK_FALSE(mailbox.ReleaseAndTryIdle(envelope, count));
    CHECK_FALSE(mailbox.IsIdle());
    CHECK(HandleAll() == Numbers{2});
  }
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: not the last message while the lists have others") {
  mailbox.Open(0);
  (void)Main(1);
  std::uint64_t count = 0;
  Envelope* envelope = mailbox.Pop();
  SUBCASE("an urgent one, which was looked at") {
    (void)Urgent(101);
    mailbox.VisitUrgent([](const Envelope&) {});
    CHECK_FALSE(mailbox.IsLast(envelope, count));
    mailbox.Release(envelope);
    CHECK(HandleAll() == Numbers{101});
  }
  SUBCASE("one that was returned") {
    Envelope* const returned = Make(Lane::kMain, 2).release();
    mailbox.ReturnToMain(returned, returned, 1);
    CHECK_FALSE(mailbox.IsLast(envelope, count));
    mailbox.Release(envelope);
    CHECK(HandleAll() == Numbers{2});
  }
  SUBCASE("one of the express lanes, which is the last one of its own") {
    mailbox.Release(envelope);
    (void)System(11);
    envelope = mailbox.Pop();
    CHECK_FALSE(mailbox.IsLast(envelope, count));
    mailbox.Release(envelope);
  }
  CHECK(mailbox.TryIdle());
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: idle with main held back") {
  mailbox.Open(3);
  (void)Main(1);
  (void)Main(2);
  CHECK_FALSE(mailbox.TryIdle());
  CHECK(mailbox.TryIdle(false));
  CHECK(mailbox.MainDepthApprox() == 2);
  CHECK(Main(3) == PushOutcome::kMustSchedule);
  CHECK(mailbox.TryIdle(false));
  CHECK(Main(4) == PushOutcome::kFull);
  CHECK(Urgent(101) == PushOutcome::kMustSchedule);
  CHECK_FALSE(mailbox.TryIdle(false));
  CHECK(Handle(false) == 101);
  (void)System(11);
  CHECK_FALSE(mailbox.TryIdle(false));
  CHECK(Handle(false) == 11);
  CHECK(mailbox.TryIdle(false));
  CHECK(Urgent(102) == PushOutcome::kMustSchedule);
  CHECK(HandleAll() == Numbers{102, 1, 2, 3});
  CHECK(mailbox.TryIdle());
  CHECK(Main(5) == PushOutcome::kMustSchedule);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: express messages are seen until they are looked at") {
  mailbox.Open(0);
  (void)Main(1);
  CHECK_FALSE(mailbox.HasExpress());
  CHECK(Handle() == 1);
  (void)System(11);
  CHECK(mailbox.HasExpress());
  (void)System(12);
  CHECK(Handle() == 11);
  CHECK_FALSE(mailbox.HasExpress());
  CHECK(Handle() == 12);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: urgent messages can be looked at in advance") {
  mailbox.Open(0);
  Numbers seen;
  auto visit = [&](const Envelope& envelope) {
    seen.push_back(NumberOf(const_cast<Envelope*>(&envelope)));
  };
  mailbox.VisitUrgent(visit);
  CHECK(seen.empty());
  (void)Main(1);
  (void)System(11);
  (void)Urgent(101);
  (void)Urgent(102);
  mailbox.VisitUrgent(visit);
  CHECK(seen == Numbers{101, 102});
  (void)Urgent(103);
  seen.clear();
  mailbox.VisitUrgent(visit);
  CHECK(seen == Numbers{101, 102, 103});
  CHECK_FALSE(mailbox.TryIdle());
  CHECK(HandleAll() == Numbers{101, 102, 103, 11, 1});
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: the newest envelope's memory waits for a newer one") {
  mailbox.Open(0);
  (void)Main(1);
  Envelope* one = mailbox.Pop();
  mailbox.Release(one);
  CHECK(Item::alive == 0);  // the value does not wait
  if (!kSanitized) {
    // Otherwise it would be the next to be given out.
    EnvelopePtr other = Make(Lane::kMain, 2);
    CHECK(other.get() != one);
  }
  (void)Main(2);
  Envelope* two = mailbox.Pop();
  CHECK(NumberOf(two) == 2);
  if (!kSanitized) {
    EnvelopePtr other = Make(Lane::kMain, 3);
    CHECK(other.get() == one);
  }
  mailbox.Release(two);
  CHECK(mailbox.TryIdle());
  if (!kSanitized) {
    EnvelopePtr other = Make(Lane::kMain, 3);
    CHECK(other.get() == two);
  }
  CHECK(Main(3) == PushOutcome::kMustSchedule);
  CHECK(Handle() == 3);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: detaching") {
  mailbox.Open(0);
  EnvelopePtr detached;
  auto detach = [&] {
    Envelope* envelope = mailbox.Pop();
    REQUIRE(envelope != nullptr);
    mailbox.Detach(envelope);
    detached.reset(envelope);
    return NumberOf(envelope);
  };
  SUBCASE("with newer ones taken") {
    (void)Main(1);
    (void)Main(2);
    CHECK(detach() == 1);
    CHECK(Handle() == 2);
  }
  SUBCASE("the newest") {
    (void)Main(1);
    CHECK(detach() == 1);
    CHECK(mailbox.TryIdle());
    CHECK(Main(2) == PushOutcome::kMustSchedule);
    CHECK(HandleAll() == Numbers{2});
  }
  SUBCASE("the newest taken, with newer ones arrived") {
    (void)Main(1);
    Envelope* one = mailbox.Pop();
    (void)Main(2);
    (void)Main(3);
    mailbox.Detach(one);
    detached.reset(one);
    (void)Main(4);
    CHECK(HandleAll() == Numbers{2, 3, 4});
  }
  SUBCASE("and pushed again, by which it is the newest once more") {
    (void)Main(1);
    for (int i = 0; i < 10; ++i) {
      CHECK(detach() == 1);
      (void)Main(2);
      CHECK(mailbox.Push(detached.get()) == PushOutcome::kPushed);
      (void)detached.release();
      (void)Main(3);
      CHECK(Handle() == 2);
      CHECK(detach() == 1);
      CHECK(mailbox.Push(detached.get()) == PushOutcome::kPushed);
      (void)detached.release();
      CHECK(Handle() == 3);
    }
    CHECK(Handle() == 1);
  }
  SUBCASE("from the other lanes") {
    (void)System(11);
    (void)Urgent(101);
    CHECK(detach() == 101);
    CHECK(detach() == 11);
  }
  SUBCASE("and redirected then") {
    (void)Main(1);
    CHECK(detach() == 1);
    CHECK(mailbox.TryRedirect());
  }
  detached.reset();
}

// Whoever handles an envelope may destroy its value early; the envelope is still being handled.
TEST_CASE_FIXTURE(MailboxTest,
                  "mailbox: an early end of the value is not the end of the envelope") {
  mailbox.Open(0);
  (void)Main(1);
  Envelope* one = mailbox.Pop();
  ConsumeValue(*one);
  SUBCASE("then a newer one is taken") {
    (void)Main(2);
    CHECK_FALSE(mailbox.TryIdle());
    Envelope* two = mailbox.Pop();
    mailbox.Release(one);
    mailbox.Release(two);
  }
  SUBCASE("then it is detached, with a newer one above") {
    (void)Main(2);
    mailbox.Detach(one);
    EnvelopePtr{one}.reset();
    CHECK(Handle() == 2);
  }
  SUBCASE("then the lane is redirected") {
    CHECK(mailbox.TryRedirect());
    mailbox.Release(one);
  }
  SUBCASE("then the mailbox is closed") {
    CHECK(TakeList(mailbox.Close().main).empty());
    mailbox.Release(one);
  }
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: redirected") {
  mailbox.Open(0);
  (void)Main(1);
  CHECK_FALSE(mailbox.TryRedirect());
  Envelope* one = mailbox.Pop();
  (void)Main(2);
  CHECK_FALSE(mailbox.TryRedirect());
  CHECK_FALSE(mailbox.IsRedirected());
  mailbox.Release(one);
  Envelope* two = mailbox.Pop();
  CHECK(mailbox.TryRedirect());  // what is being handled does not wait
  CHECK(mailbox.IsRedirected());
  mailbox.Release(two);

  CHECK(Main(3) == PushOutcome::kRedirected);
  EnvelopePtr beyond = Make(Lane::kMain, 3);
  CHECK(mailbox.PushBeyondBound(beyond.get()) == PushOutcome::kRedirected);
  CHECK(System(11) == PushOutcome::kPushed);
  CHECK(Handle() == 11);
  CHECK(mailbox.TryIdle());
  CHECK(mailbox.IsRedirected());
  CHECK(Main(3) == PushOutcome::kRedirected);
  CHECK(Urgent(101) == PushOutcome::kMustSchedule);
  CHECK(mailbox.IsRedirected());
  CHECK(Handle() == 101);
  CHECK(mailbox.MainDepthApprox() == 0);

  mailbox.AcceptMain();
  CHECK_FALSE(mailbox.IsRedirected());
  CHECK(Main(4) == PushOutcome::kPushed);
  CHECK(Handle() == 4);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: a push that ends the redirection") {
  auto accept = [&](Envelope* envelope) { return mailbox.PushAndAccept(envelope); };
  mailbox.Open(1);
  REQUIRE(mailbox.TryRedirect());
  CHECK(Give(Make(Lane::kMain, 1), accept) == PushOutcome::kPushed);
  CHECK_FALSE(mailbox.IsRedirected());
  CHECK(Give(Make(Lane::kMain, 2), accept) == PushOutcome::kPushed);  // the bound does not count
  CHECK(Main(3) == PushOutcome::kFull);
  CHECK(HandleAll() == Numbers{1, 2});
  REQUIRE(mailbox.TryRedirect());
  REQUIRE(mailbox.TryIdle());
  CHECK(Give(Make(Lane::kMain, 4), accept) == PushOutcome::kMustSchedule);
  CHECK(Give(Make(Lane::kMain, 5), accept) == PushOutcome::kPushed);
  CHECK(HandleAll() == Numbers{4, 5});
  REQUIRE(mailbox.TryIdle());
  CHECK(Give(Make(Lane::kMain, 6), accept) == PushOutcome::kMustSchedule);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: closing gives out everything in order") {
  mailbox.Open(0);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    (void)Main(i);
    (void)System(10 + i);
    (void)Urgent(100 + i);
  }
  std::uint64_t first_main = 1;
  std::uint64_t first_system = 1;
  std::uint64_t first_urgent = 1;
  Envelope* current = nullptr;
  SUBCASE("nothing taken") {}
  SUBCASE("some urgent ones handled") {
    CHECK(Handle() == 101);
    CHECK(Handle() == 102);
    first_urgent = 3;
  }
  SUBCASE("some system ones handled") {
    for (int i = 0; i < 5; ++i) (void)Handle();
    first_urgent = 5;
    first_system = 2;
  }
  SUBCASE("inside a main message") {
    for (int i = 0; i < 9; ++i) (void)Handle();
    current = mailbox.Pop();
    CHECK(NumberOf(current) == 2);
    first_urgent = first_system = 5;
    first_main = 3;
  }
  SUBCASE("inside the last main message") {
    for (int i = 0; i < 11; ++i) (void)Handle();
    current = mailbox.Pop();
    CHECK(NumberOf(current) == 4);
    first_urgent = first_system = first_main = 5;
  }
  SUBCASE("all handled") {
    CHECK(HandleAll().size() == 12);
    first_urgent = first_system = first_main = 5;
  }
  // And some that the mailbox has not looked at yet.
  for (std::uint64_t i = 5; i <= 6; ++i) {
    (void)System(10 + i);
    (void)Urgent(100 + i);
    (void)Main(i);
  }
  Numbers main;
  Numbers express;
  for (std::uint64_t i = first_main; i <= 6; ++i) main.push_back(i);
  for (std::uint64_t i = first_urgent; i <= 6; ++i) express.push_back(100 + i);
  for (std::uint64_t i = first_system; i <= 6; ++i) express.push_back(10 + i);

  const Mailbox::Rest rest = mailbox.Close();
  if (current != nullptr) mailbox.Release(current);
  CHECK(TakeList(rest.main) == main);
  CHECK(TakeList(rest.express) == express);
  CHECK(mailbox.IsClosed());
  CHECK(Main(7) == PushOutcome::kClosed);
  CHECK(Urgent(7) == PushOutcome::kClosed);
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: closing what is redirected, held or empty") {
  SUBCASE("redirected") {
    mailbox.Open(0);
    REQUIRE(mailbox.TryRedirect());
    (void)System(11);
    const Mailbox::Rest rest = mailbox.Close();
    CHECK(rest.main == nullptr);
    CHECK(TakeList(rest.express) == Numbers{11});
  }
  SUBCASE("held") {
    mailbox.Open(0);
    (void)Main(1);
    REQUIRE(mailbox.TryIdle(false));
    CHECK(Main(2) == PushOutcome::kMustSchedule);
    const Mailbox::Rest rest = mailbox.Close();
    CHECK(TakeList(rest.main) == Numbers{1, 2});
    CHECK(rest.express == nullptr);
  }
  SUBCASE("empty") {
    mailbox.Open(0);
    const Mailbox::Rest rest = mailbox.Close();
    CHECK(rest.main == nullptr);
    CHECK(rest.express == nullptr);
  }
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: open again, as new") {
  std::uint64_t number = 0;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    mailbox.Open(2);
    CHECK(mailbox.MainDepthApprox() == 0);
    CHECK(Main(++number) == PushOutcome::kPushed);
    CHECK(Main(++number) == PushOutcome::kPushed);
    CHECK(Main(0) == PushOutcome::kFull);
    if (round % 2 == 0) CHECK(Handle() == number - 1);
    if (round % 3 == 0) (void)System(1);
    DisposeRest(mailbox.Close());
    CHECK(Item::alive == 0);
  }
  OpenIdle();
  CHECK(Main(1) == PushOutcome::kMustSchedule);
}

// Everything a mailbox can do, in random order, against three plain queues.
TEST_CASE_FIXTURE(MailboxTest, "mailbox: random operations against a model") {
  constexpr int kSeeds = 20;
  constexpr int kOperations = kSanitized ? 5'000 : 50'000;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    std::deque<std::uint64_t> main;
    std::deque<std::uint64_t> system;
    std::deque<std::uint64_t> urgent;
    std::uint32_t capacity = seed % 4;
    bool open = false;
    bool idle = false;
    bool redirected = false;
    Envelope* current = nullptr;
    std::uint64_t next = 0;
    int wrong = 0;

    auto check_list = [&](Envelope* list, const std::deque<std::uint64_t>& expected) {
      const Numbers numbers = TakeList(list);
      wrong += !std::equal(numbers.begin(), numbers.end(), expected.begin(), expected.end());
    };
    auto expect_push = [&](PushOutcome outcome, std::optional<PushOutcome> refusal) {
      if (refusal) {
        wrong += outcome != *refusal;
        return false;
      }
      wrong += outcome != (idle ? PushOutcome::kMustSchedule : PushOutcome::kPushed);
      idle = false;
      return true;
    };
    auto push_main = [&](EnvelopePtr envelope) {
      const std::uint64_t number = NumberOf(envelope.get());
      std::optional<PushOutcome> refusal;
      PushOutcome outcome{};
      const unsigned how = random() % 8;
      if (!open) refusal = PushOutcome::kClosed;
      if (how == 0) {
        outcome = Give(std::move(envelope), [&](Envelope* e) { return mailbox.PushAndAccept(e); });
        if (open) redirected = false;
      } else {
        if (open && redirected) refusal = PushOutcome::kRedirected;
        if (how == 1) {
          outcome =
              Give(std::move(envelope), [&](Envelope* e) { return mailbox.PushBeyondBound(e); });
        } else {
          if (open && !redirected && capacity != 0 && main.size() >= capacity) {
            refusal = PushOutcome::kFull;
          }
          outcome = Give(std::move(envelope), [&](Envelope* e) { return mailbox.Push(e); });
        }
      }
      if (expect_push(outcome, refusal)) main.push_back(number);
    };

    for (int i = 0; i < kOperations && wrong == 0; ++i) {
      const unsigned operation = random() % 16;
      if (operation < 4) {
        push_main(Make(Lane::kMain, ++next));
      } else if (operation < 6) {
        const Lane lane = chance(50) ? Lane::kSystem : Lane::kUrgent;
        const PushOutcome outcome = Push(lane, ++next);
        if (expect_push(outcome, open ? std::nullopt : std::optional(PushOutcome::kClosed))) {
          (lane == Lane::kSystem ? system : urgent).push_back(next);
        }
      } else if (!open) {
        if (current != nullptr) {
          mailbox.Release(current);
          current = nullptr;
        }
        mailbox.Open(capacity);
        open = true;
      } else if (idle) {
        continue;  // nobody may touch it
      } else if (operation < 11) {
        if (current != nullptr) {
          if (chance(20)) {
            mailbox.Detach(current);
            EnvelopePtr mine(current);
            if (mine->lane == Lane::kMain && chance(50)) push_main(std::move(mine));
          } else {
            if (chance(10)) ConsumeValue(*current);
            mailbox.Release(current);
          }
          current = nullptr;
          continue;
        }
        const bool with_main = chance(80);
        current = mailbox.Pop(with_main);
        auto* queue = !urgent.empty()              ? &urgent
                      : !system.empty()            ? &system
                      : with_main && !main.empty() ? &main
                                                   : nullptr;
        if (queue == nullptr || current == nullptr) {
          wrong += (queue == nullptr) != (current == nullptr);
          continue;
        }
        wrong += NumberOf(current) != queue->front();
        queue->pop_front();
      } else if (operation < 13) {
        if (current != nullptr) continue;
        const bool with_main = chance(80);
        const bool expected = urgent.empty() && system.empty() && (!with_main || main.empty());
        idle = mailbox.TryIdle(with_main);
        wrong += idle != expected;
      } else if (operation == 13) {
        if (redirected) {
          mailbox.AcceptMain();
          redirected = false;
        } else {
          redirected = mailbox.TryRedirect();
          wrong += redirected != main.empty();
        }
        wrong += mailbox.IsRedirected() != redirected;
      } else if (operation == 14) {
        wrong += mailbox.MainDepthApprox() != main.size();
        capacity = random() % 5;
        mailbox.SetCapacity(capacity);
      } else if (chance(10)) {
        const Mailbox::Rest rest = mailbox.Close();
        check_list(rest.main, main);
        urgent.insert(urgent.end(), system.begin(), system.end());
        check_list(rest.express, urgent);
        main.clear();
        system.clear();
        urgent.clear();
        open = redirected = false;
      }
    }
    CHECK(wrong == 0);
    if (!mailbox.IsClosed()) DisposeRest(mailbox.Close());
    if (current != nullptr) mailbox.Release(current);
    CHECK(Item::alive == 0);
  }
}

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
  constexpr std::uint64_t kRounds = kSanitized ? 10'000 : 200'000;
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
}  // namespace ergon::core
