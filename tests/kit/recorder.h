// What was handled, by whom, for whom.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::kit {

struct Record {
  gen::PID worker;
  gen::PID from;
  int value = 0;
};

// In the order of the calls of Add. Any thread.
class Recorder {
 public:
  void Add(gen::PID worker, gen::PID from, int value) {
    std::lock_guard lock(mutex_);
    records_.push_back({worker, from, value});
  }
  void Clear() {
    std::lock_guard lock(mutex_);
    records_.clear();
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return records_.size();
  }
  [[nodiscard]] std::vector<Record> All() const {
    std::lock_guard lock(mutex_);
    return records_;
  }
  // The values, in the order in which they were handled.
  [[nodiscard]] std::vector<int> Values() const {
    std::vector<int> values;
    for (const Record& record : All()) values.push_back(record.value);
    return values;
  }
  [[nodiscard]] std::vector<int> SortedValues() const {
    std::vector<int> values = Values();
    std::sort(values.begin(), values.end());
    return values;
  }
  // Those that one worker handled.
  [[nodiscard]] std::vector<int> ValuesOf(gen::PID worker) const {
    std::vector<int> values;
    for (const Record& record : All()) {
      if (record.worker == worker) values.push_back(record.value);
    }
    return values;
  }
  // Who handled `value`, in the order in which it happened.
  [[nodiscard]] std::vector<gen::PID> WorkersOf(int value) const {
    std::vector<gen::PID> workers;
    for (const Record& record : All()) {
      if (record.value == value) workers.push_back(record.worker);
    }
    return workers;
  }
  // The one who handled `value`; nobody unless it was exactly one.
  [[nodiscard]] gen::PID WorkerOf(int value) const {
    const std::vector<gen::PID> workers = WorkersOf(value);
    return workers.size() == 1 ? workers[0] : gen::PID();
  }
  [[nodiscard]] std::size_t Times(int value) const { return WorkersOf(value).size(); }
  [[nodiscard]] bool Has(int value) const { return Times(value) > 0; }

 private:
  mutable std::mutex mutex_;
  std::vector<Record> records_;
};

// first, first + 1, ... : `count` values.
[[nodiscard]] inline std::vector<int> Sequence(int first, int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return values;
}

}  // namespace ergon::kit
