// What was found last, for all who have asked for the same meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace ergon::node {

// One process. Requests wait in line while one is served; with this, all that wait for the same cost as much as one of
// them, and none gets what is older than its question.
template <class Query, class Found>
class LastFound {
 public:
  // Returns what was found last, if that is for the same query and was begun after `asked_at`; else what `find` returns
  // now. Times in Clock ns.
  template <class Find>
  std::shared_ptr<const Found> For(const Query& query, std::int64_t asked_at, std::int64_t now,
                                   Find find) {
    if (found_ == nullptr || !(query == query_) || begun_at_ <= asked_at) {
      found_ = nullptr;  // there should not be two of them
      found_ = std::make_shared<const Found>(find());
      query_ = query;
      begun_at_ = now;
    }
    return found_;
  }

 private:
  std::shared_ptr<const Found> found_;
  Query query_{};
  std::int64_t begun_at_ = 0;
};

}  // namespace ergon::node
