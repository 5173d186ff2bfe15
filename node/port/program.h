// A program of the operating system that this one has started: how it begins, how it is told to end, how it ended.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include <sys/types.h>

#include <ergon/gen/result.h>
#include <ergon/node/io/descriptor.h>
#include <ergon/node/port/messages.h>
#include <ergon/node/port/options.h>

namespace ergon::node {

// Shared by a port and its helpers. Its end kills what has not ended.
class Program {
 public:
  explicit Program(PortOptions options) : options_(std::move(options)) {}
  ~Program() { KillAndWait(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const PortOptions& options() const noexcept { return options_; }

  // Once. Blocks until the program runs, or cannot. kIncorrect: an option; the text is for people.
  gen::Result<void> Start();

  // After Start, for those who use them: this side's ends of the pipes, which do not block; empty: no pipe.
  // `process` can be read from when the program has ended; empty: the system has no such thing.
  Descriptor input;
  Descriptor output;
  Descriptor errors;
  Descriptor process;

  // 0: it was not started.
  [[nodiscard]] pid_t id() const noexcept { return id_; }

  // -- any thread --

  // Whether it has ended. The first look that finds that out kills what is left of its process group, and leaves
  // no zombie.
  bool HasEnded();
  // Whether somebody has found that out: a look that costs nothing.
  [[nodiscard]] bool ended() const noexcept { return ended_.load(); }
  // Sends a signal to the process group; nothing when the program has ended.
  void Signal(int number);
  // Blocks the calling thread until it has ended, for good.
  void KillAndWait();
  // After HasEnded: code and signal.
  [[nodiscard]] PortExit exit() const;

  // The owner need not get any more what it has no room for.
  void SetHurry() noexcept { hurry_.store(true); }
  [[nodiscard]] bool hurry() const noexcept { return hurry_.load(); }

 private:
  [[nodiscard]] gen::Result<void> Check() const;

  const PortOptions options_;
  pid_t id_ = 0;
  mutable std::mutex mutex_;  // of what follows
  PortExit exit_;
  std::atomic<bool> ended_{true};  // or never begun
  std::atomic<bool> hurry_{false};
};

}  // namespace ergon::node
