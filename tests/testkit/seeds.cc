#include <ergon/testkit/seeds.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace ergon::testkit {
namespace {

constexpr int kDeadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction former[std::size(kDeadly)];

// What a signal handler may look at: a text that is complete before the length says so.
char notice[512];
std::atomic<std::size_t> notice_length{0};
int depth = 0;  // of objects within each other: the outermost one keeps the handlers from before

void Show(const std::string& text) {
  notice_length.store(0);
  const std::size_t length = std::min(text.size(), sizeof(notice));
  std::copy_n(text.data(), length, notice);
  notice_length.store(length);
}

std::string Notice(std::uint64_t seed) {
  std::string program = "the test";
  std::ifstream command("/proc/self/cmdline", std::ios::binary);
  if (std::string first; std::getline(command, first, '\0') && !first.empty()) program = first;
  return fmt::format("simulation: failed with seed {0}; run it again with  ERGON_SEED={0} {1}\n",
                     seed, program);
}

void OnDeadlySignal(int signal) {
  const std::size_t length = notice_length.exchange(0);
  if (length != 0 && write(STDERR_FILENO, notice, length) < 0) {
    // There is nobody left to tell.
  }
  // As it was before, and again: the test framework wants to know as well.
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) {
    if (kDeadly[i] == signal) sigaction(signal, &former[i], nullptr);
  }
  raise(signal);
}

std::uint64_t Number(const char* variable, const char* text) {
  std::uint64_t number = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc() || rest != end) {
    throw std::invalid_argument(fmt::format("{}: '{}' is not a number", variable, text));
  }
  return number;
}

// The last of so many seeds. Without any, every test would pass.
std::uint64_t LastOf(std::uint64_t first, const char* variable, const char* text) {
  const std::uint64_t count = Number(variable, text);
  if (count == 0) {
    throw std::invalid_argument(fmt::format("{}: '{}', must be more than 0", variable, text));
  }
  const std::uint64_t after_first = std::numeric_limits<std::uint64_t>::max() - first;
  if (count - 1 > after_first) {
    throw std::invalid_argument(
        fmt::format("{}: '{}', must be at most {}", variable, text, after_first + 1));
  }
  return first + (count - 1);
}

}  // namespace

std::vector<std::uint64_t> SeedsToRun(std::uint64_t first, std::uint64_t last) {
  if (const char* seed = std::getenv("ERGON_SEED")) return {Number("ERGON_SEED", seed)};
  if (const char* count = std::getenv("ERGON_SEED_COUNT")) {
    last = LastOf(first, "ERGON_SEED_COUNT", count);
  }
  if (last < first) {
    throw std::invalid_argument(fmt::format("last: {}, must be at least first, {}", last, first));
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    seeds.push_back(seed);
    if (seed == last) break;  // it may be the last number there is
  }
  return seeds;
}

SeedNotice::SeedNotice(std::uint64_t seed) : former_notice_(notice, notice_length.load()) {
  Show(Notice(seed));
  if (depth++ != 0) return;
  struct sigaction action = {};
  action.sa_handler = &OnDeadlySignal;
  action.sa_flags = SA_ONSTACK;  // a handler whose stack has overflowed has none for this one
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) sigaction(kDeadly[i], &action, &former[i]);
}

SeedNotice::~SeedNotice() {
  Show(former_notice_);
  if (--depth != 0) return;
  for (std::size_t i = 0; i < std::size(kDeadly); ++i) sigaction(kDeadly[i], &former[i], nullptr);
}

void SeedNotice::Print(std::uint64_t seed) {
  const std::string text = Notice(seed);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace ergon::testkit
