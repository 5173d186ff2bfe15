// A histogram that many threads add to and few read, with bounds that are powers of two. Each thread adds to a stripe
// of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ergon/core/foundations/thread_stripe.h>

namespace ergon::core {

class StripedHistogram {
 public:
  // The upper bounds of its buckets are 2^first, 2^(first + 1) and so on to 2^last, `first` <= `last`. One more bucket
  // has no bound.
  StripedHistogram(int first, int last);

  // Counts a value. A value that is negative, infinite or NaN counts as 0. May be called from any thread.
  void Add(double value) noexcept;

  struct View {
    std::vector<std::uint64_t> counts;  // of each bucket alone; the last one has no bound
    double sum = 0;                     // of all values
  };
  // Returns a view, which is exact when no thread adds. May be called from any thread.
  [[nodiscard]] View Read() const;

  [[nodiscard]] int first() const noexcept { return first_; }
  [[nodiscard]] int last() const noexcept { return last_; }

 private:
  struct alignas(64) Line {
    static constexpr std::size_t kCells = 8;
    std::array<std::atomic<std::uint64_t>, kCells> cells{};
  };

  // Cell 0 has the sum, as the bits of a double; the buckets come next.
  [[nodiscard]] std::size_t CellOf(double value) const noexcept;
  [[nodiscard]] std::size_t Cells() const noexcept {
    return static_cast<std::size_t>(last_ - first_) + 3;
  }
  [[nodiscard]] const std::atomic<std::uint64_t>& At(std::size_t stripe, std::size_t cell) const {
    return lines_[stripe * lines_each_ + cell / Line::kCells].cells[cell % Line::kCells];
  }

  const int first_;
  const int last_;
  const double least_bound_;
  const double greatest_bound_;
  const std::size_t lines_each_ = (Cells() + Line::kCells - 1) / Line::kCells;  // of a stripe
  std::vector<Line> lines_{ThreadStripe::kCount * lines_each_};
};

}  // namespace ergon::core
