// Requests of a peer that are not handled yet, because the peer does not take the earlier answers.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Returns whether a signal may make this node send something to the peer: an answer, an acknowledgement, the end of a
// process. False for messages, for answers to requests of this node, and for ends of the peer's processes. Answers to
// requests that this node has not made are not looked at here, see Connection.
[[nodiscard]] bool MayBeAnswered(const Signal& signal, std::size_t max_depth);

// A peer that asks and does not read must not make this node keep answers without end. So signals that may be answered
// are put aside while too many bytes of answers wait to be sent to the peer. Later signals of the same sender are put
// aside, too, because signals from one process to another stay in their order; and so are the end of a process that is
// monitored by its name, and messages of peers that do not name their senders, because these could be of a process
// whose signals are put aside. When too many bytes are put aside, nothing is read any more.
//
// Until then reading goes on, because of two nodes that both have much to send: each waits for the other to read, and
// the answers and acknowledgements behind the other's questions let the other go on. Two nodes that have more questions
// under way than may be put aside, in both directions, would wait for each other for ever. Like any peer that takes
// nothing for Settings::tick_time, they lose the connection, because they cannot be told from a peer that means harm.
//
// Answers that are being computed when the hold begins are sent in any case: they belong to signals handled before.
class ReadHold {
 public:
  static constexpr std::size_t kMostTimes = 2;

  // `bound`: how many bytes of answers may wait. kMostTimes as many bytes may be put aside.
  explicit ReadHold(std::size_t bound) noexcept : bound_(bound) {}

  [[nodiscard]] bool IsEmpty() const noexcept { return blocks_.empty(); }
  // Returns the bytes that are put aside.
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  // Returns how many processes have sent them.
  [[nodiscard]] std::size_t Senders() const noexcept { return senders_.size(); }
  // Returns whether a signal has to be put aside. Called while too many answers wait, or while something is put aside.
  [[nodiscard]] bool IsFor(const Signal& signal, std::size_t max_depth) const {
    const bool may_name_nobody =
        signal.kind == SignalKind::kDown || signal.kind == SignalKind::kSend ||
        signal.kind == SignalKind::kSendToName || signal.kind == SignalKind::kSendToAlias;
    const bool is_of_nobody = may_name_nobody && !signal.from && !IsEmpty();
    const bool is_of_held = signal.from && senders_.contains(SenderOf(signal));
    return is_of_nobody || is_of_held || MayBeAnswered(signal, max_depth);
  }
  // Returns whose signal it is, for Put. The processes of third nodes go without their nodes, whose names may become
  // known between two of their messages.
  [[nodiscard]] static gen::PID SenderOf(const Signal& signal) {
    gen::PID from = signal.from;
    if (signal.is_of_another) from.node = {};
    return from;
  }
  // Puts the frame of a signal aside, with its length. Returns false if there is no room for it.
  bool Put(std::string_view frame, gen::PID sender);
  // Returns whether the frame that was refused last need not be refused again, for which it would be parsed anew: it
  // fits, or nothing is put aside.
  [[nodiscard]] bool HasRoomForRefused() const noexcept {
    return IsEmpty() || bytes_ + refused_ <= kMostTimes * bound_;
  }
  // Returns the first frame that was put aside, with its length; valid until the next call.
  [[nodiscard]] std::string_view First() const;
  void RemoveFirst();

 private:
  const std::size_t bound_;
  // One after the other, in blocks: a string that grows would leave pieces of memory behind that nothing else fits in.
  std::deque<std::string> blocks_;
  std::size_t first_ = 0;       // where the first frame begins; those before it have been removed
  std::size_t bytes_ = 0;       // of all frames
  std::size_t refused_ = 0;     // of the frame that was refused last
  std::deque<gen::PID> order_;  // the sender of each frame
  // How many frames of each sender there are. A peer that never lets this become empty may have any number of
  // processes.
  std::map<gen::PID, std::size_t> senders_;
};

}  // namespace ergon::dist
