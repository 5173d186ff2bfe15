#include <ergon/core/foundations/mix.h>

#include <doctest/doctest.h>

#include <bitset>

namespace ergon::core::mix_test {
namespace {

TEST_CASE("mix: neighbours differ in about half of their bits") {
  std::size_t different = 0;
  for (std::uint64_t number = 0; number < 1'000; ++number) {
    CHECK(Mix(number) == Mix(number));
    different += std::bitset<64>(Mix(number) ^ Mix(number + 1)).count();
  }
  CHECK(different > 31'000);
  CHECK(different < 33'000);
}

}  // namespace
}  // namespace ergon::core::mix_test
