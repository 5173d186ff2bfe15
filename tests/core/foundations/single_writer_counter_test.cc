#include <ergon/core/foundations/single_writer_counter.h>

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

namespace ergon::core::single_writer_counter_test {
namespace {

TEST_CASE("single writer counter: counts, and begins again") {
  SingleWriterCounter counter;
  CHECK(counter.Read() == 0);
  for (int i = 0; i < 1000; ++i) counter.Add();
  counter.AddAndRelease();
  CHECK(counter.Read() == 1001);
  counter.Reset();
  CHECK(counter.Read() == 0);
}

TEST_CASE("single writer counter: others see it rise, and what was written before a release") {
  constexpr std::uint64_t kAdditions = 100'000;
  SingleWriterCounter counter;
  SingleWriterCounter releasing;
  std::uint64_t written = 0;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kAdditions; ++i) counter.Add();
    written = kAdditions;
    releasing.AddAndRelease();
  });
  std::uint64_t last = 0;
  bool rises = true;
  while (releasing.Acquire() == 0) {
    const std::uint64_t now = counter.Read();
    rises = rises && now >= last;
    last = now;
  }
  CHECK(written == kAdditions);
  CHECK(counter.Read() == kAdditions);
  CHECK(rises);
  writer.join();
}

}  // namespace
}  // namespace ergon::core::single_writer_counter_test
