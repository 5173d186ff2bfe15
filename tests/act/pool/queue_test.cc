#include <ergon/act/pool/queue.h>

#include <doctest/doctest.h>

#include <map>
#include <set>

#include <ergon/core/foundations/mix.h>

namespace ergon::act {
namespace {

using Handled = PoolQueue::Handled;

PoolQueue::Item Item(std::optional<std::uint64_t> key = {}) {
  return {core::MakeEnvelope<int>(0, core::Lane::kMain, 0), false, key, 0};
}
void OpenFree(PoolQueue& queue, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t member = first; member <= last; ++member) {
    queue.Open(member);
    queue.SetFree(member);
  }
}
// A key whose home is that member.
std::uint64_t KeyAt(const PoolQueue& queue, std::uint64_t member) {
  std::uint64_t key = 0;
  while (queue.HomeOf(core::Mix(key)) != member) ++key;
  return core::Mix(key);
}

TEST_CASE("pool queue: messages without a key go to who has been free longest") {
  PoolQueue queue;
  OpenFree(queue, 1, 2);
  for (int i = 0; i < 3; ++i) queue.Add(Item());
  auto first = queue.TakeTurn();
  REQUIRE(first);
  CHECK(first->member == 1);
  CHECK(queue.TakeTurn()->member == 2);
  CHECK_FALSE(queue.TakeTurn());
  CHECK(queue.waiting() == 1);
  queue.Done(2, Handled::kAll);
  queue.SetFree(2);
  auto third = queue.TakeTurn();
  CHECK(third->member == 2);
  CHECK(third->item.number == 3);
}

TEST_CASE("pool queue: a key waits for its member; others go on") {
  PoolQueue queue;
  OpenFree(queue, 1, 2);
  const std::uint64_t key = KeyAt(queue, 1);
  queue.Add(Item(key));
  queue.Add(Item(key));
  CHECK(queue.TakeTurn()->member == 1);
  CHECK_FALSE(queue.TakeTurn());
  queue.Add(Item());
  CHECK(queue.TakeTurn()->member == 2);
  queue.Done(1, Handled::kAll);
  queue.SetFree(1);
  CHECK(queue.TakeTurn()->item.number == 2);
}

TEST_CASE("pool queue: a member's own messages and common ones are taken by age") {
  PoolQueue queue;
  queue.Open(1);
  queue.Add(Item(1));
  queue.Add(Item());
  queue.Add(Item(1));
  for (std::uint64_t number = 1; number <= 3; ++number) {
    queue.SetFree(1);
    auto turn = queue.TakeTurn();
    REQUIRE(turn);
    CHECK(turn->item.number == number);
    queue.Done(1, Handled::kAll);
  }
}

TEST_CASE(
    "pool queue: a common message that one member could not take goes to another that is free") {
  PoolQueue queue;
  queue.Open(1);
  queue.Open(2);
  queue.Add(Item());
  queue.Add(Item(KeyAt(queue, 1)));
  queue.SetFree(1);
  queue.SetFree(2);
  auto common = queue.TakeTurn();
  REQUIRE(common);
  CHECK(common->member == 1);
  CHECK(common->item.number == 1);
  queue.Undo(std::move(*common));
  queue.SetFree(1);
  common = queue.TakeTurn();
  REQUIRE(common);
  CHECK(common->member == 2);
  CHECK(common->item.number == 1);
  const auto own = queue.TakeTurn();
  REQUIRE(own);
  CHECK(own->member == 1);
  CHECK(own->item.number == 2);
}

TEST_CASE("pool queue: a member that leaves keeps the keys in flight until they are done") {
  PoolQueue queue;
  OpenFree(queue, 1, 3);
  const std::uint64_t flying = KeyAt(queue, 1);
  std::uint64_t waiting = flying;
  for (std::uint64_t i = 0; waiting == flying || queue.HomeOf(waiting) != 1; ++i)
    waiting = core::Mix(i);
  queue.Add(Item(flying));
  REQUIRE(queue.TakeTurn()->member == 1);
  queue.Add(Item(waiting));
  queue.Add(Item(flying));
  CHECK_FALSE(queue.TakeTurn());
  queue.Leave(1);
  auto moved = queue.TakeTurn();
  REQUIRE(moved);
  CHECK(moved->item.key == waiting);
  CHECK(moved->member != 1);
  queue.Add(Item(flying));
  CHECK_FALSE(queue.TakeTurn());
  CHECK(queue.HomeOf(flying) == 1);
  queue.Done(moved->member, Handled::kAll);
  queue.SetFree(moved->member);
  queue.Done(1, Handled::kAll);
  CHECK(queue.HomeOf(flying) != 1);
  CHECK(queue.TakeTurn()->item.number == 3);
}

TEST_CASE("pool queue: what a worker has put aside keeps its key, once") {
  PoolQueue queue;
  OpenFree(queue, 1, 2);
  const std::uint64_t key = KeyAt(queue, 1);
  for (int i = 0; i < 3; ++i) {
    queue.Add(Item(key));
    REQUIRE(queue.TakeTurn()->member == 1);
    queue.Done(1, Handled::kSome);
    queue.SetFree(1);
  }
  queue.Leave(1);
  CHECK(queue.HomeOf(key) == 1);
  queue.Done(1, Handled::kAll);
  CHECK(queue.HomeOf(key) == 2);
}

TEST_CASE(
    "pool queue: beside what a worker has put aside, the key of what it has handled is free") {
  PoolQueue queue;
  OpenFree(queue, 1, 1);
  const auto handle = [&queue](std::optional<std::uint64_t> key, Handled handled) {
    queue.Add(Item(key));
    REQUIRE(queue.TakeTurn());
    queue.Done(1, handled);
    queue.SetFree(1);
  };
  handle(7, Handled::kSome);  // put aside
  handle(8, Handled::kLast);
  handle(7, Handled::kLast);
  handle({}, Handled::kLast);
  queue.Done(1, Handled::kLast);  // asked once more, for nothing
  queue.Open(2);
  queue.Leave(1);
  CHECK(queue.HomeOf(8) == 2);
  CHECK(queue.HomeOf(7) == 1);
  queue.Done(1, Handled::kAll);
  CHECK(queue.HomeOf(7) == 2);
}

TEST_CASE("pool queue: what comes back goes first, in order, to the same member") {
  PoolQueue queue;
  OpenFree(queue, 1, 4);
  const std::uint64_t key = KeyAt(queue, 3);
  queue.Add(Item(key));
  auto turn = queue.TakeTurn();
  queue.Add(Item(key));
  std::vector<PoolQueue::Item> left;
  for (std::uint64_t i = 0; i < 2; ++i) {
    left.push_back(Item(key));
    left.back().given = i == 1;
  }
  queue.Return(3, std::move(left));
  CHECK(queue.waiting() == 3);
  CHECK(queue.waiting_given() == 1);
  CHECK_FALSE(queue.TakeTurn());
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    queue.SetFree(3);
    auto next = queue.TakeTurn();
    REQUIRE(next);
    CHECK(next->item.given == (i == 1));
    numbers.push_back(next->item.number);
    queue.Done(3, Handled::kAll);
  }
  CHECK(numbers == std::vector<std::uint64_t>{0, 0, 2});
}

