// One answer for all who have asked for the same.
#include <memory>

#include <doctest/doctest.h>

#include <ergon/node/observer/views/last_found.h>

namespace ergon::node::last_found_test {

TEST_CASE("what is found is for all who have asked for the same before it was begun") {
  LastFound<int, int> last;
  int times = 0;
  const auto find = [&] { return ++times; };
  const auto first = last.For(7, 100, 200, find);
  CHECK(*first == 1);
  // Asked while the first was in line.
  CHECK(last.For(7, 199, 300, find) == first);
  // Asked when it had been begun: it may be older than the question.
  CHECK(*last.For(7, 200, 400, find) == 2);
  CHECK(*last.For(7, 399, 500, find) == 2);
  // Something else.
  CHECK(*last.For(8, 100, 600, find) == 3);
  CHECK(*last.For(7, 100, 700, find) == 4);
  CHECK(*first == 1);
}

}  // namespace ergon::node::last_found_test
