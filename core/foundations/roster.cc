#include <ergon/core/foundations/roster.h>

namespace ergon::core {

Roster::Place& Roster::Enter(const void* who) {
  // Acquire; partner: the release below.
  for (Place* place = first_.load(std::memory_order_acquire); place != nullptr;
       place = place->next) {
    const void* nobody = nullptr;
    if (place->who.compare_exchange_strong(nobody, who, std::memory_order_acq_rel)) return *place;
  }
  auto* const place = new Place;  // never freed: see the class
  place->who.store(who, std::memory_order_relaxed);
  place->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(place->next, place, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return *place;
}

}  // namespace ergon::core
