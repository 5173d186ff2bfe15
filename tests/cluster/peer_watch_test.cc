// When a peer is given up: a state machine without a clock.
#include <ergon/node/cluster/connection/peer_watch.h>

#include <doctest/doctest.h>

namespace ergon::dist {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

}  // namespace

TEST_CASE("peer watch: one that says nothing is gone at the fifth look") {
  PeerWatch watch(4s, 1000);
  watch.Heard();
  CHECK(watch.Look(0, true).empty());
  for (int look = 0; look < 4; ++look) CHECK(watch.Look(0, true).empty());
  CHECK(watch.Look(0, true) == "it has said nothing for 5000 ms");
}

TEST_CASE("peer watch: one that is not listened to may have said something") {
  PeerWatch watch(4s, 1000);
  for (int look = 0; look < 100; ++look) CHECK(watch.Look(0, false).empty());
  for (int look = 0; look < 4; ++look) CHECK(watch.Look(0, true).empty());
  CHECK_FALSE(watch.Look(0, true).empty());
}

TEST_CASE("peer watch: one that says something and takes nothing is gone, too") {
  PeerWatch watch(4s, 1000);
  for (int look = 0; look < 4; ++look) {
    watch.Heard();
    CHECK(watch.Look(1000, true).empty());
  }
  watch.Heard();
  CHECK(watch.Look(1234, false) ==
        "it has taken next to nothing for 5000 ms, and 1234 bytes wait to be sent to it");
}

TEST_CASE("peer watch: where little waits, or enough is taken, it is there") {
  PeerWatch watch(4s, 1000);
  std::uint64_t taken = 0;
  for (int look = 0; look < 100; ++look) {
    watch.Heard();
    CHECK(watch.Look(999, true).empty());
  }
  for (int look = 0; look < 100; ++look) {
    watch.Heard();
    watch.Took(taken += 250);
    CHECK(watch.Look(5000, true).empty());
  }
  // As slowly as one wants, it is not.
  for (int look = 0; look < 4; ++look) {
    watch.Took(taken += 249);
    CHECK(watch.Look(5000, false).empty());
  }
  watch.Took(taken += 249);
  CHECK_FALSE(watch.Look(5000, false).empty());
}

TEST_CASE("peer watch: one that takes 64 KiB in the tick time is there, however much may wait") {
  constexpr std::size_t kBound = std::size_t{256} * 1024 * 1024;
  PeerWatch watch(4s, kBound);
  std::uint64_t taken = 0;
  for (int look = 0; look < 100; ++look) {
    watch.Heard();
    watch.Took(taken += PeerWatch::kNextToNothing / PeerWatch::kLooks);
    CHECK(watch.Look(2 * kBound, true).empty());
  }
}

}  // namespace ergon::dist
