#include <soak/ledger.h>

#include <stdexcept>

namespace ergon::soak {
namespace {

// More than the frames of a call that is refused, less than the stack of a handler.
constexpr std::uintptr_t kNearby = 64 * 1024;

std::size_t IndexOf(Kind kind) { return static_cast<std::size_t>(kind); }

void Count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t AddUp(const std::array<std::atomic<std::uint64_t>, kKinds>& counters) {
  std::uint64_t sum = 0;
  for (const auto& counter : counters) sum += counter.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace

Ticket::~Ticket() {
  if (book_ != nullptr) book_->End(*this);
}

void Ticket::Start(bool in_turn) {
  if (book_ != nullptr) book_->Start(*this, in_turn);
}

void Ticket::Crash() const {
  if (incarnation_ != nullptr) Count(incarnation_->crashed);
}

Ticket Book::Issue(Kind kind, IncarnationPtr incarnation, CallWatchPtr watch) {
  Ticket ticket;
  std::lock_guard lock(issue_);
  for (std::uint32_t tries = 0; tries < kWindow; ++tries) {
    cursor_ = (cursor_ + 1) % kWindow;
    auto& slot = slots_[cursor_];
    if (slot.load(std::memory_order_acquire) != kFree) continue;
    ticket.book_ = this;
    ticket.incarnation_ = std::move(incarnation);
    ticket.watch_ = std::move(watch);
    ticket.sequence_ = next_sequence_++;
    ticket.slot_ = cursor_;
    ticket.kind_ = kind;
    slot.store(ticket.sequence_ << kStateBits | kOut, std::memory_order_release);
    out_.fetch_add(1);
    Count(issued_[IndexOf(kind)]);
    return ticket;
  }
  throw std::logic_error("more messages are out than a book has room for");
}

void Book::Start(Ticket& ticket, bool in_turn) {
  auto& slot = slots_[ticket.slot_];
  std::uint64_t expected = ticket.sequence_ << kStateBits | kOut;
  if (!slot.compare_exchange_strong(expected, ticket.sequence_ << kStateBits | kStarted)) {
    Count(duplicates_);
    return;
  }
  if (ticket.watch_ != nullptr) ticket.watch_->started.store(true);
  Count(started_[IndexOf(ticket.kind_)]);
  Incarnation* incarnation = ticket.incarnation_.get();
  if (incarnation == nullptr) return;
  if (ticket.kind_ == Kind::kDelayed) {
    Count(incarnation->delayed_started);
  } else if (incarnation->ordered && in_turn) {
    auto& last = incarnation->last[static_cast<std::size_t>(sender_)];
    if (last.exchange(ticket.sequence_) > ticket.sequence_) Count(disorder_);
  }
}

void Book::End(Ticket& ticket) {
  auto& slot = slots_[ticket.slot_];
  const std::uint64_t word = slot.load();
  if (word >> kStateBits != ticket.sequence_) {
    Count(strangers_);
    return;
  }
  if ((word & ((1 << kStateBits) - 1)) == kOut) {
    const std::size_t kind = IndexOf(ticket.kind_);
    if (ticket.watch_ != nullptr) {
      const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
      const std::uintptr_t frame = ticket.watch_->frame.load();
      if (here < frame && frame - here < kNearby) {
        ticket.watch_->refused.store(true);
      }
    }
    if (ticket.kind_ == Kind::kDelayed && ticket.incarnation_ != nullptr) {
      Count(ticket.incarnation_->delayed_unstarted);
    }
    Count(unstarted_[kind]);
  }
  slot.store(kFree, std::memory_order_release);
  // Last: whoever waits for 0 looks at the counters afterwards.
  out_.fetch_sub(1);
}

void Book::Accepted(Kind kind, Incarnation* incarnation) {
  Count(accepted_[IndexOf(kind)]);
  if (incarnation != nullptr && kind != Kind::kDelayed) Count(incarnation->accepted);
}

void Book::Refused(Kind kind) { Count(refused_[IndexOf(kind)]); }

void Book::Cancelled(Incarnation* incarnation) {
  Count(cancelled_);
  if (incarnation != nullptr) Count(incarnation->delayed_cancelled);
}

std::int64_t Book::Counts::Dropped(Kind kind) const {
  const std::size_t index = IndexOf(kind);
  const std::uint64_t back = refused[index] + (kind == Kind::kDelayed ? cancelled : 0);
  return static_cast<std::int64_t>(unstarted[index]) - static_cast<std::int64_t>(back);
}

std::int64_t Book::Counts::Dropped() const {
  return Dropped(Kind::kSend) + Dropped(Kind::kDelayed) + Dropped(Kind::kCall);
}

void Book::Counts::Add(const Counts& other) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    issued[i] += other.issued[i];
    accepted[i] += other.accepted[i];
    refused[i] += other.refused[i];
    started[i] += other.started[i];
    unstarted[i] += other.unstarted[i];
  }
  cancelled += other.cancelled;
  duplicates += other.duplicates;
  strangers += other.strangers;
  disorder += other.disorder;
}

Book::Counts Book::Read() const {
  Counts counts;
  for (std::size_t i = 0; i < kKinds; ++i) {
    counts.issued[i] = issued_[i].load();
    counts.accepted[i] = accepted_[i].load();
    counts.refused[i] = refused_[i].load();
    counts.started[i] = started_[i].load();
    counts.unstarted[i] = unstarted_[i].load();
  }
  counts.cancelled = cancelled_.load();
  counts.duplicates = duplicates_.load();
  counts.strangers = strangers_.load();
  counts.disorder = disorder_.load();
  return counts;
}

std::uint64_t Book::StartedSoFar() const { return AddUp(started_); }

Book& Ledger::Open() {
  std::lock_guard lock(mutex_);
  if (books_.size() == kMaxSenders) throw std::logic_error("too many senders");
  return *books_.emplace_back(std::make_unique<Book>(static_cast<int>(books_.size())));
}

Book::Counts Ledger::Total() const {
  std::lock_guard lock(mutex_);
  Book::Counts total;
  for (const auto& book : books_) total.Add(book->Read());
  return total;
}

std::uint64_t Ledger::Outstanding() const {
  std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const auto& book : books_) total += book->Outstanding();
  return total;
}

std::uint64_t Ledger::Started() const {
  std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const auto& book : books_) total += book->StartedSoFar();
  return total;
}

}  // namespace ergon::soak
