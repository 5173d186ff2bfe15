#include <ergon/core/messages/mailbox.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/messages/mailbox_turn.h>

#include "mailbox_fixture.h"
#include "turns.h"

namespace ergon::core::mailbox_test {
namespace {

using testing::Item;
using testing::kSanitized;
using testing::MailboxTest;
using testing::Make;
using testing::NumberOf;

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
  mailbox.VisitUrgent(false, visit);
  CHECK(seen.empty());
  (void)Main(1);
  (void)System(11);
  (void)Urgent(101);
  (void)Urgent(102);
  mailbox.VisitUrgent(false, visit);
  CHECK(seen == Numbers{101, 102});
  (void)Urgent(103);
  seen.clear();
  mailbox.VisitUrgent(false, visit);
  CHECK(seen == Numbers{101, 102, 103});
  CHECK_FALSE(mailbox.TryIdle());
  CHECK(HandleAll() == Numbers{101, 102, 103, 11, 1});
}

TEST_CASE_FIXTURE(MailboxTest, "mailbox: of urgent messages the new ones can be looked at alone") {
  mailbox.Open(0);
  Numbers seen;
  const auto look = [&](bool only_new = true) {
    seen.clear();
    mailbox.VisitUrgent(only_new, [&](const Envelope& envelope) {
      seen.push_back(NumberOf(const_cast<Envelope*>(&envelope)));
    });
    return seen;
  };
  CHECK(look().empty());
  (void)Urgent(101);
  (void)Urgent(102);
  CHECK(look() == Numbers{101, 102});
  CHECK(look().empty());
  (void)Urgent(103);
  (void)System(11);
  (void)Urgent(104);
  CHECK(Handle() == 101);
  CHECK(look() == Numbers{103, 104});
  CHECK(look(false) == Numbers{102, 103, 104});
  CHECK(look().empty());
  (void)Urgent(105);
  (void)Urgent(106);
  // Those that are handled before anybody has looked at them are not there.
  for (const int expected : {102, 103, 104, 105}) CHECK(Handle() == expected);
  CHECK(look() == Numbers{106});
  (void)Urgent(107);
  CHECK(Handle() == 106);
  CHECK(Handle() == 107);
  CHECK(look().empty());
  CHECK(Handle() == 11);
  (void)Urgent(108);
  CHECK(Handle() == 108);
  (void)Urgent(109);
  CHECK(look() == Numbers{109});
  CHECK(HandleAll() == Numbers{109});
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

TEST_CASE_FIXTURE(MailboxTest,
                  "mailbox: a refused lane keeps what it has, and takes what its owner puts last") {
  mailbox.Open(2);
  (void)Main(1);
  SUBCASE("before anything was taken") {}
  SUBCASE("with more behind the one that is handled") {
    Envelope* const current = mailbox.Pop();
    (void)Main(1);
    mailbox.RefuseMain();
    CHECK(mailbox.MainDepthApprox() == 1);
    mailbox.Release(current);
  }
  SUBCASE("when one is detached and comes back") {
    Envelope* const current = mailbox.Pop();
    mailbox.Detach(current);
    mailbox.RefuseMain();
    mailbox.PutLast(current);
  }
  mailbox.RefuseMain();
  CHECK(mailbox.IsMainRefused());
  CHECK(Main(7) == PushOutcome::kClosed);
  mailbox.PutLast(Make(Lane::kMain, 8).release());
  mailbox.PutLast(Make(Lane::kMain, 9).release());
  (void)Urgent(5);
  CHECK(Handle() == 5);
  CHECK(Handle() == 1);
  CHECK(mailbox.MainDepthApprox() == 2);
  CHECK_FALSE(mailbox.TryIdle());
  CHECK(Handle() == 8);
  CHECK(Handle() == 9);
  CHECK(mailbox.MainDepthApprox() == 0);
  REQUIRE(mailbox.TryIdle());
  CHECK(Main(7) == PushOutcome::kClosed);
  CHECK(System(6) == PushOutcome::kMustSchedule);
  CHECK(Handle() == 6);
  const Mailbox::Rest rest = mailbox.Close();
  CHECK(rest.main == nullptr);
  CHECK(rest.express == nullptr);
  mailbox.Open(0);
  CHECK(Main(1) == PushOutcome::kPushed);
  CHECK(Handle() == 1);
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

}  // namespace
}  // namespace ergon::core::mailbox_test
