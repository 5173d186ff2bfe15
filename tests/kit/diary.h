// What a process has been told or has done, as lines of text.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ergon::kit {

// As in "start a", "end a: normal". Any thread.
class Diary {
 public:
  void Add(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] std::vector<std::string> Lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  // Those so far, which are forgotten.
  std::vector<std::string> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace ergon::kit
