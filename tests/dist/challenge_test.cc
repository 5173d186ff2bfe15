#include <ergon/node/dist/challenge.h>

#include <set>

#include <doctest/doctest.h>

namespace ergon::dist {
namespace {

TEST_CASE("challenge: another one each time") {
  std::set<std::uint32_t> challenges;
  for (int i = 0; i < 100; ++i) challenges.insert(RandomChallenge());
  // Two of a hundred are the same once in a million runs.
  CHECK(challenges.size() >= 99);
}

TEST_CASE("challenge: every bit is sometimes set and sometimes not") {
  std::uint32_t ever = 0;
  std::uint32_t always = 0xffffffff;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t challenge = RandomChallenge();
    ever |= challenge;
    always &= challenge;
  }
  CHECK(ever == 0xffffffff);
  CHECK(always == 0);
}

}  // namespace
}  // namespace ergon::dist
