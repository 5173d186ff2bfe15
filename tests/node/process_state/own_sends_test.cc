#include <ergon/node/process_state/own_sends.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node {
namespace {

using Entry = OwnSends::Entry;

std::vector<Entry*> TakeAll(OwnSends& sends) {
  std::vector<Entry*> taken;
  while (sends.TakeEnding([&](Entry& entry) { taken.push_back(&entry); })) {
  }
  return taken;
}

TEST_CASE("own sends: what is on the list is taken once, the newest first") {
  OwnSends sends;
  std::array<Entry, 3> entries;
  for (Entry& entry : entries) sends.Add(entry);
  CHECK(TakeAll(sends).empty());  // nothing ends yet
  sends.BeginToEnd();
  CHECK(TakeAll(sends) == std::vector{&entries[2], &entries[1], &entries[0]});
  CHECK(TakeAll(sends).empty());
  sends.BeginToEnd();
  CHECK(TakeAll(sends).empty());
}

TEST_CASE("own sends: each place of the list may be removed, before the end begins and after") {
  for (const bool is_ending : {false, true}) {
    for (std::size_t removed = 0; removed < 3; ++removed) {
      CAPTURE(is_ending);
      CAPTURE(removed);
      OwnSends sends;
      std::array<Entry, 3> entries;
      for (Entry& entry : entries) sends.Add(entry);
      if (is_ending) sends.BeginToEnd();
      sends.Remove(entries[removed]);
      sends.Remove(entries[removed]);  // it is not there any more
      if (!is_ending) sends.BeginToEnd();
      std::vector<Entry*> left;
      for (std::size_t i = entries.size(); i-- > 0;) {
        if (i != removed) left.push_back(&entries[i]);
      }
      CHECK(TakeAll(sends) == left);
    }
  }
}

TEST_CASE("own sends: what is added while they are taken is not taken with them") {
  OwnSends sends;
  Entry former;
  Entry next;
  sends.Add(former);
  sends.BeginToEnd();
  sends.Add(next);  // as by a destructor of what was taken
  CHECK(TakeAll(sends) == std::vector{&former});
  sends.Remove(former);
  sends.BeginToEnd();
  CHECK(TakeAll(sends) == std::vector{&next});
}

TEST_CASE("own sends: others remove entries while they are taken: each is one's or the other's") {
  constexpr int kRounds = 2'000;
  for (int round = 0; round < kRounds; ++round) {
    OwnSends sends;
    std::array<Entry, 4> entries;
    for (Entry& entry : entries) sends.Add(entry);
    std::atomic<bool> begun = false;
    std::jthread remover([&] {
      while (!begun) {
      }
      for (Entry& entry : entries) sends.Remove(entry);
    });
    begun = true;
    sends.BeginToEnd();
    const std::vector<Entry*> taken = TakeAll(sends);
    remover.join();
    CHECK(TakeAll(sends).empty());
    for (Entry& entry : entries) CHECK(entry.place == nullptr);
    // The newest first, and none twice.
    CHECK(std::ranges::is_sorted(taken, std::ranges::greater()));
    CHECK(std::ranges::adjacent_find(taken) == taken.end());
  }
}

}  // namespace
}  // namespace ergon::node
