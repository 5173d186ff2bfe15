// Those who watch a process: what is in the list, and how many are looked at when a name or an alias goes.
#include <ergon/node/process_state/watcher_list.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <kit/one_thread.h>

namespace ergon::node {
namespace {

struct CountedWatcherKey {
  static inline std::uint64_t looks = 0;
  std::uint64_t operator()(const Watcher& watcher) const {
    ++looks;
    return watcher.ref.id;
  }
};
using CountedWatchers = WatcherList<CountedWatcherKey>;

Watcher WatcherOf(std::uint64_t ref, const gen::Target& what, std::uint64_t pid = 1,
                  bool is_link = false) {
  return {gen::PID{pid, "far@h", 7}, gen::Ref{ref, "own@h", 1}, what, is_link};
}

template <class Watchers>
std::vector<std::uint64_t> RefsOf(const Watchers& watchers) {
  std::vector<std::uint64_t> refs;
  for (const Watcher& watcher : watchers) refs.push_back(watcher.ref.id);
  return refs;
}

}  // namespace

TEST_CASE("watcher list: it is what a vector would be" * kit::OneThread()) {
  const std::vector<gen::Target> whats = {gen::PID{5, "own@h", 1}, gen::ProcessID{"one", "own@h"},
                                          gen::ProcessID{"two", {}}, gen::Alias{4, "own@h", 1},
                                          gen::Alias{9, "own@h", 1}};
  std::mt19937 random(1);
  CountedWatchers list;
  std::vector<Watcher> expected;
  const auto check_taken = [&](const std::vector<Watcher>& taken, auto&& is) {
    std::vector<Watcher> wanted;
    std::copy_if(expected.begin(), expected.end(), std::back_inserter(wanted), is);
    CHECK(RefsOf(taken) == RefsOf(wanted));
    std::erase_if(expected, is);
  };
  for (std::uint64_t step = 1; step < 20'000; ++step) {
    const gen::Target& what = whats[random() % whats.size()];
    const gen::PID pid{1 + random() % 20, "far@h", 7};
    switch (random() % 40) {
      case 0:
        check_taken(list.TakeOf(what.Tag()), [&](const Watcher& watcher) {
          return what.Tag() != 0 && watcher.what.Tag() == what.Tag();
        });
        break;
      case 1:
      case 2:
        check_taken(list.TakeLinksOf(pid),
                    [&](const Watcher& watcher) { return watcher.is_link && watcher.pid == pid; });
        break;
      default: {
        const std::uint64_t ref = 1 + random() % step;
        const auto is_it = [&](const Watcher& watcher) { return watcher.ref.id == ref; };
        if (random() % 2 == 0) {
          const auto watcher =
              WatcherOf(step, what, pid.id, what.AsPID() == nullptr && random() % 2 == 0);
          list.push_back(watcher);
          expected.push_back(watcher);
        } else {
          CHECK(list.Remove(ref) == (std::erase_if(expected, is_it) == 1));
        }
      }
    }
    REQUIRE(list.size() == expected.size());
    if (step % 100 == 0) REQUIRE(RefsOf(list) == RefsOf(expected));
  }
}

TEST_CASE("watcher list: a name or an alias that goes costs those that came by it") {
  constexpr std::uint64_t kMany = 100'000;
  CountedWatchers list;
  for (std::uint64_t ref = 1; ref <= kMany; ++ref) {
    list.push_back(WatcherOf(ref, gen::PID{5, "own@h", 1}));
  }
  CountedWatcherKey::looks = 0;
  for (std::uint64_t id = 1; id <= 1000; ++id) {
    const gen::Alias alias{id, "own@h", 1};
    list.push_back(WatcherOf(kMany + id, alias, id, true));
    CHECK(list.TakeOf(gen::Target(gen::Alias{kMany + id, "own@h", 1}).Tag()).empty());
    CHECK(list.TakeLinksOf(gen::PID{kMany + id, "far@h", 7}).empty());
    if (id % 2 == 0) {
      CHECK(list.TakeOf(gen::Target(alias).Tag()).size() == 1);
    } else {
      CHECK(list.TakeLinksOf(gen::PID{id, "far@h", 7}).size() == 1);
    }
  }
  CHECK(CountedWatcherKey::looks < 20'000);
  CHECK(list.size() == kMany);
}

}  // namespace ergon::node
