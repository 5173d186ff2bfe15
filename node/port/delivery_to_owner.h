// Messages to a port's owner, no faster than it handles them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// Used in the turns of the process that sends.
class DeliveryToOwner {
 public:
  DeliveryToOwner(gen::Process& self, const Program& program, gen::PID owner)
      : self_(self), program_(program), owner_(owner) {}

  // Sends to the owner. Suspends the process while the owner has no room. Drops a message for an owner that has ended,
  // or that has no room once the program is being killed; and with a warning one that the owner cannot be sent, or
  // whose mailbox throws. Returns false if the process is being ended. Throws std::system_error if no stack is left to
  // wait.
  template <class T>
  bool Send(T message) {
    int looks = 0;
    bool has_paused = false;
    std::chrono::nanoseconds pause = kShortest;
    while (!is_gone_) {
      if ((MayBegin(has_paused) || program_.hurry()) && (IsDone(message) || program_.hurry()))
        return true;
      if (looks < kLooks) {  // an owner that is only busy
        ++looks;
        self_.Yield();
        continue;
      }
      if (!self_.Sleep(pause)) {
        if (IsBeingEnded()) return false;
        throw std::system_error(std::make_error_code(std::errc::not_enough_memory),
                                "what the program has written cannot wait for the owner");
      }
      has_paused = true;
      pause = std::min<std::chrono::nanoseconds>(2 * pause, kLongest);
    }
    return true;
  }

  // Tries once, without a look at PortOptions::window: nothing comes after it. Returns false if the owner may have room
  // later.
  bool TrySendLast(PortExit message) { return IsDone(message); }
  // Returns whether one more message fits into the owner's mailbox, whatever the owner has stashed.
  [[nodiscard]] bool HasRoom() const;

  // The pauses between two tries.
  static constexpr std::chrono::milliseconds kShortest{1};
  static constexpr std::chrono::milliseconds kLongest{64};

 private:
  // Tries once. Returns false if the owner may take the message later; then it is as it was. Also if this process is
  // being ended, when an owner on another node may have got it.
  template <class T>
  bool IsDone(T& message) {
    auto sent = self_.SendImportant(owner_, std::move(message));
    if (sent) return true;
    if (IsForNow(sent.error())) return false;
    // Not the owner's end but this process's: it hears of that next.
    if (gen::HasReceiverEnded(sent.error()) && IsBeingEnded()) return false;
    is_gone_ = IsForAll(sent.error());
    // Otherwise for this message only: its mailbox threw, or on the way to another node there is no form for it.
    if (!is_gone_) {
      self_.Log().Warning("{} does not take a message of the program's: {}", owner_, sent.error());
    }
    return true;
  }

  // Before the first pause, which would be long for an owner that handles a message in a microsecond.
  static constexpr int kLooks = 20;

  // Returns an error if the owner has ended, or lives on another node.
  [[nodiscard]] gen::Result<gen::ProcessInfo> OwnerInfo() const;
  [[nodiscard]] bool IsBeingEnded() { return !self_.Sleep(std::chrono::nanoseconds::zero()); }
  // Returns whether the owner may take the message later. A pool may be overloaded.
  [[nodiscard]] static bool IsForNow(const gen::Error& error) noexcept;
  // Returns whether the owner will take nothing any more: it has ended, or its node is gone.
  [[nodiscard]] static bool IsForAll(const gen::Error& error) noexcept;
  // Looks at the owner's mailbox once for as many messages as there was room for. The next look notices what others
  // have sent to it meanwhile. `has_paused`: the owner has had its time.
  bool MayBegin(bool has_paused);

  gen::Process& self_;
  const Program& program_;
  const gen::PID owner_;
  std::uint64_t room_ = 0;
  bool is_gone_ = false;
};

}  // namespace ergon::node
