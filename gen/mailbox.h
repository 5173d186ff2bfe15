// What kind of mailbox a process has: how many messages may wait, in which order, and what happens to messages that
// find no room. All of this is about messages of normal priority. Messages of high and max priority, signals and
// inspections come before them in every kind of mailbox, and are never refused.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/message.h>

namespace ergon::gen {

// What a full mailbox does with one more message. Every dropped message is counted (NodeInfo::dropped_mailbox_full,
// ProcessInfo::messages_overflowed). If it is a request, its caller gets ErrProcessMailboxFull at once.
enum class Overflow : std::uint8_t {
  kReject,      // the sender gets ErrProcessMailboxFull
  kDropNewest,  // the new message is dropped: first come, first served
  kDropOldest,  // the message that has waited longest is dropped instead: the freshest wins
};

// A mailbox of your own: the order in which messages wait. The runtime calls it under a lock, one call at a time, from
// the threads of senders and of the process. It must be quick, and must not send, wait or look at the process. Enqueue
// may throw, std::bad_alloc above all, before it has taken anything: the sender gets kInternal then. If it has taken
// the message, and throws or returns false, the program is ended. An exception from Dequeue ends the process.
class MailboxQueue {
 public:
  MailboxQueue() = default;
  MailboxQueue(const MailboxQueue&) = delete;
  MailboxQueue& operator=(const MailboxQueue&) = delete;
  virtual ~MailboxQueue() = default;

  // Takes `message`, or refuses it: then `message` is as before, and Enqueue returns false. A message that has to be
  // dropped to make room goes to `dropped`; it may be `message` itself.
  [[nodiscard]] virtual bool Enqueue(OwnedMessage& message, OwnedMessage& dropped) = 0;
  // Returns the next message to be handled; empty if there is none.
  [[nodiscard]] virtual OwnedMessage Dequeue() = 0;
  // Takes back a message that was dequeued and stashed, and puts it before all messages of its rank. When several
  // return, the last of them comes first. It may throw before it has taken anything: UnstashAll throws that, and
  // the message is dropped (DropReason::kFailed, without a dead letter); if it is a request, its caller gets kInternal.
  virtual void Return(OwnedMessage message) = 0;
  // Returns how many messages wait.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
};

// For ProcessOptions::mailbox. A value: each process makes its own queue from it, and a process that is started again
// begins with an empty queue.
class Mailbox {
 public:
  // Not chosen: the mailbox is as NodeOptions::mailbox_size says.
  Mailbox() = default;
  // Holds any number of messages, in the order of arrival.
  static Mailbox Unbounded();
  // Holds at most so many messages, 1..4,000,000.
  static Mailbox Bounded(int messages, Overflow overflow = Overflow::kReject);

  // Messages with a lower number are handled first, those with equal numbers in the order of arrival. `priority` takes
  // a message of type T, or of any of the types given, and returns a number; messages of other types have the number 0.
  // The senders call it, one at a time, under the mailbox's lock: it must not send to the process. If it throws, the
  // sender gets kInternal. Each message costs O(log n).
  //
  //   gen::Mailbox::Priority<Job>([](const Job& job) { return job.deadline; })
  template <class... T, class Function>
  static Mailbox Priority(Function priority) {
    return MakePriority(RankOf<T...>(std::move(priority)), Unbounded());
  }
  // As Priority, with a bound, 1..4,000,000. When it is reached: kReject refuses the new message; kDropNewest and
  // kDropOldest drop the newest or oldest of the least urgent messages, which may be the new message itself.
  template <class... T, class Function>
  static Mailbox BoundedPriority(int messages, Function priority,
                                 Overflow overflow = Overflow::kReject) {
    Mailbox bounds = Bounded(messages, overflow);
    return MakePriority(RankOf<T...>(std::move(priority)), std::move(bounds));
  }

  // A kind of your own: `factory` makes the queue of each process that is spawned with this mailbox.
  static Mailbox Custom(std::function<std::unique_ptr<MailboxQueue>()> factory);

  // Sets the bound, 1..4,000,000; 0: any number. The kind stays, and so does the overflow policy. Does nothing for a
  // custom kind, whose queue alone knows its bound.
  void SetBound(int messages) noexcept;
  // For the runtime: the same of a queue that MakeQueue has made, while messages wait, which stay. Returns false for a
  // queue of your own.
  static bool SetBoundOf(MailboxQueue& queue, int messages) noexcept;
  [[nodiscard]] bool IsChosen() const noexcept { return is_chosen_; }
  // Returns the bound; 0: unbounded, or known to the custom queue only.
  [[nodiscard]] int bound() const noexcept { return bound_; }
  [[nodiscard]] Overflow overflow() const noexcept { return overflow_; }
  // Returns whether the mailbox has a queue of its own, instead of the runtime's lock-free one.
  [[nodiscard]] bool HasQueue() const noexcept { return factory_ != nullptr; }
  // Returns whether it is a kind of your own.
  [[nodiscard]] bool IsCustom() const noexcept { return std::string_view(kind_) == "custom"; }
  // Returns whether messages may be handled in an order other than that of arrival.
  [[nodiscard]] bool HasOwnOrder() const noexcept { return *kind_ != '\0'; }
  // Makes a queue. Throws what the user's factory throws; a null result is an error of that factory.
  [[nodiscard]] std::unique_ptr<MailboxQueue> MakeQueue() const {
    return factory_(static_cast<std::size_t>(bound_));
  }
  // As in "bounded 100, drop oldest".
  [[nodiscard]] std::string ToString() const;
  // Returns an empty text, or what is wrong, as in "mailbox: bound 0, must be 1..4000000".
  [[nodiscard]] std::string Validate() const;

 private:
  using Rank = std::function<std::int64_t(const Message&)>;

  template <class... T, class Function>
  static Rank RankOf(Function priority) {
    static_assert(sizeof...(T) > 0, "name the message types: Priority<Job>(...)");
    static_assert((std::is_invocable_r_v<std::int64_t, Function&, const T&> && ...),
                  "the function has to take each of the types and return a number");
    return [priority = std::move(priority)](const Message& message) mutable -> std::int64_t {
      std::int64_t rank = 0;
      auto ask = [&]<class Type>(const Type* value) {
        if (value != nullptr) rank = static_cast<std::int64_t>(priority(*value));
        return value != nullptr;
      };
      (void)(ask(message.As<T>()) || ...);
      return rank;
    };
  }
  static Mailbox MakePriority(Rank rank, Mailbox bounds);

  bool is_chosen_ = false;
  int bound_ = 0;
  bool is_bounded_ = false;
  Overflow overflow_ = Overflow::kReject;
  const char* kind_ = "";
  std::function<std::unique_ptr<MailboxQueue>(std::size_t bound)> factory_;
};

constexpr std::string_view ToString(Overflow overflow) {
  switch (overflow) {
    case Overflow::kReject:
      return "reject";
    case Overflow::kDropNewest:
      return "drop newest";
    case Overflow::kDropOldest:
      return "drop oldest";
  }
  return "unknown";
}

}  // namespace ergon::gen
