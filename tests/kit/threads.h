// Threads of a test, which end with it, also if it fails.
#pragma once

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>  // gettid

namespace ergon::kit {

// Whether a thread of this program, by what gettid() returns there, waits for others: for one that is about to call
// what blocks, that it does.
[[nodiscard]] inline bool Sleeps(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("State:")) continue;
  return line.starts_with("State:\tS");
}

class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { StopAndJoin(); }

  template <class F>
  void Start(F function) {
    threads_.emplace_back(std::move(function));
  }
  // Waits until all have returned.
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // Asks those that look at stopped() to return, and waits.
  void StopAndJoin() {
    stop_ = true;
    Join();
  }
  [[nodiscard]] bool stopped() const { return stop_; }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace ergon::kit
