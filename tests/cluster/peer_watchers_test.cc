// Processes of another node that watch: what is found of them, by what, and how much memory each takes.
#include <ergon/node/cluster/connection/peer_watchers.h>

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/cluster/signals/references.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::dist::peer_watchers_test {
namespace {

const gen::PID kWatched{9, "own@h", 2};

PeerWatcher WatcherOf(std::uint64_t number) {
  return {number, gen::PID{number, "far@h", 3}, kWatched};
}

}  // namespace

TEST_CASE("peer watchers: each is found by its number and by its reference" * kit::OneThread()) {
  const std::vector<std::string> references = {ReferenceOf(1, "far@h", 3),
                                               ReferenceOf(2, "far@h", 3),
                                               ReferenceOf(1, "far@h", 4),
                                               ReferenceOf(1, "farther@h", 3),
                                               std::string("\x72\0\3", 3),
                                               std::string("\x5a\0\xff", 3),
                                               std::string("\x5a\0\0fa", 5),
                                               ReferenceOf(1, "far@h", 3) + "x",
                                               ""};
  // Whichever of them comes first.
  for (std::size_t first = 0; first < references.size(); ++first) {
    PeerWatchers watchers;
    for (std::size_t i = 0; i < references.size(); ++i) {
      const std::size_t which = (first + i) % references.size();
      CHECK(watchers.FindByReference(references[which]) == nullptr);
      CHECK(watchers.Add(WatcherOf(100 + which), references[which]));
      CHECK_FALSE(watchers.Add(WatcherOf(200 + which), references[which]));
      CHECK(watchers.size() == i + 1);
    }
    for (std::size_t i = 0; i < references.size(); ++i) {
      REQUIRE(watchers.Find(100 + i) != nullptr);
      CHECK(watchers.Find(100 + i)->remote.id == 100 + i);
      CHECK(watchers.ReferenceOf(100 + i) == references[i]);
      REQUIRE(watchers.FindByReference(references[i]) != nullptr);
      CHECK(watchers.FindByReference(references[i])->number == 100 + i);
    }
    for (std::size_t i = 0; i < references.size(); ++i) {
      if (i % 2 == 0) {
        CHECK(watchers.Erase(100 + i));
        CHECK_FALSE(watchers.Erase(100 + i));
      } else {
        CHECK(watchers.TakeByReference(references[i])->number == 100 + i);
      }
      CHECK(watchers.Find(100 + i) == nullptr);
      CHECK(watchers.FindByReference(references[i]) == nullptr);
      CHECK(watchers.ReferenceOf(100 + i).empty());
      CHECK_FALSE(watchers.NoteWatched(100 + i, kWatched));
      CHECK_FALSE(watchers.TakeByReference(references[i]));
    }
    CHECK(watchers.size() == 0);
  }
}

TEST_CASE("peer watchers: whom one watches may be told later" * kit::OneThread()) {
  PeerWatchers watchers;
  const std::string reference = ReferenceOf(1, "far@h", 3);
  CHECK(watchers.Add({7, gen::PID{1, "far@h", 3}, {}, "rex"}, reference));
  CHECK_FALSE(watchers.FindByReference(reference)->watched);
  CHECK(watchers.NoteWatched(7, kWatched));
  CHECK(watchers.FindByReference(reference)->watched == kWatched);
  std::vector<std::uint64_t> numbers;
  watchers.VisitAll([&](const PeerWatcher& watcher) { numbers.push_back(watcher.number); });
  CHECK(numbers == std::vector<std::uint64_t>{7});
}

// A peer may have as many as it likes.
TEST_CASE("peer watchers: many take little memory" * doctest::skip(kit::kSanitized)) {
  constexpr std::uint64_t kMany = 10'000;
  const std::size_t before = ::mallinfo2().uordblks;
  PeerWatchers watchers;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    watchers.Add(WatcherOf(i), ReferenceOf(i, "relations@127.0.0.1", 3));
  }
  const std::size_t each = (::mallinfo2().uordblks - before) / kMany;
  CHECK(each < 160);
}

}  // namespace ergon::dist::peer_watchers_test
