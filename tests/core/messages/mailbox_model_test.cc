#include <ergon/core/messages/mailbox.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "mailbox_fixture.h"
#include "turns.h"

namespace ergon::core::mailbox_model_test {
namespace {

using testing::Item;
using testing::kSanitized;
using testing::MailboxTest;
using testing::Make;
using testing::NumberOf;

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
    bool refused = false;
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
      if (!open || refused) refusal = PushOutcome::kClosed;
      if (how == 0) {
        outcome = Give(std::move(envelope), [&](Envelope* e) { return mailbox.PushAndAccept(e); });
        if (open && !refused) redirected = false;
      } else {
        if (open && redirected && !refused) refusal = PushOutcome::kRedirected;
        if (how == 1) {
          outcome =
              Give(std::move(envelope), [&](Envelope* e) { return mailbox.PushBeyondBound(e); });
        } else {
          if (open && !redirected && !refused && capacity != 0 && main.size() >= capacity) {
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
            if (mine->lane == Lane::kMain && chance(50)) {
              push_main(std::move(mine));
            } else if (mine->lane == Lane::kMain && !redirected && chance(50)) {
              main.push_back(NumberOf(mine.get()));
              mailbox.PutLast(mine.release());
            }
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
        if (chance(2)) {
          mailbox.RefuseMain();
          refused = true;
          redirected = false;
        } else if (redirected) {
          mailbox.AcceptMain();
          redirected = false;
        } else {
          redirected = mailbox.TryRedirect();
          wrong += redirected != (main.empty() && !refused);
        }
        wrong += mailbox.IsRedirected() != redirected || mailbox.IsMainRefused() != refused;
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
        open = redirected = refused = false;
      }
    }
    CHECK(wrong == 0);
    if (!mailbox.IsClosed()) DisposeRest(mailbox.Close());
    if (current != nullptr) mailbox.Release(current);
    CHECK(Item::alive == 0);
  }
}

}  // namespace
}  // namespace ergon::core::mailbox_model_test
