// Test cases that run in one thread.
#pragma once

#include <doctest/doctest.h>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::kit {

// For a test case of one thread that takes long. The thread sanitizer can find nothing in it, and leaves it out unless
// all tests are asked for (ERGON_ALL_TESTS):
//
//   TEST_CASE("cron schedule: fields" * kit::OneThread()) {
[[nodiscard]] inline doctest::skip OneThread() {
#ifdef ERGON_ALL_TESTS
  return doctest::skip(false);
#else
  return doctest::skip(ERGON_TSAN != 0);
#endif
}

}  // namespace ergon::kit
