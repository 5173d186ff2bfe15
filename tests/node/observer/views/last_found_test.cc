// One answer for all who ask for the same.
#include <chrono>
#include <cstdint>
#include <memory>

#include <doctest/doctest.h>

#include <ergon/node/observer/views/last_found.h>

namespace ergon::node::last_found_test {

struct Last {
  explicit Last(std::int64_t period) : found(std::chrono::nanoseconds(period)) {}
  std::shared_ptr<const int> For(int query, std::int64_t asked_at, std::int64_t now,
                                 std::int64_t changed_at = 0) {
    return found.For(
        query, {asked_at, changed_at}, [&] { return now; }, [&] { return ++times; });
  }

  LastFound<int, int> found;
  int times = 0;
};

TEST_CASE("what is found is for all who have asked for the same before it was begun") {
  Last last(0);
  const auto first = last.For(7, 100, 200);
  CHECK(*first == 1);
  // Asked while the first was in line.
  CHECK(last.For(7, 199, 300) == first);
  // Asked when it had been begun: it may be older than the question.
  CHECK(*last.For(7, 200, 400) == 2);
  CHECK(*last.For(7, 399, 500) == 2);
  // Something else.
  CHECK(*last.For(8, 100, 600) == 3);
  CHECK(*last.For(7, 100, 700) == 4);
  CHECK(*first == 1);
}

TEST_CASE(
    "what is found is for all who ask for the same within a period, unless the node was changed") {
  Last last(1'000);
  CHECK(*last.For(7, 100, 200) == 1);
  CHECK(*last.For(7, 1'200, 1'200) == 1);
  CHECK(*last.For(7, 1'201, 1'201) == 2);
  CHECK(*last.For(7, 1'300, 1'300, 1'200) == 2);
  CHECK(*last.For(7, 1'300, 1'300, 1'201) == 3);
  CHECK(*last.For(8, 1'300, 1'300) == 4);
  // The period begins when it has been found, however long that takes.
  const auto slow = [&, now = std::int64_t{5'000}]() mutable { return now += 2'000; };
  const auto find = [&] { return ++last.times; };
  CHECK(*last.found.For(8, {5'000, 0}, slow, find) == 5);  // from 9,000 to 11,000
  CHECK(*last.For(8, 12'000, 12'000) == 5);
  CHECK(*last.For(8, 12'001, 12'001) == 6);
}

}  // namespace ergon::node::last_found_test
