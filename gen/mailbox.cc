#include <ergon/gen/mailbox.h>

#include <deque>
#include <map>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/messages/mailbox_bound.h>

namespace ergon::gen {
namespace {

// Its bound may change while messages wait.
class BoundedQueue : public MailboxQueue {
 public:
  void SetBound(std::size_t bound) noexcept { bound_ = bound; }

 protected:
  explicit BoundedQueue(std::size_t bound) noexcept : bound_(bound) {}

  [[nodiscard]] bool IsFull() const noexcept { return bound_ != 0 && size() >= bound_; }

 private:
  std::size_t bound_;  // 0: any number
};

// In the order of arrival; the oldest gives way to the newest.
class LatestQueue final : public BoundedQueue {
 public:
  explicit LatestQueue(std::size_t bound) : BoundedQueue(bound) {}

  bool Enqueue(OwnedMessage& message, OwnedMessage& dropped) override {
    const bool full = IsFull();
    messages_.push_back(std::move(message));
    if (full) dropped = Dequeue();
    return true;
  }
  OwnedMessage Dequeue() override {
    if (messages_.empty()) return {};
    OwnedMessage first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }
  void Return(OwnedMessage message) override { messages_.push_front(std::move(message)); }
  std::size_t size() const noexcept override { return messages_.size(); }

 private:
  std::deque<OwnedMessage> messages_;
};

// A search tree by (number, order of arrival): stable, and both ends are at hand.
class PriorityQueue final : public BoundedQueue {
 public:
  PriorityQueue(std::function<std::int64_t(const Message&)> rank, std::size_t bound,
                Overflow overflow)
      : BoundedQueue(bound), rank_(std::move(rank)), overflow_(overflow) {}

  bool Enqueue(OwnedMessage& message, OwnedMessage& dropped) override {
    const bool full = IsFull();
    if (full && overflow_ == Overflow::kReject) return false;
    const Key key{rank_(message.View()), ++newest_};
    if (full && overflow_ == Overflow::kDropNewest && key.rank >= messages_.rbegin()->first.rank) {
      dropped = std::move(message);  // nobody who waits is less urgent
      return true;
    }
    messages_.emplace(key, std::move(message));
    if (full) dropped = TakeLeastUrgent();
    return true;
  }
  OwnedMessage Dequeue() override {
    if (messages_.empty()) return {};
    auto node = messages_.extract(messages_.begin());
    return std::move(node.mapped());
  }
  void Return(OwnedMessage message) override {
    std::int64_t rank = INT64_MIN;
    try {
      rank = rank_(message.View());
    } catch (...) {  // it had a rank when it came; now it is the first
    }
    messages_.emplace(Key{rank, --oldest_}, std::move(message));
  }
  std::size_t size() const noexcept override { return messages_.size(); }

 private:
  struct Key {
    std::int64_t rank;
    std::int64_t order;
    auto operator<=>(const Key&) const = default;
  };

  OwnedMessage TakeLeastUrgent() {
    auto victim = std::prev(messages_.end());
    if (overflow_ == Overflow::kDropOldest) {
      victim = messages_.lower_bound(Key{victim->first.rank, INT64_MIN});
    }
    OwnedMessage message = std::move(victim->second);
    messages_.erase(victim);
    return message;
  }

  const std::function<std::int64_t(const Message&)> rank_;
  const Overflow overflow_;
  std::map<Key, OwnedMessage> messages_;
  std::int64_t newest_ = 0;  // order of what arrives, upwards
  std::int64_t oldest_ = 0;  // order of what returns, downwards
};

}  // namespace

Mailbox Mailbox::Unbounded() {
  Mailbox mailbox;
  mailbox.is_chosen_ = true;
  return mailbox;
}

Mailbox Mailbox::Bounded(int messages, Overflow overflow) {
  Mailbox mailbox;
  mailbox.is_chosen_ = true;
  mailbox.is_bounded_ = true;
  mailbox.bound_ = messages;
  mailbox.overflow_ = overflow;
  if (overflow == Overflow::kDropOldest) {
    mailbox.factory_ = [](std::size_t bound) { return std::make_unique<LatestQueue>(bound); };
  }
  return mailbox;
}

Mailbox Mailbox::MakePriority(Rank rank, Mailbox bounds) {
  bounds.kind_ = "priority";
  bounds.factory_ = [rank = std::move(rank), overflow = bounds.overflow_](std::size_t bound) {
    return std::make_unique<PriorityQueue>(rank, bound, overflow);
  };
  return bounds;
}

Mailbox Mailbox::Custom(std::function<std::unique_ptr<MailboxQueue>()> factory) {
  Mailbox mailbox;
  mailbox.is_chosen_ = true;
  mailbox.kind_ = "custom";
  mailbox.factory_ = [factory = std::move(factory)](std::size_t /*bound*/) {
    return factory ? factory() : nullptr;
  };
  return mailbox;
}

void Mailbox::SetBound(int messages) noexcept {
  if (IsCustom()) return;
  is_chosen_ = true;
  is_bounded_ = messages != 0;
  bound_ = messages;
}

bool Mailbox::SetBoundOf(MailboxQueue& queue, int messages) noexcept {
  auto* const bounded = dynamic_cast<BoundedQueue*>(&queue);
  if (bounded != nullptr) bounded->SetBound(static_cast<std::size_t>(messages));
  return bounded != nullptr;
}

std::string Mailbox::ToString() const {
  const std::string_view kind(kind_);
  std::string text(kind);
  if (is_bounded_) {
    text +=
        fmt::format("{}bounded {}, {}", kind.empty() ? "" : ", ", bound_, gen::ToString(overflow_));
  }
  return text.empty() ? "unbounded" : text;
}

std::string Mailbox::Validate() const {
  constexpr auto kMost = static_cast<int>(core::kMaxMailboxBound);
  if (is_bounded_ && (bound_ < 1 || bound_ > kMost)) {
    return fmt::format("mailbox: bound {}, must be 1..{}", bound_, kMost);
  }
  return {};
}

}  // namespace ergon::gen
