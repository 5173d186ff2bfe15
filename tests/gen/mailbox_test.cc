#include <ergon/gen/mailbox.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {
namespace {

struct Job {
  int rank = 0;
  int id = 0;
};
struct Alarm {
  int id = 0;
};

template <class T>
OwnedMessage Make(T value) {
  return OwnedMessage(core::MakeEnvelope<T>(static_cast<std::uint8_t>(EnvelopeKind::kMessage),
                                            core::Lane::kMain, std::move(value)));
}

int IdOf(const OwnedMessage& message) {
  if (!message) return -1;
  if (const auto* alarm = message.View().As<Alarm>()) return alarm->id;
  return message.View().As<Job>()->id;
}

// A queue, and what became of what was put into it.
struct Tester {
  explicit Tester(const Mailbox& mailbox) : queue(mailbox.MakeQueue()) {}

  template <class T>
  void Put(T value) {
    OwnedMessage message = Make(value);
    OwnedMessage dropped;
    if (!queue->Enqueue(message, dropped)) refused.push_back(IdOf(message));
    if (dropped) lost.push_back(IdOf(dropped));
  }
  std::vector<int> Drain() {
    std::vector<int> ids;
    while (OwnedMessage message = queue->Dequeue()) ids.push_back(IdOf(message));
    CHECK(queue->size() == 0);
    return ids;
  }

