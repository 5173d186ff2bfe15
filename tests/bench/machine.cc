#include <bench/machine.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

namespace ergon::bench {
namespace {

constexpr int kRoundTrips = 20'000;

void PinTo(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  // Without the right to choose its core the figure is that of any two cores.
  (void)pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
}

double OneLineRoundTrip() {
  alignas(128) std::atomic<int> line{0};
  std::int64_t start = 0;
  std::thread answering([&] {
    PinTo(1);
    line.store(-1, std::memory_order_release);
    for (int i = 0; i < kRoundTrips; ++i) {
      while (line.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      line.store(2 * i + 2, std::memory_order_release);
    }
  });
  std::thread asking([&] {
    PinTo(0);
    while (line.load(std::memory_order_acquire) != -1) {
    }
    start = Now();
    for (int i = 0; i < kRoundTrips; ++i) {
      line.store(2 * i + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * i + 2) {
      }
    }
    start = Now() - start;
  });
  asking.join();
  answering.join();
  return static_cast<double>(start) / kRoundTrips;
}

}  // namespace

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::int64_t ResidentBytes() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int fields = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return fields == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

double LineRoundTrip() {
  if (std::thread::hardware_concurrency() < 2) return 0;
  double best = OneLineRoundTrip();
  for (int i = 0; i < 4; ++i) best = std::min(best, OneLineRoundTrip());
  return best;
}

std::uint64_t Work(std::uint64_t seed, std::int64_t iterations) {
  std::uint64_t x = seed | 1;
  for (std::int64_t i = 0; i < iterations; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    asm volatile("" : "+r"(x));
  }
  return x;
}

double IterationsPerMicrosecond() {
  static const double kResult = [] {
    // Short, so that one of them is undisturbed also where others use the processors.
    constexpr std::int64_t kIterations = 100'000;
    double best = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t start = Now();
      (void)Work(static_cast<std::uint64_t>(i), kIterations);
      best = std::max(best, kIterations * 1000.0 / static_cast<double>(Now() - start));
    }
    return best;
  }();
  return kResult;
}

}  // namespace ergon::bench
