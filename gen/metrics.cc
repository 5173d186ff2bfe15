#include <ergon/gen/metrics.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <ergon/core/foundations/striped_counter.h>
#include <ergon/core/foundations/striped_histogram.h>

namespace ergon::gen {

void Counter::Add(std::uint64_t amount) noexcept {
  // What was negative has become more than this, and the count would go down.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (cells_ != nullptr && amount <= kMost) cells_->Add(amount);
}
std::uint64_t Counter::Value() const noexcept { return cells_ == nullptr ? 0 : cells_->Sum(); }

// Nobody draws conclusions from a gauge about other memory, so nothing is ordered by it.
void Gauge::Set(double value) noexcept {
  if (cell_ != nullptr) cell_->store(value, std::memory_order_relaxed);
}
void Gauge::Add(double amount) noexcept {
  if (cell_ != nullptr) cell_->fetch_add(amount, std::memory_order_relaxed);
}
double Gauge::Value() const noexcept {
  return cell_ == nullptr ? 0 : cell_->load(std::memory_order_relaxed);
}

void Histogram::Observe(double value) noexcept {
  if (cells_ != nullptr) cells_->Add(value);
}

HistogramView Histogram::View() const {
  HistogramView view;
  if (cells_ == nullptr) return view;
  const core::StripedHistogram::View read = cells_->Read();
  view.sum = read.sum;
  view.buckets.reserve(read.counts.size());
  int exponent = cells_->first();
  for (const std::uint64_t count : read.counts) {
    view.count += count;
    const bool is_last = exponent > cells_->last();
    view.buckets.push_back(
        {is_last ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, exponent),
         view.count});
    ++exponent;
  }
  return view;
}

}  // namespace ergon::gen
