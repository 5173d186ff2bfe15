// A recording, as its tests read it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <ergon/core/dispatcher.h>

#include <kit/eventually.h>
#include <node/observer/json.h>

namespace ergon::node::trace_file_test {

using observer_test::Tree;

// A path of this test's own.
class Path {
 public:
  Path()
      : path_((std::filesystem::temp_directory_path() /
               ("ergon_trace_" + std::to_string(::getpid()) + ".json"))
                  .string()) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& text() const { return path_; }
  // Throws for what is no JSON.
  [[nodiscard]] std::vector<Tree> Events() const {
    std::ifstream file(path_);
    Tree tree;
    boost::property_tree::read_json(file, tree);
    std::vector<Tree> events;
    for (const auto& [unused, event] : tree) events.push_back(event);
    return events;
  }

 private:
  const std::string path_;
};

struct Slice {
  std::string name;
  std::string category;
  int group;
  int track;
  double begin;
  double end;
  std::string of;
};
inline std::vector<Slice> Slices(const std::vector<Tree>& events) {
  std::vector<Slice> slices;
  for (const Tree& event : events) {
    if (event.get<std::string>("ph") != "X") continue;
    const double begin = event.get<double>("ts");
    slices.push_back({event.get<std::string>("name"), event.get<std::string>("cat"),
                      event.get<int>("pid"), event.get<int>("tid"), begin,
                      begin + event.get<double>("dur"), event.get<std::string>("args.of", "")});
  }
  return slices;
}
// The label of each track of a group.
inline std::map<int, std::string> Labels(const std::vector<Tree>& events, int group) {
  std::map<int, std::string> labels;
  for (const Tree& event : events) {
    if (event.get<std::string>("name") != "thread_name" || event.get<int>("pid") != group) continue;
    CHECK(labels.emplace(event.get<int>("tid"), event.get<std::string>("args.name")).second);
  }
  return labels;
}
inline constexpr double kRounding = 0.001;  // microseconds
inline bool IsWithin(const Slice& inner, const Slice& outer) {
  return inner.begin >= outer.begin - kRounding && inner.end <= outer.end + kRounding;
}
// Of two slices of a track one is within the other, or they do not overlap.
inline void CheckNesting(std::vector<Slice> slices) {
  for (const Slice& slice : slices) CHECK(slice.end >= slice.begin);
  std::sort(slices.begin(), slices.end(), [](const Slice& left, const Slice& right) {
    return std::pair(left.begin, -left.end) < std::pair(right.begin, -right.end);
  });
  std::map<std::pair<int, int>, std::vector<Slice>> open;
  int wrong = 0;
  for (const Slice& slice : slices) {
    auto& outer = open[{slice.group, slice.track}];
    while (!outer.empty() && outer.back().end <= slice.begin + kRounding) outer.pop_back();
    if (!outer.empty() && !IsWithin(slice, outer.back())) ++wrong;
    outer.push_back(slice);
  }
  CHECK(wrong == 0);
}

// A moment at which a process has sent something.
struct Moment {
  std::string name;
  int track;
  double at;
  std::string to;
  std::string trace;
};
inline std::vector<Moment> Moments(const std::vector<Tree>& events) {
  std::vector<Moment> moments;
  for (const Tree& event : events) {
    if (event.get<std::string>("ph") != "i") continue;
    CHECK(event.get<std::string>("s") == "t");
    CHECK(event.get<std::string>("cat") == "sends");
    CHECK(event.get<int>("pid") == 2);
    CHECK(!event.get_optional<double>("dur"));
    moments.push_back({event.get<std::string>("name"), event.get<int>("tid"),
                       event.get<double>("ts"), event.get<std::string>("args.to"),
                       event.get<std::string>("args.trace", "")});
  }
  return moments;
}

// Counts turns.
class Counting : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable&, int) override { begun.fetch_add(1); }
  void AfterTurn(core::Schedulable&, int, core::TurnEnd) override { ended.fetch_add(1); }
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};

  // Of the turns that have begun one has not ended. Those that have are recorded: the hooks of the user come after
  // that.
  [[nodiscard]] bool OnlyOneRuns() const {
    const std::uint64_t before = begun;
    return before == ended + 1;
  }
  // Each turn has ended, and is recorded.
  [[nodiscard]] bool EventuallyQuiet() {
    return kit::Eventually([this] {
      const std::uint64_t done = ended;
      return begun == done;
    });
  }
};

}  // namespace ergon::node::trace_file_test
