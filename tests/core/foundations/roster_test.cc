#include <ergon/core/foundations/roster.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::core::roster_test {
namespace {

std::vector<const void*> Present(const Roster& roster) {
  std::vector<const void*> present;
  for (const Roster::Place* place = roster.first().load(); place != nullptr; place = place->next) {
    if (place->who.load() != nullptr) present.push_back(place->who.load());
  }
  return present;
}

std::size_t Places(const Roster& roster) {
  std::size_t places = 0;
  for (const Roster::Place* place = roster.first().load(); place != nullptr; place = place->next) {
    ++places;
  }
  return places;
}

}  // namespace

TEST_CASE("roster: who is there, and whose place is taken again") {
  static Roster roster;
  const int people[3] = {};
  CHECK(Present(roster).empty());
  {
    const OnRoster first(roster, &people[0]);
    CHECK(Present(roster) == std::vector<const void*>{&people[0]});
    {
      const OnRoster second(roster, &people[1]);
      CHECK(Present(roster) == std::vector<const void*>{&people[1], &people[0]});
    }
    const OnRoster third(roster, &people[2]);
    CHECK(Present(roster) == std::vector<const void*>{&people[2], &people[0]});
  }
  CHECK(Present(roster).empty());
  CHECK(Places(roster) == 2);
}

TEST_CASE("roster: many threads come and go, and those who stay are there once") {
  static Roster roster;
  constexpr int kThreads = 4;
  static const int people[kThreads] = {};
  static const int visitors[kThreads] = {};
  std::vector<std::unique_ptr<OnRoster>> staying(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&staying, i] {
      for (int k = 0; k < 1000; ++k) {
        const OnRoster visit(roster, &visitors[i]);
        if (k == 500) staying[i] = std::make_unique<OnRoster>(roster, &people[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<const void*> present = Present(roster);
  CHECK(present.size() == kThreads);
  CHECK(std::set<const void*>(present.begin(), present.end()).size() == kThreads);
  for (const int& person : people) {
    CHECK(std::find(present.begin(), present.end(), &person) != present.end());
  }
  CHECK(Places(roster) <= 2 * kThreads);  // of the one who stays, and of the one who comes and goes
}

}  // namespace ergon::core::roster_test