TEST_CASE("pool queue: what was not taken waits again, and its key is not counted twice") {
  PoolQueue queue;
  OpenFree(queue, 1, 1);
  queue.Add(Item(7));
  queue.Undo(std::move(*queue.TakeTurn()));
  CHECK(queue.waiting() == 1);
  queue.SetFree(1);
  REQUIRE(queue.TakeTurn());
  queue.Done(1, Handled::kAll);
  queue.Open(2);
  queue.Leave(1);
  CHECK(queue.HomeOf(7) == 2);
}

TEST_CASE("pool queue: without members messages wait for the next one") {
  PoolQueue queue;
  OpenFree(queue, 1, 1);
  queue.Add(Item(7));
  queue.Remove(1);
  queue.Add(Item(8));
  CHECK(queue.waiting() == 2);
  CHECK_FALSE(queue.TakeTurn());
  OpenFree(queue, 2, 2);
  CHECK(queue.TakeTurn()->item.number == 1);
}

TEST_CASE("pool queue: the oldest and the newest, wherever they wait") {
  PoolQueue queue;
  queue.Open(1);
  queue.Open(2);
  queue.Add(Item(KeyAt(queue, 1)));
  queue.Add(Item());
  queue.Add(Item(KeyAt(queue, 2)));
  queue.Add(Item());
  CHECK(queue.TakeOldest()->number == 1);
  CHECK(queue.TakeNewest()->number == 4);
  CHECK(queue.TakeNewest()->number == 3);
  CHECK(queue.TakeAll().size() == 1);
  CHECK(queue.waiting() == 0);
}

