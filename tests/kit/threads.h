// Threads of a test, which end with it, also if it fails.
#pragma once

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace ergon::kit {

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
