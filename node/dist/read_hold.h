// When the input of a peer is not handled, because it does not take what it has asked for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <ergon/node/dist/signal.h>

namespace ergon::dist {

// Whether a signal may make this node say something to the peer: an answer, an acknowledgement, the end of somebody. False
// for messages, for answers to what this node has asked, and for the ends that the peer tells of.
[[nodiscard]] bool MayBeAnswered(const Signal& signal, std::size_t max_depth);

// A peer that asks and does not read must not make this node keep answers without end. So what may be answered is not
// handled, and nothing behind it is read, as long as too many bytes of answers wait to be sent to the peer.
//
// Two nodes that both have too much to say would wait for each other, if both did that strictly. Therefore
//  - what is not answered goes on: an answer of the peer's that is in front of a request is handled, and leaves the room
//    that the peer waits for;
//  - after each kPause without room a little more may wait, up to kMostTimes the bound. As often as not the other one gets
//    through to what it waits for by then.
// What is left is two nodes that have much more in flight than that, each way: like any peer that takes nothing for
// Settings::tick_time, they lose the connection. More could not be told from a peer that means harm.
//
// What is being computed when it begins to hold is sent in any case: the answers to what was read before, at one read.
class ReadHold {
 public:
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::size_t kMostTimes = 4;

  explicit ReadHold(std::size_t bound) noexcept : bound_(bound), allowed_(bound) {}

  // `waiting`: bytes of answers that have not been sent. True: what may be answered has to wait.
  [[nodiscard]] bool Holds(std::size_t waiting) noexcept {
    if (waiting < bound_) allowed_ = bound_;
    return waiting >= allowed_;
  }
  // It has held for kPause.
  void Widen() noexcept { allowed_ = std::min(allowed_ + bound_ / 4, kMostTimes * bound_); }

 private:
  const std::size_t bound_;
  std::size_t allowed_;
};

}  // namespace ergon::dist
