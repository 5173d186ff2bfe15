// Messages from another node that came together, which are made when their receiver takes them.
//
// Memory that one thread allocates and another one gives back passes from one processor's cache to
// the other's twice, and so do the allocator's own data: that takes longer than all else that is done
// for a message. So the bytes of many small ones travel in one envelope, and the thread that will
// destroy the messages makes them. Short ones travel in an envelope of a size that the pool has: its
// memory is used again, and neither given back to the system nor taken from there.
//
// What does not fit into a bounded mailbox, or goes into a queue of the receiver's own, or through a
// pool, is made by the thread of its sender: here that is the network's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/envelope_list.h>
#include <ergon/core/messages/mailbox.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// Makes those messages that are no strings. Any thread.
class MessageMaker {
 public:
  // Returns the message in `bytes`, or null if there is none: then it is counted. `type`: see Gathering::Add.
  [[nodiscard]] virtual core::EnvelopePtr Make(const void* type, std::string_view bytes,
                                               gen::PID from, gen::PID to) = 0;

 protected:
  ~MessageMaker() = default;
};

// Gathers messages for one receiver. One thread.
class Gathering {
 public:
  static constexpr std::uint32_t kMostMessages = 64;
  // Long ones are not copied once more.
  static constexpr std::size_t kMostBytesOfOne = 1024;

  // `maker` outlives the messages.
  explicit Gathering(MessageMaker& maker) : maker_(maker) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  // The receiver, if it is not empty.
  [[nodiscard]] gen::PID to() const noexcept { return to_; }
  // Returns whether there is room for one more message with so many bytes, and it has the same receiver.
  [[nodiscard]] bool HasRoomFor(gen::PID to, std::size_t bytes) const noexcept {
    return size_ == 0 ||
           (to == to_ && size_ < kMostMessages && used_ + kMostHeadBytes + bytes <= limit_);
  }
  // There is room. At most kMostBytesOfOne bytes: those of a std::string, or of what the maker makes, which is told
  // `type` then; null: a string.
  void Add(gen::PID from, gen::PID to, const void* type, std::string_view bytes) noexcept;
  // Returns the envelope of all, at least one, of normal priority, and is empty. Throws std::bad_alloc.
  [[nodiscard]] core::EnvelopePtr TakeEnvelope();

 private:
  static constexpr std::size_t kMostHeadBytes = 40;  // with what stands between two messages
  static constexpr std::size_t kMostBytes = 8 * 1024;
  static constexpr std::size_t kShort = 96;  // bytes of a message
  // Of messages that begin with a short one: with these the envelope has the size of the pool's largest blocks.
  static constexpr std::size_t kMostShortBytes = 400;

  MessageMaker& maker_;
  gen::PID to_;
  std::uint32_t size_ = 0;
  std::size_t used_ = 0;
  std::size_t limit_ = 0;  // how many bytes may be used
  // Of the last message.
  gen::PID from_;
  const void* type_ = nullptr;
  alignas(8) std::array<char, kMostBytes> bytes_;
};

[[nodiscard]] inline bool IsUnmade(const core::Envelope& envelope) noexcept {
  return envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kUnmadeMessages);
}
struct MadeMessages {
  core::EnvelopeList list;
  std::uint32_t missing = 0;  // for which the maker has made none
};
// Makes the messages of such an envelope, for the same process and sent at the same time, in their order. Without
// memory for them the program ends: they are accepted already, so nobody is left to be told of an exception, and they
// would be lost without a count.
[[nodiscard]] MadeMessages MakeMessages(core::Envelope& unmade) noexcept;
// Makes the next few of them, in the mailbox from which such an envelope has just been popped: they are next there, and
// behind them the envelope with the rest, if there is one. The one with the right to run the process.
void MakeInPlace(core::Mailbox& mailbox, core::Envelope& unmade) noexcept;

}  // namespace ergon::node
