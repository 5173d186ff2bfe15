// Tests in which no file descriptor is left.
#pragma once

#include <doctest/doctest.h>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::kit {

// The decorator of such a test. The sanitizer of undefined behaviour asks the system with a pipe whether memory can be
// read: without descriptors it takes an exception, or an object of a class that it has not met before, for a broken one.
[[nodiscard]] inline doctest::skip WithoutDescriptors() { return doctest::skip(ERGON_ASAN != 0); }

}  // namespace ergon::kit
