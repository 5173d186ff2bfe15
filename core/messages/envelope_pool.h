// Memory for envelopes: blocks of 64 to 512 bytes from per-thread magazines.
//
// Source: Bonwick and Adams, "Magazines and Vmem" (2001). A thread allocates from and frees to its own arrays of 64
// pointers; full and empty arrays change hands in a shared depot under a lock, so a lock is taken at most once in 64
// blocks (each keeps an empty array, so that it takes none where one array ends and the next begins), and a block freed
// by another thread than its allocator's needs no bookkeeping. Blocks are cut from 256 KiB chunks, in the order of
// their addresses; what the depot holds beyond a limit goes back to its chunk, and a chunk without a block in use goes
// back to the system (with an EnvelopeReserve, some time later): after a burst the memory returns, if its blocks are
// freed more or less in the order they were allocated, or backwards. What threads and the depot keep of a burst freed
// at random lies all over its chunks, which then stay for the next burst.
//
// In sanitizer builds every envelope is an allocation of its own, so that misuse is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

// Allocates at least `bytes`, aligned to kEnvelopeAlignment, and sets `size_class` to what FreeEnvelope needs. Throws
// std::bad_alloc. May be called from any thread.
[[nodiscard]] void* AllocateEnvelope(std::size_t bytes, std::uint8_t& size_class);

// Does what AllocateEnvelope does, for a known class, which must not be 0.
[[nodiscard]] void* AllocateEnvelopeOfClass(std::uint8_t size_class);

// Frees an envelope. May be called from any thread, not only from the one that allocated it.
void FreeEnvelope(void* memory, std::uint8_t size_class) noexcept;

// Must be called before a thread sleeps. Gives almost all blocks that the thread keeps for itself to the depot.
// A thread that frees more than it allocates would otherwise fill its magazines of every size, and keep them.
void ReleaseIdleEnvelopes() noexcept;

// While one is open, the memory that the program's bursts have needed in the last one to two seconds stays, so that
// bursts that follow each other do not have the system clear the same memory again and again. Its owner gives the rest
// back, from a thread that no message waits for. One thread at a time.
class EnvelopeReserve {
 public:
  EnvelopeReserve() = default;
  EnvelopeReserve(const EnvelopeReserve&) = delete;
  EnvelopeReserve& operator=(const EnvelopeReserve&) = delete;
  ~EnvelopeReserve() { Close(); }

  // Each may be called again. If no other reserve of the program is open, Close gives back what has stayed.
  void Open() noexcept;
  void Close() noexcept;
  // Closes it if another one is open, whose owner trims. Returns whether it is closed.
  [[nodiscard]] bool CloseUnlessLast() noexcept;
  // Gives back what bursts have not needed lately. To be called several times a second while the reserve is open, as
  // long as it returns true: then something stays that will go back later.
  [[nodiscard]] bool Trim() noexcept;

 private:
  bool is_open_ = false;
};

// These stand around a fork; see WatchForks.
void LockEnvelopePool() noexcept;
void UnlockEnvelopePool() noexcept;
void UnlockEnvelopePoolInChild() noexcept;

struct EnvelopePoolStats {
  std::size_t mapped_bytes = 0;    // in chunks, all threads
  std::size_t reserved_bytes = 0;  // of these free, and only there because of an EnvelopeReserve
  std::size_t depot_blocks = 0;    // free blocks in the shared depot
  std::uint64_t depot_visits = 0;  // how often threads have taken from the depot, or given to it
};
// Returns the usage at one moment, for tests and inspection. May be called from any thread.
[[nodiscard]] EnvelopePoolStats EnvelopePoolUsage();

}  // namespace ergon::core
