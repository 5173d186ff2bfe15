// A process's books: what it has sent, and what became of each message that it took out of its
// mailbox. A message is what users send: kMessage, kRequest and kEvent, of any priority; signals and
// notices are none.
//
//   taken = handled + expired + late + passed on           at the end of each turn
//
// A message that was passed on is *held* (RareCounts) by the behaviour until it forwards or drops
// it; so is one that it has inherited. The node's books (gen::MessageBalance) are the sum of its processes'.
//
// Written by the one with the right to run the process, read by anybody: plain loads and stores.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

#include <ergon/gen/envelope_kind.h>

namespace ergon::node {

class MessageCounts {
 public:
  void Reset() noexcept {
    sent_.store(0, std::memory_order_relaxed);
    handled_.store(0, std::memory_order_relaxed);
    Expect(0);
  }

  void Sent() noexcept { Add(sent_); }
  // It was given to a handler, whatever that made of it.
  void Handled() noexcept {
    Add(handled_);
    Account(1);
  }
  // A request whose caller had stopped waiting; it is in RareCounts.
  void Expired() noexcept { Account(1); }
  // It was meant for the slot's former process.
  void Late() noexcept { Account(1); }
  void PassedOn() noexcept { Account(1); }

  // Debug builds: a message was taken out of the mailbox, and at the end of a turn all are accounted
  // for.
  void Taken() noexcept { Expect(1); }
  void Check() const noexcept {
#ifndef NDEBUG
    assert(unaccounted_ == 0 && "a message was taken and not accounted for");
#endif
  }

  [[nodiscard]] std::uint64_t sent() const noexcept { return Read(sent_); }
  [[nodiscard]] std::uint64_t handled() const noexcept { return Read(handled_); }

 private:
  static void Add(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static std::uint64_t Read(const std::atomic<std::uint64_t>& counter) noexcept {
    return counter.load(std::memory_order_relaxed);
  }
#ifndef NDEBUG
  void Expect(int messages) noexcept { unaccounted_ = messages == 0 ? 0 : unaccounted_ + messages; }
  void Account(int messages) noexcept { unaccounted_ -= messages; }
  int unaccounted_ = 0;
#else
  void Expect(int) noexcept {}
  void Account(int) noexcept {}
#endif

  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> handled_{0};
};

}  // namespace ergon::node
