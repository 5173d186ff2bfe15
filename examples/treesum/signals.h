// Ctrl-C: an orderly stop, within a second.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace treesum {

// SIGINT and SIGTERM request a stop. When the program has not come to its end a little later (a
// file system or a reader of the output that does not answer), or a second signal comes, `on_stuck`
// is called and the program exits at once.
//
// Create it before all other threads: they inherit that these signals are not for them.
class Signals {
 public:
  Signals(std::stop_source stop, std::function<void()> on_stuck);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  // From here on nothing happens.
  ~Signals();

  // The signal that requested the stop; 0: none did.
  [[nodiscard]] int received() const { return received_; }
  // As shells report it: 130 for SIGINT, 143 for SIGTERM.
  [[nodiscard]] static int ExitStatus(int signal) { return 128 + signal; }

 private:
  void Wait();

  std::stop_source stop_;
  std::function<void()> on_stuck_;
  std::atomic<int> received_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace treesum
