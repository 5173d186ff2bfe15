#include <ergon/node/cluster/handshake/challenge.h>

#include <optional>
#include <set>
#include <utility>

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

TEST_CASE("challenge: it is issued as long as its handshake goes on, for the whole program") {
  Challenge first;
  const std::uint32_t value = first.value();
  CHECK_FALSE(IsIssuedByOthers(value, "peer@127.0.0.1"));  // nobody has seen it
  first.Issue("one@127.0.0.1");
  CHECK(IsIssuedByOthers(value, "peer@127.0.0.1"));
  CHECK_FALSE(IsIssuedByOthers(value, "one@127.0.0.1"));
  {
    Challenge equal(value);  // of another node of the program
    equal.Issue("two@127.0.0.1");
    CHECK(IsIssuedByOthers(value, "one@127.0.0.1"));
    CHECK(IsIssuedByOthers(value, "two@127.0.0.1"));
  }
  {
    const Challenge moved(std::move(first));
    CHECK(moved.value() == value);
    CHECK(IsIssuedByOthers(value, "peer@127.0.0.1"));
  }
  CHECK_FALSE(IsIssuedByOthers(value, "peer@127.0.0.1"));
}

TEST_CASE("challenge: of two that are equal, either may be the first to be over") {
  std::optional<Challenge> one(std::in_place, 5U);
  std::optional<Challenge> two(std::in_place, 5U);
  one->Issue("one@127.0.0.1");
  two->Issue("two@127.0.0.1");
  SUBCASE("the first") {
    one.reset();
    CHECK(IsIssuedByOthers(5, "one@127.0.0.1"));
    CHECK_FALSE(IsIssuedByOthers(5, "two@127.0.0.1"));
  }
  SUBCASE("the second") {
    two.reset();
    CHECK_FALSE(IsIssuedByOthers(5, "one@127.0.0.1"));
    CHECK(IsIssuedByOthers(5, "two@127.0.0.1"));
  }
}

}  // namespace
}  // namespace ergon::dist
