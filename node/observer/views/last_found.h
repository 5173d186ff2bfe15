// What was found last, for all who ask for the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace ergon::node {

// When something was asked for, Clock ns.
struct AskedWhen {
  std::int64_t at = 0;
  std::int64_t changed_at =
      0;  // then the node was last changed on request: what was begun before is no answer
};

// One process. Requests wait in line while one is served; with this, all that wait for the same cost as much as one of
// them, and so do all that come within `period` afterwards.
template <class Query, class Found>
class LastFound {
 public:
  // Zero: none gets what is older than its question.
  explicit LastFound(std::chrono::nanoseconds period) : period_(period.count()) {}

  // Returns what was found last, if that is for the same query and new enough; else what `find` returns now. `now`
  // returns the time in Clock ns.
  template <class Now, class Find>
  std::shared_ptr<const Found> For(const Query& query, const AskedWhen& asked, Now now, Find find) {
    if (!Answers(query, asked, now())) {
      found_ = nullptr;  // there should not be two of them
      begun_at_ = now();
      found_ = std::make_shared<const Found>(find());
      query_ = query;
      ended_at_ = now();
    }
    return found_;
  }

 private:
  [[nodiscard]] bool Answers(const Query& query, const AskedWhen& asked, std::int64_t now) const {
    if (found_ == nullptr || !(query == query_)) return false;
    if (begun_at_ > asked.at) return true;
    return period_ != 0 && now - ended_at_ <= period_ && begun_at_ > asked.changed_at;
  }

  const std::int64_t period_;
  std::shared_ptr<const Found> found_;
  Query query_{};
  std::int64_t begun_at_ = 0;
  std::int64_t ended_at_ = 0;
};

}  // namespace ergon::node
