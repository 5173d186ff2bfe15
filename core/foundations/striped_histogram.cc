#include <ergon/core/foundations/striped_histogram.h>

#include <bit>
#include <cmath>
#include <limits>

namespace ergon::core {

StripedHistogram::StripedHistogram(int first, int last)
    : first_(first),
      last_(last),
      least_bound_(std::ldexp(1.0, first)),
      greatest_bound_(std::ldexp(1.0, last)) {}

std::size_t StripedHistogram::CellOf(double value) const noexcept {
  if (value <= least_bound_) return 1;
  if (value > greatest_bound_) return Cells() - 1;
  // Of a double, 52 bits are its fraction, and those above the exponent that its power of two has, and 1023.
  constexpr int kFractionBits = 52;
  constexpr int kExponentBias = 1'023;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> kFractionBits) - kExponentBias;
  // A power of two is a bound itself: it belongs to the bucket below.
  const bool is_bound = (bits << (64 - kFractionBits)) == 0;
  return static_cast<std::size_t>(exponent - first_) + (is_bound ? 1 : 2);
}

void StripedHistogram::Add(double value) noexcept {
  // An infinite one would be the sum for ever.
  if (!(value > 0 && value <= std::numeric_limits<double>::max())) value = 0;
  const ThreadStripe stripe = ThreadStripe::OfThisThread();
  Line* const lines = &lines_[stripe.index() * lines_each_];
  const std::size_t cell = CellOf(value);
  stripe.Add(lines[cell / Line::kCells].cells[cell % Line::kCells], 1);
  std::atomic<std::uint64_t>& sum = lines[0].cells[0];
  std::uint64_t bits = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(
      bits, std::bit_cast<std::uint64_t>(std::bit_cast<double>(bits) + value),
      std::memory_order_relaxed)) {
  }
}

StripedHistogram::View StripedHistogram::Read() const {
  View view{.counts = std::vector<std::uint64_t>(Cells() - 1)};
  for (std::size_t stripe = 0; stripe < ThreadStripe::kCount; ++stripe) {
    view.sum += std::bit_cast<double>(At(stripe, 0).load(std::memory_order_relaxed));
    for (std::size_t i = 0; i < view.counts.size(); ++i) {
      view.counts[i] += At(stripe, i + 1).load(std::memory_order_relaxed);
    }
  }
  return view;
}

}  // namespace ergon::core
