// Some files to be summed up together: what the walk hands to a worker in one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "problem.h"
#include "sha256_format.h"

namespace treesum {

// A small file takes less time to sum up than a message to a sleeping worker does to arrive, so
// files travel in batches. The paths share one string: a batch costs a few allocations however many
// files it has.
class FileBatch {
 public:
  struct File {
    const char* path;
    std::uint64_t size;  // when the walk came by
  };

  void Add(std::string_view path, std::uint64_t size) {
    entries_.push_back({paths_.size(), size});
    paths_ += path;
    paths_ += '\0';
    bytes_ += size;
  }
  // A problem of the walk that is reported between the files before and after this batch.
  void Add(Problem problem) {
    problem_text_ += problem.path.size() + problem.reason.size();
    problems_.push_back(std::move(problem));
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] File operator[](std::size_t index) const {
    return {paths_.data() + entries_[index].offset, entries_[index].size};
  }
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

  [[nodiscard]] bool empty() const { return entries_.empty() && problems_.empty(); }
  // Small batches keep all workers busy, big ones cost fewer messages.
  [[nodiscard]] bool full() const {
    return bytes_ >= kMaxBytes || entries_.size() + problems_.size() >= kMaxEntries;
  }
  // About the memory that the batch takes from here to the output.
  [[nodiscard]] std::uint64_t weight() const {
    return paths_.size() + entries_.size() * kLineOverhead + problem_text_;
  }

 private:
  static constexpr std::uint64_t kMaxBytes = 1024 * 1024;
  static constexpr std::size_t kMaxEntries = 64;

  struct Entry {
    std::size_t offset;
    std::uint64_t size;
  };
  std::string paths_;  // each with a zero at its end
  std::vector<Entry> entries_;
  std::vector<Problem> problems_;
  std::uint64_t bytes_ = 0;
  std::uint64_t problem_text_ = 0;
};

}  // namespace treesum
