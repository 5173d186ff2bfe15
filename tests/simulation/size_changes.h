// How the number of a pool's workers has changed, and the law that it does not go up and down all the time.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace ergon::testkit {

// Why growth is undone.
inline constexpr std::string_view kNoHelp = "throughput no longer rises with workers";

struct SizeChange {
  double at = 0;  // seconds
  int before = 0;
  int after = 0;
  bool is_undone = false;  // for kNoHelp
};

// Checks that these times, in seconds, are at most `more` and one for each period, in any stretch of time.
inline void CheckOneForEachPeriod(const std::vector<double>& times, double period, int more) {
  for (std::size_t first = 0; first < times.size(); ++first) {
    for (std::size_t last = first; last < times.size(); ++last) {
      const double count = static_cast<double>(last - first) + 1;
      const double most = more + (times[last] - times[first]) / period;
      if (count <= most * 1.001) continue;  // it looks now and then
      CAPTURE(times[first]);
      CAPTURE(times[last]);
      CHECK(count <= most);
      return;
    }
  }
}

// Checks that the number changes its direction at most once for each `period`, in seconds, and two: a shrink, and a
// step of the load right after it. Growth that is no help is undone as soon as that is known, which is no turn, but
// happens at most once for each period, too.
inline void CheckTurns(const std::vector<SizeChange>& changes, double period) {
  std::vector<double> turns;
  std::vector<double> undone;
  int direction = 0;
  for (const SizeChange& change : changes) {
    if (change.is_undone) {
      undone.push_back(change.at);
      continue;
    }
    const int now = change.after > change.before ? 1 : -1;
    if (direction != 0 && now != direction) turns.push_back(change.at);
    direction = now;
  }
  CheckOneForEachPeriod(turns, period, 2);
  CheckOneForEachPeriod(undone, period, 1);
}

}  // namespace ergon::testkit
