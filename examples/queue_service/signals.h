// Ctrl-C: an orderly stop, and an immediate one.
#pragma once

#include <atomic>
#include <thread>

namespace queue_service {

// The first SIGINT or SIGTERM is noted, the second one ends the program at once. Create it before
// all other threads: they inherit that these signals are not for them.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  // From here on nothing happens.
  ~Signals();

  // The signal that came, or 0.
  [[nodiscard]] const std::atomic<int>& received() const { return received_; }

 private:
  void Wait();

  std::atomic<int> received_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace queue_service
