// Random traffic from one sender: a process, or a thread outside of processes.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include <ergon/gen/messenger.h>
#include <ergon/gen/node.h>

#include <soak/caller.h>
#include <soak/stage.h>

namespace ergon::soak {

// Somewhere to send to.
struct Destination {
  const Post* post = nullptr;
  gen::Atom name = {};  // empty: it has none
};

class Driver {
 public:
  // All of them outlive the driver.
  Driver(Stage& stage, Book& book, const std::vector<Destination>& destinations,
         std::uint64_t seed);

  // A few random actions. False: so many messages are out that it had better wait.
  bool Act(gen::Messenger& messenger);
  // As Act, with calls that do not wait.
  bool ActOutside(gen::Node& node);

 private:
  struct Timer {
    gen::TimerHandle handle;
    IncarnationPtr incarnation;
  };

  // A number below `limit`.
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  std::chrono::microseconds UpTo(int microseconds);
  [[nodiscard]] Errand MessageErrand();
  [[nodiscard]] Errand RequestErrand();
  [[nodiscard]] std::chrono::microseconds CallTimeout();
  void SendSome(gen::Messenger& messenger);
  void CallOnce(gen::Messenger& messenger);
  void Delay(gen::Messenger& messenger);
  void CancelOne();

  Stage& stage_;
  Book& book_;
  const std::vector<Destination>& destinations_;
  std::mt19937_64 random_;
  std::deque<Timer> timers_;
};

}  // namespace ergon::soak