TEST_CASE("pool queue: the newest that is not important gives way") {
  PoolQueue queue;
  queue.Open(1);
  const auto important = [](PoolQueue::Item item) {
    item.envelope->flags |= core::Envelope::kFlagImportant;
    return item;
  };
  queue.Add(Item());
  queue.Add(Item(KeyAt(queue, 1)));
  queue.Add(important(Item()));
  queue.Add(important(Item(KeyAt(queue, 1))));
  CHECK(queue.waiting_important() == 2);
  CHECK(queue.TakeNewest()->number == 2);
  CHECK(queue.TakeNewest()->number == 1);
  CHECK_FALSE(queue.TakeNewest().has_value());
  CHECK(queue.waiting_important() == 2);
  CHECK(queue.TakeOldest()->number == 3);
  CHECK(queue.waiting_important() == 1);
  queue.SetFree(1);
  CHECK(queue.TakeTurn()->item.number == 4);
  CHECK(queue.waiting_important() == 0);
}

TEST_CASE("pool queue: what came back gives way to nothing") {
  PoolQueue queue;
  OpenFree(queue, 1, 1);
  const std::uint64_t key = KeyAt(queue, 1);
  for (int i = 0; i < 2; ++i) queue.Add(Item(key));
  auto turn = queue.TakeTurn();
  std::vector<PoolQueue::Item> left;
  left.push_back(std::move(turn->item));
  queue.Return(1, std::move(left));
  CHECK(queue.waiting() == 2);
  CHECK(queue.waiting_returned() == 1);
  CHECK(queue.TakeOldest()->number == 2);
  CHECK_FALSE(queue.TakeOldest());
  CHECK_FALSE(queue.TakeNewest());
  queue.SetFree(1);
  // Also not when it comes back once more.
  queue.Undo(*queue.TakeTurn());
  CHECK(queue.waiting_returned() == 1);
  CHECK_FALSE(queue.TakeOldest());
  CHECK(queue.TakeAll().size() == 1);
  CHECK(queue.waiting_returned() == 0);
}

TEST_CASE("pool queue: a member more or less moves few keys") {
  PoolQueue queue;
  for (std::uint64_t member = 1; member <= 8; ++member) queue.Open(member);
  std::map<std::uint64_t, std::uint64_t> homes;
  for (std::uint64_t i = 0; i < 10'000; ++i) homes[core::Mix(i)] = queue.HomeOf(core::Mix(i));
  queue.Open(9);
  int moved = 0;
  for (const auto& [key, home] : homes) {
    if (queue.HomeOf(key) == home) continue;
    ++moved;
    CHECK(queue.HomeOf(key) == 9);
  }
  CHECK(moved > 900);
  CHECK(moved < 1'300);  // 1/9 of them
  queue.Remove(9);
  for (const auto& [key, home] : homes) REQUIRE(queue.HomeOf(key) == home);
}

}  // namespace
}  // namespace ergon::act
