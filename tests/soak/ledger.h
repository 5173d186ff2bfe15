// Who has sent what, and what became of it: each message carries a ticket that reports its end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <soak/incarnation.h>

namespace ergon::soak {

enum class Kind : std::uint8_t { kSend, kDelayed, kCall };
inline constexpr int kKinds = 3;

class Book;

// A call as its caller sees it: no error code tells a request that was refused from one that was
// accepted and dropped. However, a request that is refused dies on the stack of its caller, below
// `frame`, before the call returns; one that was accepted dies elsewhere.
struct CallWatch {
  std::atomic<std::uintptr_t> frame{0};  // 0: before and after the call
  std::atomic<bool> refused{false};
  std::atomic<bool> started{false};  // it has reached a handler
};
using CallWatchPtr = std::shared_ptr<CallWatch>;

// Part of one message; moves with it and is destroyed with it, wherever that happens. So a message
// that vanishes leaves a ticket that is still out, and one that is handled twice is noticed.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept { *this = std::move(other); }
  Ticket& operator=(Ticket&& other) noexcept {
    std::swap(book_, other.book_);
    std::swap(incarnation_, other.incarnation_);
    std::swap(watch_, other.watch_);
    std::swap(sequence_, other.sequence_);
    std::swap(slot_, other.slot_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket();

  // First thing in the handler. `in_turn`: it came straight from its sender, in the order sent.
  void Start(bool in_turn = true);
  // The message is being handled, and its handler is about to fail.
  void Crash() const;

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

 private:
  friend class Book;

  Book* book_ = nullptr;
  IncarnationPtr incarnation_;  // where it was sent to; null if that is not known
  CallWatchPtr watch_;
  std::uint64_t sequence_ = 0;
  std::uint32_t slot_ = 0;
  Kind kind_ = Kind::kSend;
};

// The messages of one sender, by number. Any thread.
class Book {
 public:
  // Messages that may be out at once: what bounds the memory of the whole test.
  static constexpr std::uint32_t kWindow = 1024;
  // The last of them are for what must not be put off.
  static constexpr std::uint32_t kReserve = 64;

  explicit Book(int sender) : sender_(sender) {}
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  [[nodiscard]] bool HasRoom() const { return out_.load() < kWindow - kReserve; }
  // Throws std::logic_error when kWindow messages are out.
  [[nodiscard]] Ticket Issue(Kind kind, IncarnationPtr incarnation = {}, CallWatchPtr watch = {});

  // What the sender was told.
  void Accepted(Kind kind, Incarnation* incarnation);
  void Refused(Kind kind);
  void Cancelled(Incarnation* incarnation);

  struct Counts {
    std::array<std::uint64_t, kKinds> issued{};
    std::array<std::uint64_t, kKinds> accepted{};
    std::array<std::uint64_t, kKinds> refused{};
    std::array<std::uint64_t, kKinds> started{};    // reached a handler
    std::array<std::uint64_t, kKinds> unstarted{};  // destroyed without having reached one
    std::uint64_t cancelled = 0;
    std::uint64_t duplicates = 0;  // reached a handler again
    std::uint64_t strangers = 0;   // a ticket that is not out ended
    std::uint64_t disorder = 0;    // overtaken by a later message, where order is promised

    void Add(const Counts& other);
    [[nodiscard]] std::uint64_t Accepted() const { return accepted[0] + accepted[1] + accepted[2]; }
    [[nodiscard]] std::uint64_t Started() const { return started[0] + started[1] + started[2]; }
    // Accepted, not cancelled, and never handled.
    [[nodiscard]] std::int64_t Dropped(Kind kind) const;
    [[nodiscard]] std::int64_t Dropped() const;
  };
  [[nodiscard]] Counts Read() const;
  [[nodiscard]] std::uint64_t Outstanding() const { return out_.load(); }
  [[nodiscard]] std::uint64_t StartedSoFar() const;

 private:
  friend class Ticket;

  // The lower bits of a slot say how far its message is, the others which one it is.
  enum State : std::uint64_t { kFree, kOut, kStarted };
  static constexpr std::uint64_t kStateBits = 2;
  using Counters = std::array<std::atomic<std::uint64_t>, kKinds>;

  void Start(Ticket& ticket, bool in_turn);
  void End(Ticket& ticket);

  const int sender_;
  std::array<std::atomic<std::uint64_t>, kWindow> slots_{};
  std::mutex issue_;
  std::uint64_t next_sequence_ = 1;
  std::uint32_t cursor_ = 0;
  std::atomic<std::uint32_t> out_{0};

  Counters issued_{}, accepted_{}, refused_{}, started_{}, unstarted_{};
  std::atomic<std::uint64_t> cancelled_{0}, duplicates_{0}, strangers_{0}, disorder_{0};
};

// All books. Books live as long as the ledger.
class Ledger {
 public:
  [[nodiscard]] Book& Open();
  [[nodiscard]] Book::Counts Total() const;
  [[nodiscard]] std::uint64_t Outstanding() const;
  [[nodiscard]] std::uint64_t Started() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Book>> books_;
};

}  // namespace ergon::soak
