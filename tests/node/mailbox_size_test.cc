// The sizes of mailboxes of all kinds, changed while messages wait; of the plain kind see also changes_test.cc.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/gen/mailbox.h>
#include <ergon/gen/process_change.h>

#include <node/subject.h>

namespace ergon::node::mailbox_size_test {
namespace {

using gen::Mailbox;
using gen::Overflow;
using Numbers = std::vector<int>;

// A message of the test's own finds room then.
bool EventuallyEmpty(const TestNode& t, gen::PID pid) {
  return kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_queued == 0; });
}

// A suspended process that will note the numbers it gets.
struct Clerk {
  Clerk(TestNode& node, const Mailbox& mailbox) : t(node) {
    pid = t.Spawn({.message =
                       [this](Subject&, gen::PID, gen::Message& message) {
                         notes.Add(message.Take<int>());
                         return gen::Continue();
                       }},
                  {.mailbox = mailbox});
    CHECK(t.node.Suspend(pid));
  }
  void Send(int first, int last) const {
    for (int i = first; i <= last; ++i) CHECK(t.node.Send(pid, i));
  }
  void SetSize(int messages) const {
    CHECK(t.node.SetProcessMailboxSize(pid, messages));
    CHECK(Info().mailbox_size == static_cast<std::uint32_t>(messages));
  }
  [[nodiscard]] bool IsFullFor(int number) const {
    return t.node.Send(pid, number).error() == gen::ErrProcessMailboxFull;
  }
  [[nodiscard]] gen::ProcessInfo Info() const { return t.node.ProcessInfo(pid).value(); }
  // Lets it handle all that waits.
  Numbers Handled() {
    CHECK(t.node.Resume(pid));
    CHECK(EventuallyEmpty(t, pid));
    CHECK(t.Run(pid, [](Subject&) {}));
    return notes.All();
  }

  TestNode& t;
  Notes<int> notes;
  gen::PID pid;
};

TEST_CASE("mailbox size: where the oldest is dropped") {
  TestNode t;
  Clerk clerk(t, Mailbox::Bounded(3, Overflow::kDropOldest));
  clerk.Send(1, 3);
  clerk.SetSize(2);
  CHECK(clerk.Info().messages_queued == 3);
  CHECK(clerk.Info().mailbox == "bounded 2, drop oldest");
  clerk.Send(4, 4);  // one for one
  CHECK(clerk.Info().messages_queued == 3);
  CHECK(clerk.Info().messages_overflowed == 1);
  clerk.SetSize(5);
  clerk.Send(5, 6);
  CHECK(clerk.Info().messages_overflowed == 1);
  clerk.Send(7, 7);
  CHECK(clerk.Info().messages_overflowed == 2);
  clerk.SetSize(0);
  CHECK(clerk.Info().mailbox == "unbounded");
  clerk.Send(8, 20);
  CHECK(clerk.Info().messages_overflowed == 2);
  clerk.SetSize(1);
  CHECK(clerk.Info().mailbox == "bounded 1, drop oldest");
  clerk.Send(21, 21);
  Numbers expected(18);
  std::iota(expected.begin(), expected.end(), 4);
  CHECK(clerk.Handled() == expected);
  CHECK(t.node.Suspend(clerk.pid));
  clerk.Send(22, 23);  // now it has no more than one
  expected.push_back(23);
  CHECK(clerk.Handled() == expected);
  CHECK(t.node.Info().dropped_mailbox_full == 4);
  const std::string head = clerk.pid.ToString() + " ergon::node::Subject: mailbox_size: ";
  for (const char* const change : {"2, was 3", "5, was 2", "0, was 5", "1, was 0"}) {
    CHECK(t.log.Count(head + change) == 1);
  }
}

TEST_CASE("mailbox size: where the newest is dropped") {
  TestNode t;
  Clerk clerk(t, Mailbox::Bounded(3, Overflow::kDropNewest));
  clerk.Send(1, 3);
  clerk.SetSize(1);
  clerk.Send(4, 4);
  CHECK(clerk.Info().messages_queued == 3);
  CHECK(clerk.Info().messages_overflowed == 1);
  clerk.SetSize(4);
  clerk.Send(5, 6);
  CHECK(clerk.Info().messages_overflowed == 2);
  clerk.SetSize(0);
  clerk.Send(7, 8);
  clerk.SetSize(2);
  CHECK(clerk.Info().mailbox == "bounded 2, drop newest");
  clerk.Send(9, 9);
  CHECK(clerk.Handled() == Numbers{1, 2, 3, 5, 7, 8});
  CHECK(t.node.Info().dropped_mailbox_full == 3);
}

Mailbox HighestFirst(int messages, Overflow overflow) {
  return Mailbox::BoundedPriority<int>(
      messages, [](int number) { return -number; }, overflow);
}

