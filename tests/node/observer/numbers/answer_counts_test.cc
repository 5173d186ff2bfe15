#include <ergon/node/observer/numbers/answer_counts.h>

#include <doctest/doctest.h>

#include <kit/threads.h>

namespace ergon::node::answer_counts_test {

TEST_CASE("answer counts: by status, of several threads") {
  constexpr int kThreads = 4;
  constexpr int kAnswers = 1'000;
  AnswerCounts counts;
  kit::Threads threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.Start([&] {
      for (int k = 0; k < kAnswers; ++k) {
        counts.Add(200);
        if (k % 2 == 0) counts.Add(404);
      }
    });
  }
  threads.Join();
  CHECK(counts.Of(200) == kThreads * kAnswers);
  CHECK(counts.Of(404) == kThreads * kAnswers / 2);
  CHECK(counts.Of(500) == 0);
}

TEST_CASE("answer counts: a number that is no status counts nowhere") {
  AnswerCounts counts;
  for (const unsigned status : {0u, AnswerCounts::kStatuses - 1, AnswerCounts::kStatuses, ~0u}) {
    counts.Add(status);
  }
  unsigned all = 0;
  for (unsigned status = 0; status < AnswerCounts::kStatuses; ++status) {
    all += static_cast<unsigned>(counts.Of(status));
  }
  CHECK(all == 2);
  CHECK(counts.Of(0) == 1);
  CHECK(counts.Of(AnswerCounts::kStatuses - 1) == 1);
}

}  // namespace ergon::node::answer_counts_test
