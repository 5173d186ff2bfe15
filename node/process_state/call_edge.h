// What a process in a Call waits for, for everybody to see: an edge of the wait-for graph.
//
// `word_` is 0, or [ stage : 2 bits | id of the wait : 62 bits ]:
//
//   Begin             Sent                                  End
//  0 -----> kSending ------> kSent ------------------------------> 0
//               |              |                            ^
//               +--------------+--> kLeftOpen, kPassedOn ---+
//                 NoteTaken, by the receiver
//
// Only kSent is certain: the request waits in the mailbox of `to`, or is handled there. The receiver takes that back,
// at the end of the handler at the latest, before it can begin with another request.
//
// A pool may place a request that it has kept, or that has waited at a worker that has ended. Then `moved_` has the id,
// too, and `moved_to_` the worker; it takes the place of `to_`, and the edge is certain again:
//
//   BeginMove                    EndMove
//  0 -----> kBeingWritten -> kMoving -----> kMoved -----> 0, by NoteTaken or the next BeginMove
//
// An id is never used twice, and nobody who waits takes or moves a request. So an edge that is read as certain, and
// later once more with the same id and receiver, belongs to the same circle as the edges that were read in between. The
// other fields belong to the id: they are written while the word is 0 or kSending, and released by it.
//
// Memory orders: Sent, EndMove and Read are sequentially consistent. Of several threads that close a circle at the same
// time, each writes an edge and then reads the others, so at least one sees them all (Dekker's pattern; partners: Sent,
// EndMove and Read, in WaitGraph::BreakDeadlock).
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/messages/type_descriptor.h>

namespace ergon::node {

class CallEdge {
 public:
  enum class Stage : std::uint8_t {
    kSending,   // not delivered yet, maybe never
    kSent,      // waits for its handler, or is handled
    kLeftOpen,  // handled, without an answer so far
    kPassedOn,  // stashed, kept or forwarded
  };
  struct View {
    std::uint64_t id = 0;  // 0: no call
    Stage stage = Stage::kSending;
    std::uint64_t to = 0;  // the id of the PID that got the request; 0: it is of another node
    const core::TypeDescriptor* type = nullptr;
    std::int64_t since = 0;    // Clock ns
    std::uint32_t ticket = 0;  // see CallEdges::TicketOf
    bool begun = false;        // a handler has begun with the request; the waiting process knows

    [[nodiscard]] bool IsCertain() const noexcept { return id != 0 && stage == Stage::kSent; }
  };

  // -- the process itself --
  void Begin(std::uint64_t id, std::uint64_t to, const core::TypeDescriptor* type,
             std::int64_t since, std::uint32_t ticket) noexcept {
    // Release: whoever reads one of these sees the word at least as it was before; partner: Read.
    to_.store(to, std::memory_order_release);
    type_.store(type, std::memory_order_release);
    since_.store(since, std::memory_order_release);
    ticket_.store(ticket, std::memory_order_release);
    word_.store(id, std::memory_order_release);
  }
  // Notes that the request goes to a worker of the pool `to`. Only while it is being sent.
  void Redirect(std::uint64_t id, std::uint64_t to, std::uint32_t ticket) noexcept {
    if (word_.load(std::memory_order_relaxed) != id) return;
    if ((moved_.load(std::memory_order_relaxed) & kIdMask) == id) return;  // by a pool already
    to_.store(to, std::memory_order_release);
    ticket_.store(ticket, std::memory_order_release);
  }
  // Notes that the request was delivered. Returns false if its receiver has taken it and not answered.
  bool Sent(std::uint64_t id) noexcept {
    std::uint64_t word = id;
    return word_.compare_exchange_strong(word, Pack(id, Stage::kSent), std::memory_order_seq_cst);
  }
  // Returns whether a pool has moved the request already. Sequentially consistent, after Sent; partner: EndMove.
  [[nodiscard]] bool IsMoved(std::uint64_t id) const noexcept {
    return moved_.load(std::memory_order_seq_cst) == Pack(id, Move::kMoved);
  }
  void End() noexcept { word_.store(0, std::memory_order_release); }

