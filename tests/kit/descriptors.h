// File descriptors: how many are open, and tests in which few are left, or none.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

#include <fcntl.h>
#include <sys/resource.h>

#include <doctest/doctest.h>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::kit {

// How many this program has open.
[[nodiscard]] inline std::ptrdiff_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// The decorator of such a test. The sanitizer of undefined behaviour asks the system with a pipe whether memory can be
// read: without descriptors it takes an exception, or an object of a class that it has not met before, for a broken
// one.
[[nodiscard]] inline doctest::skip WithoutDescriptors() { return doctest::skip(ERGON_ASAN != 0); }

// While one lives, this program, and those that it starts, can have only so many more file descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    int left = more;
    rlim_t limit = 0;
    for (; left >= 0; ++limit) {
      const bool is_free = fcntl(static_cast<int>(limit), F_GETFD) == -1;
      if (is_free && left-- == 0) break;
    }
    const rlimit few{limit, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewDescriptors() { CHECK(setrlimit(RLIMIT_NOFILE, &before_) == 0); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace ergon::kit
