#include <ergon/node/cluster/handshake/challenge.h>

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

TEST_CASE("challenge: it is issued as long as its handshake goes on, for all of the node's") {
  Challenges all;
  std::uint32_t value = 0;
  const Challenge other(all);
  {
    Challenge first(all);
    value = first.value();
    CHECK(other.IsIssued(value));
    CHECK(first.IsIssued(other.value()));
    const Challenge moved(std::move(first));
    CHECK(moved.value() == value);
    CHECK(other.IsIssued(value));
  }
  CHECK_FALSE(other.IsIssued(value));
  // Those of other nodes are none of this one's.
  Challenges of_another_node;
  const Challenge foreign(of_another_node);
  CHECK_FALSE(other.IsIssued(foreign.value()));
  CHECK(foreign.IsIssued(foreign.value()));
}

}  // namespace
}  // namespace ergon::dist
