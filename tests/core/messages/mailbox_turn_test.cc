#include <ergon/core/messages/mailbox_turn.h>

#include <cstdint>

#include <doctest/doctest.h>

#include "mailbox_fixture.h"

namespace ergon::core::mailbox_turn_test {
namespace {

using testing::Item;
using testing::MailboxTest;
using testing::Make;

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
    mailbox.VisitUrgent(false, [](const Envelope&) {});
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

}  // namespace
}  // namespace ergon::core::mailbox_turn_test