  // -- the receiver of the request, while it handles it --
  void NoteTaken(std::uint64_t id, Stage stage) noexcept {
    std::uint64_t moved = MovedWord();
    while ((moved & kIdMask) == id &&
           !moved_.compare_exchange_weak(moved, 0, std::memory_order_seq_cst)) {
      moved = MovedWord();  // EndMove was quicker
    }
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kIdMask) == id && (word >> kStageShift) <= std::uint64_t{1}) {
      if (word_.compare_exchange_weak(word, Pack(id, stage), std::memory_order_seq_cst)) return;
    }
  }

  // -- a pool that places the request again --
  // Before it is delivered. Returns false if nobody waits for the answer any more.
  bool BeginMove(std::uint64_t id, std::uint64_t to) noexcept {
    if ((word_.load(std::memory_order_relaxed) & kIdMask) != id) return false;
    std::uint64_t moved = 0;
    do {
      moved = MovedWord();
    } while (!moved_.compare_exchange_weak(moved, Pack(id, Move::kBeingWritten),
                                           std::memory_order_acquire, std::memory_order_relaxed));
    // Its time may have been up meanwhile, and then the word may be of the caller's next request.
    if ((word_.load(std::memory_order_seq_cst) & kIdMask) != id) {
      moved_.store(moved, std::memory_order_release);
      return false;
    }
    moved_to_.store(to, std::memory_order_release);
    moved_.store(Pack(id, Move::kMoving), std::memory_order_release);
    return true;
  }
  // After that, with the same receiver. Returns false if the request was not delivered, or its receiver has taken it
  // and not answered; another pool may be moving it already.
  bool EndMove(std::uint64_t id, std::uint64_t to, bool delivered) noexcept {
    std::uint64_t moved = MovedWord();
    if (moved != Pack(id, Move::kMoving) || moved_to_.load(std::memory_order_relaxed) != to) {
      return false;
    }
    const std::uint64_t then = delivered ? Pack(id, Move::kMoved) : 0;
    return moved_.compare_exchange_strong(moved, then, std::memory_order_seq_cst) && delivered;
  }

  // -- anybody --
  // Returns all fields as they belong together; without an id if they change just now.
  [[nodiscard]] View Read() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    if (word == 0) return {};
    View view{.id = word & kIdMask,
              .stage = static_cast<Stage>(word >> kStageShift),
              .to = to_.load(std::memory_order_acquire),
              .type = type_.load(std::memory_order_acquire),
              .since = since_.load(std::memory_order_acquire),
              .ticket = ticket_.load(std::memory_order_acquire)};
    const std::uint64_t moved = Pack(view.id, Move::kMoved);
    if (moved_.load(std::memory_order_seq_cst) == moved) {
      view.to = moved_to_.load(std::memory_order_acquire);
      view.ticket = 0;
      if (view.stage != Stage::kSending) view.stage = Stage::kSent;
      if (moved_.load(std::memory_order_seq_cst) != moved) return {};
    }
    return (word_.load(std::memory_order_seq_cst) & kIdMask) == view.id ? view : View{};
  }
  // Returns the id if the edge is certain, else 0.
  [[nodiscard]] std::uint64_t CertainId() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    const std::uint64_t stage = word >> kStageShift;
    const std::uint64_t id = word & kIdMask;
    if (stage <= static_cast<std::uint64_t>(Stage::kSent)) return stage == 0 ? 0 : id;
    return moved_.load(std::memory_order_seq_cst) == Pack(id, Move::kMoved) ? id : 0;
  }

 private:
  friend class DebuggerLayout;

  static constexpr int kStageShift = 62;  // ids are less than 2^61; see AwaitState::kMaxId
  static constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kStageShift) - 1;

  enum class Move : std::uint8_t { kNone, kBeingWritten, kMoving, kMoved };

  // Returns `moved_` when nobody is just writing it: another pool may be, with a request whose time is up.
  [[nodiscard]] std::uint64_t MovedWord() const noexcept {
    std::uint64_t moved = moved_.load(std::memory_order_acquire);
    while (moved >> kStageShift == static_cast<std::uint64_t>(Move::kBeingWritten)) {
      moved = moved_.load(std::memory_order_acquire);
    }
    return moved;
  }

  template <class State>
  static std::uint64_t Pack(std::uint64_t id, State state) noexcept {
    return id | static_cast<std::uint64_t>(state) << kStageShift;
  }

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> to_{0};
  std::atomic<const core::TypeDescriptor*> type_{nullptr};
  std::atomic<std::int64_t> since_{0};
  std::atomic<std::uint32_t> ticket_{0};
  std::atomic<std::uint64_t> moved_{0};  // [ Move : 2 bits | id of the wait : 62 bits ]
  std::atomic<std::uint64_t> moved_to_{0};
};

}  // namespace ergon::node
