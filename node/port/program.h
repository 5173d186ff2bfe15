// A program of the operating system that this one has started: its start, the signals to it, and its end.
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

// Shared by a port and its helpers. Its destructor kills the program if that has not ended.
class Program {
 public:
  explicit Program(PortOptions options) : options_(std::move(options)) {}
  ~Program() { KillAndWait(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const PortOptions& options() const noexcept { return options_; }

  // Starts the program, once. Blocks until it runs, or cannot. Returns kIncorrect for an option; the text is for
  // people.
  gen::Result<void> Start();

  // After Start: this side's ends of the pipes, which do not block; empty: no pipe. `process` can be read from when the
  // program has ended; empty: the system has no such thing.
  Descriptor input;
  Descriptor output;
  Descriptor errors;
  Descriptor process;

  // Returns the number of the process; 0: it was not started.
  [[nodiscard]] pid_t id() const noexcept { return id_; }

  // -- any thread --

  // Returns whether the program has ended. The first look that finds that out kills what is left of its process group,
  // and leaves no zombie.
  bool HasEnded();
  // Returns whether such a look has found that out; costs nothing.
  [[nodiscard]] bool ended() const noexcept { return ended_.load(); }
  // Sends a signal to the process group, and to the program if it has left the group; does nothing when the program has
  // ended. Returns false if the program takes none from this user.
  bool Signal(int number);
  // Kills the program, and blocks the calling thread until it has ended, unless it takes no signal.
  void KillAndWait();
  // Returns code and signal, after HasEnded.
  [[nodiscard]] PortExit exit() const;

  // Notes that the program is being killed: messages for which the owner has no room may be dropped.
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