  std::unique_ptr<MailboxQueue> queue;
  std::vector<int> refused;
  std::vector<int> lost;
};

using Ids = std::vector<int>;

Mailbox ByRank() {
  return Mailbox::Priority<Job>([](const Job& job) { return job.rank; });
}
Mailbox ByRank(int bound, Overflow overflow) {
  return Mailbox::BoundedPriority<Job>(
      bound, [](const Job& job) { return job.rank; }, overflow);
}

TEST_CASE("mailbox: kinds that the runtime's own queue can do need no other") {
  CHECK(!Mailbox().HasQueue());
  CHECK(!Mailbox::Unbounded().HasQueue());
  CHECK(!Mailbox::Bounded(10).HasQueue());
  CHECK(!Mailbox::Bounded(10, Overflow::kDropNewest).HasQueue());
  CHECK(Mailbox::Bounded(10, Overflow::kDropOldest).HasQueue());
  CHECK(ByRank().HasQueue());
}

TEST_CASE("mailbox: what it says of itself") {
  CHECK(Mailbox::Unbounded().ToString() == "unbounded");
  CHECK(Mailbox::Bounded(10).ToString() == "bounded 10, reject");
  CHECK(Mailbox::Bounded(7, Overflow::kDropOldest).ToString() == "bounded 7, drop oldest");
  CHECK(ByRank().ToString() == "priority");
  CHECK(ByRank(5, Overflow::kDropNewest).ToString() == "priority, bounded 5, drop newest");
  CHECK(Mailbox::Custom(nullptr).ToString() == "custom");
}

TEST_CASE("mailbox: bounds out of range are errors that name them") {
  CHECK(Mailbox::Unbounded().Validate().empty());
  CHECK(Mailbox::Bounded(1).Validate().empty());
  CHECK(Mailbox::Bounded(4'000'000).Validate().empty());
  CHECK(Mailbox::Bounded(0).Validate() == "mailbox: bound 0, must be 1..4000000");
  CHECK(Mailbox::Bounded(-3, Overflow::kDropOldest).Validate() ==
        "mailbox: bound -3, must be 1..4000000");
  CHECK(ByRank(4'000'001, Overflow::kReject).Validate() ==
        "mailbox: bound 4000001, must be 1..4000000");
  CHECK(ByRank(0, Overflow::kReject).Validate() == "mailbox: bound 0, must be 1..4000000");
}

TEST_CASE("mailbox: the oldest gives way") {
  Tester t(Mailbox::Bounded(3, Overflow::kDropOldest));
  for (int i = 1; i <= 5; ++i) t.Put(Job{0, i});
  CHECK(t.lost == Ids{1, 2});
  CHECK(t.queue->size() == 3);
  t.queue->Return(Make(Job{0, 9}));  // may exceed the bound
  CHECK(t.Drain() == Ids{9, 3, 4, 5});
  CHECK(t.refused.empty());
}

TEST_CASE("mailbox: a bound that is changed: the kind stays, and a custom one has none") {
  Mailbox plain;
  plain.SetBound(3);
  CHECK(plain.IsChosen());
  CHECK(plain.ToString() == "bounded 3, reject");
  Mailbox latest = Mailbox::Bounded(7, Overflow::kDropOldest);
  latest.SetBound(0);
  CHECK(latest.ToString() == "unbounded");
  CHECK(latest.overflow() == Overflow::kDropOldest);
  Tester all(latest);
  for (int i = 1; i <= 9; ++i) all.Put(Job{0, i});
  CHECK(all.lost.empty());
  latest.SetBound(2);
  CHECK(latest.ToString() == "bounded 2, drop oldest");
  Tester two(latest);
  for (int i = 1; i <= 3; ++i) two.Put(Job{0, i});
  CHECK(two.lost == Ids{1});
  Mailbox ranked = ByRank();
  ranked.SetBound(5);
  CHECK(ranked.ToString() == "priority, bounded 5, reject");
  ranked.SetBound(-1);
  CHECK(ranked.Validate() == "mailbox: bound -1, must be 1..4000000");
  Mailbox custom = Mailbox::Custom(nullptr);
  custom.SetBound(5);
  CHECK(custom.ToString() == "custom");
  CHECK(custom.bound() == 0);
  CHECK(custom.IsCustom());
  CHECK_FALSE(ranked.IsCustom());
}

TEST_CASE("mailbox: of a queue whose bound shrinks nothing is lost but what gives way") {
  Tester latest(Mailbox::Bounded(3, Overflow::kDropOldest));
  for (int i = 1; i <= 3; ++i) latest.Put(Job{0, i});
  CHECK(Mailbox::SetBoundOf(*latest.queue, 1));
  CHECK(latest.queue->size() == 3);
  latest.Put(Job{0, 4});  // one for one
  CHECK(latest.lost == Ids{1});
  CHECK(Mailbox::SetBoundOf(*latest.queue, 4));
  latest.Put(Job{0, 5});
  CHECK(latest.lost == Ids{1});
  CHECK(latest.Drain() == Ids{2, 3, 4, 5});
  Tester ranked(ByRank(3, Overflow::kReject));
  for (int i = 1; i <= 3; ++i) ranked.Put(Job{-i, i});
  CHECK(Mailbox::SetBoundOf(*ranked.queue, 1));
  ranked.Put(Job{-9, 9});
  CHECK(ranked.refused == Ids{9});
  CHECK(ranked.Drain() == Ids{3, 2, 1});
}

TEST_CASE("mailbox: lower numbers first, equal ones in the order of arrival") {
  Tester t(ByRank());
  t.Put(Job{2, 1});
  t.Put(Job{1, 2});
  t.Put(Job{2, 3});
  t.Put(Job{-5, 4});
  t.Put(Job{1, 5});
  CHECK(t.Drain() == Ids{4, 2, 5, 1, 3});
}

TEST_CASE("mailbox: several types; those that were not named have the number 0") {
  struct Rank {
    int operator()(const Job& job) const { return job.rank; }
    int operator()(const Alarm&) const { return -100; }
  };
  Tester t(Mailbox::Priority<Job, Alarm>(Rank()));
  t.Put(Job{1, 1});
  t.Put(Job{-1, 2});
  t.Put(Alarm{3});
  CHECK(t.Drain() == Ids{3, 2, 1});

  Tester jobs(ByRank());
  jobs.Put(Job{1, 1});
  jobs.Put(Alarm{2});
  jobs.Put(Job{-1, 3});
  CHECK(jobs.Drain() == Ids{3, 2, 1});
}

TEST_CASE("mailbox: what returns comes before its equals, in its own order") {
  Tester t(ByRank());
  for (int i = 1; i <= 3; ++i) t.Put(Job{i, i});
  for (int i = 11; i <= 13; ++i) t.Put(Job{i - 10, i});
  // Oldest last, as the runtime does it.
  t.queue->Return(Make(Job{2, 22}));
  t.queue->Return(Make(Job{1, 21}));
  t.queue->Return(Make(Job{2, 20}));
  CHECK(t.Drain() == Ids{21, 1, 11, 20, 22, 2, 12, 3, 13});
}

TEST_CASE("mailbox: a full one by priority rejects, or drops the least urgent") {
  SUBCASE("reject") {
    Tester t(ByRank(2, Overflow::kReject));
    for (int i = 1; i <= 3; ++i) t.Put(Job{-i, i});
    CHECK(t.refused == Ids{3});
    CHECK(t.lost.empty());
    CHECK(t.Drain() == Ids{2, 1});
  }
  SUBCASE("the newest of the least urgent, which may be the one that arrives") {
    Tester t(ByRank(3, Overflow::kDropNewest));
    t.Put(Job{5, 1});
    t.Put(Job{5, 2});
    t.Put(Job{1, 3});
    t.Put(Job{5, 4});  // not more urgent than those
    t.Put(Job{9, 5});
    CHECK(t.lost == Ids{4, 5});
    t.Put(Job{2, 6});
    CHECK(t.lost == Ids{4, 5, 2});
    CHECK(t.Drain() == Ids{3, 6, 1});
  }
  SUBCASE("the oldest of the least urgent") {
    Tester t(ByRank(3, Overflow::kDropOldest));
    t.Put(Job{5, 1});
    t.Put(Job{5, 2});
    t.Put(Job{1, 3});
    t.Put(Job{5, 4});
    CHECK(t.lost == Ids{1});
    t.Put(Job{9, 5});  // less urgent than all that wait
    CHECK(t.lost == Ids{1, 5});
    t.Put(Job{0, 6});
    CHECK(t.lost == Ids{1, 5, 2});
    CHECK(t.Drain() == Ids{6, 3, 4});
  }
}

TEST_CASE("mailbox: by priority it behaves as a stable sort") {
  std::mt19937 random(4711);
  for (int round = 0; round < 50; ++round) {
    Tester t(ByRank());
    std::vector<Job> model;
    Ids handled;
    Ids expected;
    for (int step = 0; step < 200; ++step) {
      if (random() % 3 != 0) {
        const Job job{static_cast<int>(random() % 7), step};
        t.Put(job);
        model.push_back(job);
      } else if (OwnedMessage message = t.queue->Dequeue()) {
        handled.push_back(IdOf(message));
        const auto first = std::min_element(
            model.begin(), model.end(),
            [](const Job& left, const Job& right) { return left.rank < right.rank; });
        expected.push_back(first->id);
        model.erase(first);
      } else {
        CHECK(model.empty());
      }
    }
    CHECK(handled == expected);
    CHECK(t.queue->size() == model.size());
  }
}

}  // namespace
}  // namespace ergon::gen
