// What a peer has asked for and does not get yet, because it does not take what it was answered before.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Whether a signal may make this node say something to the peer: an answer, an acknowledgement, the end of somebody. False
// for messages, for answers to what this node has asked, and for the ends that the peer tells of.
[[nodiscard]] bool MayBeAnswered(const Signal& signal, std::size_t max_depth);

// A peer that asks and does not read must not make this node keep answers without end. So what may be answered is put aside
// as long as too many bytes of answers wait to be sent to the peer, and so is what its sender sends afterwards: signals
// from one process to another stay in their order. With too many bytes put aside, nothing is read any more.
//
// Reading goes on before that because of two nodes that both have much to say: each waits for the other one to read, and
// what lets the other one go on are the answers and the acknowledgements behind its questions. Two that have more questions
// under way than may be put aside, each way, would wait for each other for ever; like any peer that takes nothing for
// Settings::tick_time, they lose the connection. They could not be told from a peer that means harm.
//
// What is being computed when it begins to hold is sent in any case: the answers to what was handled before.
class ReadHold {
 public:
  static constexpr std::size_t kMostTimes = 2;

  // So many bytes of answers may wait, and kMostTimes as many may be put aside.
  explicit ReadHold(std::size_t bound) noexcept : bound_(bound) {}

  // `waiting`: bytes of answers that have not been sent.
  [[nodiscard]] bool Holds(std::size_t waiting) const noexcept { return waiting >= bound_; }
  [[nodiscard]] bool IsEmpty() const noexcept { return frames_.empty(); }
  // Whether a signal has to be put aside; asked while it holds, or something is put aside.
  [[nodiscard]] bool IsFor(const Signal& signal, std::size_t max_depth) const {
    return senders_.contains(signal.from) || MayBeAnswered(signal, max_depth);
  }
  // A frame, with its length, of a signal. False: there is no room for it.
  bool Put(std::string_view frame, gen::PID from);
  // The first frame that was put aside, with its length; valid until the next call.
  [[nodiscard]] std::string_view First() const;
  void RemoveFirst();

 private:
  const std::size_t bound_;
  std::string frames_;          // one after the other
  std::size_t first_ = 0;       // where the first one is; those before have been removed
  std::set<gen::PID> senders_;  // since there was none the last time
};

}  // namespace ergon::dist