TEST_CASE("mailbox size: by priority, and who waits for room is served when there is some") {
  TestNode t;
  Clerk clerk(t, HighestFirst(2, Overflow::kReject));
  clerk.Send(1, 2);
  clerk.SetSize(1);
  CHECK(clerk.IsFullFor(9));
  std::thread waits([&] { CHECK(t.node.SendOrWait(clerk.pid, 5, gen::kInfinite)); });
  CHECK(t.node.SendOrWait(clerk.pid, 9, 0s).error() == gen::ErrProcessMailboxFull);
  clerk.SetSize(3);
  waits.join();
  CHECK(clerk.IsFullFor(9));
  CHECK(clerk.Info().mailbox == "priority, bounded 3, reject");
  CHECK(clerk.Handled() == Numbers{5, 2, 1});

  Clerk any(t, Mailbox::Priority<int>([](int number) { return -number; }));
  any.SetSize(1);
  any.Send(1, 1);
  CHECK(any.IsFullFor(2));
  any.SetSize(0);
  any.Send(2, 9);
  CHECK(any.Handled() == Numbers{9, 8, 7, 6, 5, 4, 3, 2, 1});

  Clerk drops(t, HighestFirst(3, Overflow::kDropNewest));
  drops.Send(1, 3);
  drops.SetSize(2);
  drops.Send(0, 0);  // less urgent than all
  drops.Send(7, 7);
  CHECK(drops.Info().messages_overflowed == 2);
  CHECK(drops.Handled() == Numbers{7, 3, 2});
}

TEST_CASE("mailbox size: by a request of high priority, all or nothing") {
  TestNode t;
  const gen::CallOptions high{.priority = gen::MessagePriority::kHigh};
  Clerk clerk(t, Mailbox::Bounded(3, Overflow::kDropOldest));
  CHECK(t.node.Call(clerk.pid, gen::ProcessChange{.mailbox_size = 8}, high));
  CHECK(clerk.Info().mailbox == "bounded 8, drop oldest");
  CHECK(t.log.Count(": mailbox_size: 8, was 3") == 1);
  // A queue of the program's own.
  const gen::PID custom =
      t.Spawn({}, {.mailbox = Mailbox::Custom(
                       [] { return Mailbox::Bounded(5, Overflow::kDropOldest).MakeQueue(); })});
  const gen::ProcessChange change{.log_level = gen::LogLevel::kError, .mailbox_size = 6};
  for (const auto& refused : {t.node.SetProcessMailboxSize(custom, 6).error(),
                              t.node.Call(custom, gen::ProcessChange(change), high).error()}) {
    CHECK(refused == gen::ErrUnsupported);
    CHECK(refused.detail() ==
          "mailbox_size: 6, but its mailbox is custom: a MailboxQueue of the program's, which "
          "alone knows "
          "its bound");
  }
  CHECK(t.node.ProcessInfo(custom)->mailbox == "custom");
  CHECK(t.node.ProcessInfo(custom)->log_level == gen::LogLevel::kInfo);
  CHECK(t.log.Count("mailbox_size") == 1);
}

TEST_CASE("mailbox size: changed while many send, each message is handled or counted") {
  constexpr int kSenders = 3;
  const int each = kit::Scaled(3000);
  for (const Mailbox& mailbox :
       {Mailbox::Bounded(4, Overflow::kDropOldest), Mailbox::Bounded(4, Overflow::kDropNewest),
        HighestFirst(4, Overflow::kDropNewest)}) {
    TestNode t;
    std::atomic<int> handled{0};
    const gen::PID pid = t.Spawn({.message =
                                      [&](Subject&, gen::PID, gen::Message&) {
                                        ++handled;
                                        return gen::Continue();
                                      }},
                                 {.mailbox = mailbox});
    std::atomic<int> sending{kSenders};
    std::vector<std::thread> senders;
    for (int s = 0; s < kSenders; ++s) {
      senders.emplace_back([&] {
        for (int i = 0; i < each; ++i) CHECK(t.node.Send(pid, i));
        --sending;
      });
    }
    for (int size = 0; sending > 0; size = (size + 1) % 5) {
      CHECK(t.node.SetProcessMailboxSize(pid, size));
    }
    for (std::thread& sender : senders) sender.join();
    CHECK(EventuallyEmpty(t, pid));
    CHECK(t.Run(pid, [](Subject&) {}));
    CHECK(static_cast<std::uint64_t>(handled) + t.node.Info().dropped_mailbox_full ==
          static_cast<std::uint64_t>(kSenders) * static_cast<std::uint64_t>(each));
  }
}

}  // namespace
}  // namespace ergon::node::mailbox_size_test
