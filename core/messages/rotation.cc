#include <ergon/core/messages/rotation.h>

#include <algorithm>

namespace ergon::core {

std::vector<std::uint64_t> Rotation::InOrder() const {
  std::vector<std::uint64_t> receivers;
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  if (size == 0) return receivers;
  const Array& array = *array_.load(std::memory_order_relaxed);
  const std::uint64_t first =
      ticket_.load(std::memory_order_relaxed) - base_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < size; ++i) {
    receivers.push_back(array.entries[(first + i) % size].load(std::memory_order_relaxed));
  }
  return receivers;
}

void Rotation::Publish(const std::vector<std::uint64_t>& receivers) {
  if (receivers.empty()) {
    size_.store(0, std::memory_order_release);
    return;
  }
  if (arrays_.empty() || arrays_.back()->capacity < receivers.size()) {
    const std::size_t doubled = arrays_.empty() ? 8 : 2 * arrays_.back()->capacity;
    arrays_.push_back(std::make_unique<Array>(std::max(doubled, receivers.size())));
  }
  Array& array = *arrays_.back();
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    array.entries[i].store(receivers[i], std::memory_order_release);  // partner: Next
  }
  // A sender between these stores may compute any position below either size; all of them hold
  // receivers of this ring. Release; partner: Next.
  array_.store(&array, std::memory_order_release);
  base_.store(ticket_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  size_.store(static_cast<std::uint32_t>(receivers.size()), std::memory_order_release);
}

bool Rotation::Replace(std::uint64_t receiver, std::uint64_t replacement) noexcept {
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  Array* array = array_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < size; ++i) {
    if (array->entries[i].load(std::memory_order_relaxed) == receiver) {
      array->entries[i].store(replacement, std::memory_order_release);  // partner: Next
      return true;
    }
  }
  return false;
}

void Rotation::Reset() noexcept {
  size_.store(0, std::memory_order_release);
  ticket_.store(0, std::memory_order_relaxed);
  skipped_.store(0, std::memory_order_relaxed);
  refused_.store(0, std::memory_order_relaxed);
}

}  // namespace ergon::core
