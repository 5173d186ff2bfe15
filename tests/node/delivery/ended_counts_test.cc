#include <ergon/node/delivery/ended_counts.h>

#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node {
namespace {

// Ends as a process that has sent and handled so many messages.
void NoteEnd(EndedCounts& ended, bool has_failed, int sent, int handled) {
  MessageCounts counts;
  for (int i = 0; i < sent; ++i) counts.Sent();
  for (int i = 0; i < handled; ++i) {
    counts.Taken();
    counts.Handled();
  }
  ended.Note(has_failed, counts);
  CHECK(counts.sent() == 0);
  CHECK(counts.handled() == 0);
}

TEST_CASE("ended counts: what a process has counted is taken over") {
  EndedCounts ended;
  CHECK(ended.processes() == 0);
  NoteEnd(ended, false, 3, 5);
  NoteEnd(ended, true, 0, 2);
  CHECK(ended.processes() == 2);
  CHECK(ended.failed() == 1);
  CHECK(ended.sent() == 3);
  CHECK(ended.handled() == 7);
}

TEST_CASE("ended counts: of more threads than own a stripe") {
  constexpr std::uint64_t kThreads = core::ThreadStripe::kCount + 5;
  constexpr std::uint64_t kEach = 100;
  EndedCounts ended;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t k = 0; k < kEach; ++k) NoteEnd(ended, k % 2 == 0, 1, 2);
      });
    }
  }
  CHECK(ended.processes() == kThreads * kEach);
  CHECK(ended.failed() == kThreads * kEach / 2);
  CHECK(ended.sent() == kThreads * kEach);
  CHECK(ended.handled() == 2 * kThreads * kEach);
}

}  // namespace
}  // namespace ergon::node
