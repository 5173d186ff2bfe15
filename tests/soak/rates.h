// Messages handled in each second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ergon::soak {

class Rates {
 public:
  void Add(double per_second) { rates_.push_back(per_second); }
  [[nodiscard]] std::size_t size() const { return rates_.size(); }
  // The medians of the first and of the last fifth; 0 if there is nothing.
  [[nodiscard]] double First() const { return Median(0, Part()); }
  [[nodiscard]] double Last() const { return Median(rates_.size() - Part(), rates_.size()); }

 private:
  [[nodiscard]] std::size_t Part() const { return (rates_.size() + 4) / 5; }
  [[nodiscard]] double Median(std::size_t begin, std::size_t end) const {
    std::vector<double> part(rates_.begin() + static_cast<std::ptrdiff_t>(begin),
                             rates_.begin() + static_cast<std::ptrdiff_t>(end));
    if (part.empty()) return 0;
    std::sort(part.begin(), part.end());
    return part[part.size() / 2];
  }

  std::vector<double> rates_;
};

}  // namespace ergon::soak
