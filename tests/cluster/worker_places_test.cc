// Where the next worker of a pool is started.
#include <ergon/node/cluster/workers/worker_places.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::dist {
namespace {

constexpr std::int64_t kPause = WorkerPlaces::kFirstPause;

std::shared_ptr<WorkerPlaces> ThreeNodes() {
  return std::make_shared<WorkerPlaces>(std::vector<gen::Atom>{"a@host", "b@host", "c@host"});
}

// Where one would be started now; empty: nowhere.
std::string WhereNext(WorkerPlaces& places, std::int64_t now) {
  std::vector<bool> tried;
  const auto place = places.TakeBest(tried, now);
  return place ? std::string(place->node().Text()) : "";
}

}  // namespace

TEST_CASE("worker places: the node with the fewest workers is next, the first of them") {
  const auto places = ThreeNodes();
  std::vector<std::optional<WorkerPlaces::Place>> taken;
  std::string order;
  for (int i = 0; i < 7; ++i) {
    std::vector<bool> tried;
    taken.push_back(places->TakeBest(tried, 0));
    order += taken.back()->node().Text().front();
  }
  CHECK(order == "abcabca");
  // One on b ends.
  taken[1].reset();
  CHECK(WhereNext(*places, 0) == "b@host");
  taken.clear();
  CHECK(WhereNext(*places, 0) == "a@host");
}

TEST_CASE("worker places: each node is tried once") {
  const auto places = ThreeNodes();
  std::vector<bool> tried;
  std::string order;
  while (const auto place = places->TakeBest(tried, 0)) order += place->node().Text().front();
  CHECK(order == "abc");
}

TEST_CASE("worker places: a node that was not reached is left out, longer and longer") {
  const auto places = ThreeNodes();
  std::int64_t now = 0;
  std::int64_t pause = kPause;
  for (int i = 0; i < 10; ++i) {
    {
      std::vector<bool> tried;
      auto place = places->TakeBest(tried, now);
      REQUIRE(place->node().Text() == "a@host");
      place->NotReached(now);
      place->NotReached(now);  // of another worker, which has found out at the same time
    }
    CHECK(WhereNext(*places, now + pause - 1) == "b@host");
    CHECK(WhereNext(*places, now + pause) == "a@host");
    now += pause;
    pause = std::min(2 * pause, WorkerPlaces::kLongestPause);
  }
  CHECK(WorkerPlaces::kLongestPause == 10'000'000'000);  // as ERLANG.md promises
  std::vector<bool> tried;
  auto place = places->TakeBest(tried, now);
  place->Reached();
  CHECK(WhereNext(*places, now) == "b@host");  // a has one
}

TEST_CASE("worker places: if none was reached, only the one whose pause ends first is tried") {
  const auto places = ThreeNodes();
  std::vector<bool> tried;
  std::int64_t now = 0;
  while (auto place = places->TakeBest(tried, now)) place->NotReached(now++);
  CHECK(now == 3);
  tried.clear();
  auto place = places->TakeBest(tried, now);
  REQUIRE(place);
  CHECK(place->node().Text() == "a@host");
  CHECK(!places->TakeBest(tried, now));
}

}  // namespace ergon::dist
