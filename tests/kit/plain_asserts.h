// What the tests of a build with sanitizers include before all else: doctest's assertions without what makes text of
// both sides, which takes a sixth of the time to compile them. Release, and ERGON_ALL_TESTS, tell the values.
#pragma once

#include <doctest/doctest.h>

// As in doctest's own comparisons.
#pragma GCC diagnostic ignored "-Wsign-compare"

#undef CHECK
#undef CHECK_FALSE
#undef REQUIRE
#undef REQUIRE_FALSE
#define CHECK(...) DOCTEST_CHECK_UNARY(static_cast<bool>(__VA_ARGS__))
#define CHECK_FALSE(...) DOCTEST_CHECK_UNARY_FALSE(static_cast<bool>(__VA_ARGS__))
#define REQUIRE(...) DOCTEST_REQUIRE_UNARY(static_cast<bool>(__VA_ARGS__))
#define REQUIRE_FALSE(...) DOCTEST_REQUIRE_UNARY_FALSE(static_cast<bool>(__VA_ARGS__))
