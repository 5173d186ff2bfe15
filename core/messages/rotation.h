// One address, several receivers: whose turn it is, decided by the sender without a lock.
//
// The receivers stand in a ring; a ticket counter says how many turns were given out. A turn goes to the receiver at
// (ticket - base) modulo size. So one sender sees a strict first-in, first-out rotation, and several senders share one.
//
// Only the owner changes the ring, while senders read it. That is safe without versions, because every entry ever
// visible is a receiver of this ring, or was one: a sender that reads in the middle of a change gives an early turn to
// a receiver, or finds that the receiver is gone and goes on with the next one. Memory is never freed while senders may
// read it: a ring that outgrows its capacity keeps the smaller array until the rotation is destroyed (the sizes are
// geometric, so the kept arrays are together smaller than the current one).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ergon::core {

class Rotation {
 public:
  Rotation() = default;
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  // -- senders, any thread --

  // Takes a ticket and returns the receiver whose turn it is, or 0 if there is none. The ticket counts as given until
  // Skipped is called.
  [[nodiscard]] std::uint64_t Next() noexcept {
    const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t size = size_.load(std::memory_order_acquire);  // partner: Publish
    if (size == 0) return 0;
    const std::uint64_t position = Modulo(ticket - base_.load(std::memory_order_relaxed), size);
    Array* array = array_.load(std::memory_order_acquire);  // partner: Publish
    if (position >= array->capacity) return 0;
    return array->entries[position].load(std::memory_order_acquire);
  }
  // As Next, but the caller says whose turn it is: that of the receiver at `position` modulo size.
  [[nodiscard]] std::uint64_t TakeAt(std::uint64_t position) noexcept {
    Give();
    return At(position);
  }
  // Takes a ticket for a receiver that was found without the ring.
  void Give() noexcept { ticket_.fetch_add(1, std::memory_order_relaxed); }
  // Returns the receiver at `position` modulo size, or 0 if there is none. Takes no ticket.
  [[nodiscard]] std::uint64_t At(std::uint64_t position) const noexcept {
    const std::uint32_t size = size_.load(std::memory_order_acquire);  // partner: Publish
    if (size == 0) return 0;
    const Array* array = array_.load(std::memory_order_acquire);  // partner: Publish
    const std::uint64_t place = Modulo(position, size);
    if (place >= array->capacity) return 0;
    return array->entries[place].load(std::memory_order_acquire);
  }
  // Returns a position of a receiver that has just had its turn. Others may have had theirs since: it is looked for
  // from the last turn on, backwards. Any position if it has left the ring.
  [[nodiscard]] std::uint64_t PlaceOf(std::uint64_t receiver) const noexcept {
    const std::uint32_t size = this->size();
    std::uint64_t place = Turn() + size - 1;  // as the one before, and not below 0
    for (std::uint32_t left = size; left > 1 && At(place) != receiver; --left) --place;
    return place;
  }
  // Returns the position of the next turn; it grows by one with each ticket.
  [[nodiscard]] std::uint64_t Turn() const noexcept {
    return ticket_.load(std::memory_order_relaxed) - base_.load(std::memory_order_relaxed);
  }
  // Gives back the last ticket: its receiver did not take the message.
  void Skipped() noexcept { skipped_.fetch_add(1, std::memory_order_relaxed); }
  // Notes that a message was refused because all receivers were full.
  void Refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint32_t size() const noexcept {
    return size_.load(std::memory_order_acquire);
  }
  // Returns how many turns were taken: exact when nobody sends. Never goes down at rest.
  [[nodiscard]] std::uint64_t Given() const noexcept {
    const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed);
    const std::uint64_t tickets = ticket_.load(std::memory_order_relaxed);
    return tickets > skipped ? tickets - skipped : 0;
  }
  [[nodiscard]] std::uint64_t RefusedCount() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

  // -- owner --

  // Returns the receivers in the order of their turns, the next one first.
  [[nodiscard]] std::vector<std::uint64_t> InOrder() const;
  // Replaces the ring; the first of `receivers` has the next turn.
  void Publish(const std::vector<std::uint64_t>& receivers);
  // Puts `replacement` in the place of `receiver`. Returns false if `receiver` is not in the ring.
  bool Replace(std::uint64_t receiver, std::uint64_t replacement) noexcept;
  // Empties the ring and sets the counters to 0, for the next owner.
  void Reset() noexcept;

 private:
  friend struct RotationLayout;

  struct Array {
    explicit Array(std::size_t size)
        : capacity(size), entries(std::make_unique<std::atomic<std::uint64_t>[]>(size)) {}
    const std::size_t capacity;
    std::unique_ptr<std::atomic<std::uint64_t>[]> entries;
  };

  // A division of 32 bits takes half the time of one of 64.
  static std::uint64_t Modulo(std::uint64_t number, std::uint32_t size) noexcept {
    if (number >> 32 == 0) [[likely]]
      return static_cast<std::uint32_t>(number) % size;
    return number % size;
  }

  // Written by senders.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint64_t> skipped_{0};
  std::atomic<std::uint64_t> refused_{0};
  // Written by the owner.
  alignas(64) std::atomic<std::uint64_t> base_{0};
  std::atomic<std::uint32_t> size_{0};
  std::atomic<Array*> array_{nullptr};
  std::vector<std::unique_ptr<Array>> arrays_;  // the last one is current
};

}  // namespace ergon::core
