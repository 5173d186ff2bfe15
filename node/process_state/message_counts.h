// A process's counters: what it has sent, and what became of each message that it took out of its
// mailbox. A message is what users send: kMessage, kRequest and kEvent, of any priority; signals and
// notices are none.
//
//   taken = handled + expired + late + passed on           at the end of each turn
//
// A message that was passed on is *held* (RareCounts) by the behaviour until the behaviour forwards or drops it; so is
// a message that it has inherited. The node's counters (gen::MessageBalance) are the sums of those of its processes.
//
// Written by the thread with the right to run the process, read by any thread.
#pragma once

#include <cassert>
#include <cstdint>

#include <ergon/core/foundations/single_writer_counter.h>

namespace ergon::node {

class MessageCounts {
 public:
  void Reset() noexcept {
    sent_.Reset();
    handled_.Reset();
    Expect(0);
  }

  void Sent() noexcept { sent_.Add(); }
  // Counts a message that was given to a handler, whatever the handler did with it.
  void Handled() noexcept {
    handled_.Add();
    Account(1);
  }
  // Counts a request whose caller had stopped waiting; its number is in RareCounts.
  void Expired() noexcept { Account(1); }
  // Counts a message that was meant for the slot's former process.
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

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.Read(); }
  [[nodiscard]] std::uint64_t handled() const noexcept { return handled_.Read(); }

 private:
#ifndef NDEBUG
  void Expect(int messages) noexcept { unaccounted_ = messages == 0 ? 0 : unaccounted_ + messages; }
  void Account(int messages) noexcept { unaccounted_ -= messages; }
  int unaccounted_ = 0;
#else
  void Expect(int) noexcept {}
  void Account(int) noexcept {}
#endif

  core::SingleWriterCounter sent_;
  core::SingleWriterCounter handled_;
};

}  // namespace ergon::node
