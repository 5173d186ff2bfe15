// Messages that wait at a pool that places them itself: one queue for all workers, and one for each worker
// with the messages that have a key.
//
// Pure policy. A member (PoolMembers) that is free gets the oldest message of its own queue and of the common queue;
// then it is not free until SetFree. A key has a home: the member where its messages wait or are
// *in flight*; without such messages, the member that rendezvous hashing chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ergon/core/messages/envelope.h>

namespace ergon::act {

class PoolQueue {
 public:
  struct Item {
    core::EnvelopePtr envelope;
    bool given = false;                // a worker has had it before
    std::optional<std::uint64_t> key;  // well mixed; none: any worker may have it
    std::uint64_t number = 0;          // the order of arrival
    bool returned = false;             // see Return
  };

  // -- members; numbers from 1 on, and never used again --

  // Adds a member. It is not free.
  void Open(std::uint64_t member);
  // Notes that the member's worker can take a message now.
  void SetFree(std::uint64_t member);
  // Stops giving messages to the member. Keys with messages in flight stay until those are done; the others move.
  void Leave(std::uint64_t member);
  // Removes the member. The messages that wait for it go to others.
  void Remove(std::uint64_t member);
  [[nodiscard]] bool Has(std::uint64_t member) const { return lanes_.contains(member); }
  [[nodiscard]] std::vector<std::uint64_t> Members() const;

  // -- messages --

  void Add(Item item);
  // Returns the member that has, or would get, the messages with this key; 0: there is no member.
  [[nodiscard]] std::uint64_t HomeOf(std::uint64_t key) const;

  struct Turn {
    std::uint64_t member = 0;
    Item item;
  };
  // Takes the next message for a free member. The member is not free any more, and the message is in flight.
  [[nodiscard]] std::optional<Turn> TakeTurn();
  // Takes the oldest message without a key that `may` go to this member, which has just not taken another one.
  [[nodiscard]] std::optional<Turn> TakeOther(std::uint64_t member,
                                              const std::function<bool(const Item&)>& may);
  // Puts back a message that the worker did not take, before everything else.
  void Undo(Turn turn);
  // What a member has handled of its messages in flight.
  enum class Handled : std::uint8_t {
    kAll,
    kLast,  // the one that it got last; the others its worker has stashed
    kSome,  // its worker has stashed some; it is not known which
  };
  // Notes that the member is done with these messages. It is not free before SetFree.
  void Done(std::uint64_t member, Handled handled);
  // Puts `items` back before all messages that wait, in their order; they are never dropped for others. Nothing is in
  // flight at the member any more. `member` is 0 if they do not come from a known member. With `late` they go behind
  // those that have come back before.
  void Return(std::uint64_t member, std::vector<Item> items, bool late = false);

  // Takes the oldest message that has not come back by Return; none if all of them have.
  [[nodiscard]] std::optional<Item> TakeOldest();
  // Takes the newest message that has not come back and is not important (core::Envelope::kFlagImportant).
  [[nodiscard]] std::optional<Item> TakeNewest();
  // Takes the oldest message of those that `may` be taken.
  [[nodiscard]] std::optional<Item> TakeIf(const std::function<bool(const Item&)>& may);
  [[nodiscard]] std::vector<Item> TakeAll();
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  // Returns how many of the waiting messages have come back.
  [[nodiscard]] std::size_t waiting_returned() const noexcept { return waiting_returned_; }
  // Returns how many of the other waiting messages are important.
  [[nodiscard]] std::size_t waiting_important() const noexcept { return waiting_important_; }
  [[nodiscard]] std::size_t waiting_given() const;

 private:
  struct Lane {
    std::deque<Item> queue;
    std::vector<std::uint64_t> in_flight;  // keys
    bool last_has_key = false;  // the message that it got last: its key is the last one in flight
    bool free = false;
    bool listed = false;  // in free_
    bool leaving = false;
  };
  struct KeyState {
    std::uint64_t home = 0;
    std::size_t messages = 0;  // waiting and in flight
  };

  [[nodiscard]] std::uint64_t Hash(std::uint64_t key) const;
  [[nodiscard]] Lane* Find(std::uint64_t member);
  enum class Where : std::uint8_t { kFront, kBehindReturned, kBack };
  void Push(Item item, Where where);
  void Release(std::uint64_t key);
  void ReleaseInFlight(Lane& lane);
  void MoveAway(std::uint64_t member);
  Turn TakeTurn(std::uint64_t member, Lane& lane, std::deque<Item>& queue);
  // Of what any member may handle, for whoever has been free longest.
  std::optional<Turn> TakeCommonTurn();
  template <class Function>
  void ForEachQueue(Function function);
  // Takes the oldest among the first message of each queue that `may` be taken.
  template <class Predicate>
  std::optional<Item> TakeFirst(Predicate may);
  Item TakeOut(std::deque<Item>& queue, const std::deque<Item>::iterator& item);
  void CountWaiting(const Item& item);
  void CountTaken(const Item& item);

  std::unordered_map<std::uint64_t, Lane> lanes_;
  std::deque<Item> common_;
  std::deque<Item> homeless_;  // with keys, while there is no member
  std::unordered_map<std::uint64_t, KeyState> keys_;
  std::deque<std::uint64_t> free_;      // members, longest free first; some are not free any more
  std::deque<std::uint64_t> runnable_;  // members that were free and had messages of their own
  std::size_t waiting_ = 0;
  std::size_t waiting_returned_ = 0;
  std::size_t waiting_important_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace ergon::act
