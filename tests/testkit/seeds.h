// Running a test under many seeds, and saying which one failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ergon::testkit {

// Returns the seeds to run: first..last, or those that the environment asks for:
//   ERGON_SEED=17         only this seed: how to repeat a failure
//   ERGON_SEED_COUNT=N    N seeds, from `first` on: for long runs
// Throws std::invalid_argument when a value is not a number, or there is none to run, naming the value.
std::vector<std::uint64_t> SeedsToRun(std::uint64_t first, std::uint64_t last);

// While this object lives, a program that aborts or crashes prints the seed and how to repeat the run; of several, one
// within the other, the innermost one's. For one thread.
class SeedNotice {
 public:
  explicit SeedNotice(std::uint64_t seed);
  SeedNotice(const SeedNotice&) = delete;
  SeedNotice& operator=(const SeedNotice&) = delete;
  ~SeedNotice();

  // Prints the same on standard error, for a failure that is an exception.
  static void Print(std::uint64_t seed);

 private:
  std::string former_notice_;  // of the object around this one
};

}  // namespace ergon::testkit
