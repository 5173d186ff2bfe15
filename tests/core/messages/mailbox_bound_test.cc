#include <ergon/core/messages/mailbox_bound.h>

#include <cstdint>

#include <doctest/doctest.h>

#include "mailbox_fixture.h"

namespace ergon::core::mailbox_bound_test {
namespace {

using testing::MailboxTest;
using testing::Make;

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

}  // namespace
}  // namespace ergon::core::mailbox_bound_test
