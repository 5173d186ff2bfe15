// Messages to a port's owner, no faster than it handles them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// Used in the turns of the process that sends.
class DeliveryToOwner {
 public:
  DeliveryToOwner(gen::Process& self, const Program& program, gen::PID owner)
      : self_(self), program_(program), owner_(owner) {}

  // Sends to the owner. Suspends the process while the owner has no room. Drops a message for an owner that has ended,
  // whose mailbox throws, or that has no room once the program is being killed. Returns false if the process is being
  // ended.
  template <class T>
  bool Send(T message) {
    return SendWhen([this] { return MayBegin(); }, std::move(message));
  }
  // Does the same without a look at PortOptions::window: nothing comes after it.
  bool SendLast(const PortExit& message) {
    return SendWhen([this] { return HasRoom(); }, message);
  }

 private:
  template <class MaySend, class T>
  bool SendWhen(const MaySend& may_send, T message) {
    int looks = 0;
    std::chrono::nanoseconds pause = kShortest;
    while (!is_gone_) {
      if (may_send() || program_.hurry()) {
        // A refused value is as it was.
        auto sent =
            self_.SendImportant(owner_, std::move(message));  // NOLINT(bugprone-use-after-move)
        if (sent) return true;
        const gen::ErrorCode code = sent.error().code();
        // Its mailbox threw, as it may for this message only.
        if (code == gen::ErrorCode::kInternal) {
          self_.Log().Warning("{} does not take a message of the program's: {}", owner_,
                              sent.error());
          return true;
        }
        is_gone_ = !IsForNow(code);
        if (is_gone_ || program_.hurry()) return true;
      }
      if (looks < kLooks) {  // an owner that is only busy
        ++looks;
        self_.Yield();
        continue;
      }
      if (!self_.Sleep(pause)) return false;
      pause = std::min<std::chrono::nanoseconds>(2 * pause, kLongest);
    }
    return true;
  }

  // Before the first pause, which would be long for an owner that handles a message in a microsecond.
  static constexpr int kLooks = 20;
  static constexpr std::chrono::milliseconds kShortest{1};
  static constexpr std::chrono::milliseconds kLongest{64};

  // Returns whether the owner may take the message later. A pool may be overloaded.
  [[nodiscard]] static bool IsForNow(gen::ErrorCode code) noexcept;
  // Looks at the owner's mailbox once for as many messages as there was room for. The next look notices what others
  // have sent to it meanwhile.
  bool MayBegin();
  // Returns whether one more message fits into the owner's mailbox, whatever the owner has stashed.
  [[nodiscard]] bool HasRoom() const;

  gen::Process& self_;
  const Program& program_;
  const gen::PID owner_;
  std::uint64_t room_ = 0;
  bool is_gone_ = false;
};

}  // namespace ergon::node
