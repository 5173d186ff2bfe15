#include "customer.h"

#include <random>
#include <utility>

namespace queue_service {

using namespace ergon;

gen::CallResult Customer::HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) {
  const auto* work = request.As<Work>();
  if (work == nullptr) return Actor::HandleCall(from, ref, request);
  std::mt19937_64 random(work->seed);
  History history;
  Item item = work->first_item;
  for (std::uint64_t i = 0; i < work->operations && *work->stop == 0; ++i) {
    const bool is_put = (random() & 1) == 0;
    auto done = is_put ? Call(work->queue, Put{item++}, {.timeout = gen::kInfinite})
                       : Call(work->queue, Take{}, {.timeout = gen::kInfinite});
    history.push_back({is_put, done.value()});
  }
  return gen::Reply(std::move(history));
}

}  // namespace queue_service
