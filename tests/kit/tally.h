// Counting many messages: each number exactly once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <ergon/act/actor.h>

namespace ergon::kit {

// A message that costs next to nothing.
struct Numbered {
  int number = 0;
};

// How often each number below `size` was handled. Any thread.
class Tally {
 public:
  explicit Tally(int size)
      : seen_(std::make_unique<std::atomic<std::uint8_t>[]>(static_cast<std::size_t>(size))),
        size_(size) {}

  void Add(int number) {
    if (seen_[static_cast<std::size_t>(number)].fetch_add(1, std::memory_order_relaxed) != 0) {
      again_.fetch_add(1, std::memory_order_relaxed);
    }
    total_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] int Total() const { return total_.load(); }
  // How many of the first `count` numbers were handled so often.
  [[nodiscard]] int Seen(int times, int count) const {
    int found = 0;
    for (int i = 0; i < count; ++i) {
      found += seen_[static_cast<std::size_t>(i)].load() == times ? 1 : 0;
    }
    return found;
  }
  // All of them exactly once.
  [[nodiscard]] bool EachOnce(int count) const { return Seen(1, count) == count; }
  [[nodiscard]] bool EachOnce() const { return EachOnce(size_); }
  // None more than once. Costs nothing, however many there may be.
  [[nodiscard]] bool NoneTwice() const { return again_.load() == 0; }

 private:
  std::unique_ptr<std::atomic<std::uint8_t>[]> seen_;
  int size_;
  std::atomic<int> total_{0};
  std::atomic<int> again_{0};
};
using TallyPtr = std::shared_ptr<Tally>;

// Counts the Numbered messages that it handles.
class TallyWorker : public act::Actor {
 public:
  explicit TallyWorker(TallyPtr tally) : tally_(std::move(tally)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    tally_->Add(message.Take<Numbered>().number);
    return gen::Continue();
  }

  TallyPtr tally_;
};

}  // namespace ergon::kit
