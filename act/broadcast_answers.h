// The answers of all workers of a pool to one request.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/message.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/response.h>
#include <ergon/gen/result.h>

namespace ergon::act {

// The answer to a request that a pool passes on to all its workers (PoolStrategy::Broadcast): one outcome for
// each worker that was ready, in the order of their places. Move-only.
//
//   auto answers = node.Call<act::BroadcastAnswers>(pool, CacheSize{});
//   for (auto& [worker, size] : answers.value().Take<int>()) ...
class BroadcastAnswers {
 public:
  template <class T>
  struct Outcome {
    gen::PID worker;
    // The answer, or an error: kProcessTerminated if the worker ended first, kProcessMailboxFull if its mailbox
    // was full, kTimeout if it did not answer in time, kUnexpectedType if its answer is no T, or the error that
    // it answered with.
    gen::Result<T> result;
  };

  [[nodiscard]] std::size_t size() const noexcept { return answers_.size(); }
  // Moves all outcomes out and leaves none.
  template <class T>
  [[nodiscard]] std::vector<Outcome<T>> Take() {
    std::vector<Outcome<T>> outcomes;
    outcomes.reserve(answers_.size());
    for (auto& [worker, answer] : std::exchange(answers_, {})) {
      outcomes.push_back({worker, gen::Response(*answer).Take<T>()});
    }
    return outcomes;
  }

  // -- for the pool --

  // Adds an entry and returns its number. If `answer` is null, Set adds it later.
  std::size_t Add(gen::PID worker, core::EnvelopePtr answer) {
    answers_.emplace_back(worker, std::move(answer));
    return answers_.size() - 1;
  }
  void Set(std::size_t entry, core::EnvelopePtr answer) {
    answers_[entry].second = std::move(answer);
  }

 private:
  std::vector<std::pair<gen::PID, core::EnvelopePtr>> answers_;
};

}  // namespace ergon::act
