#include <soak/soak_pool.h>

#include <algorithm>
#include <utility>

namespace ergon::soak {
namespace {
constexpr std::int64_t kMostWorkers = 8;
}  // namespace

SoakPool::SoakPool(Stage* stage, act::PoolOptions options)
    : stage_(*stage), options_(std::move(options)) {}

gen::Result<act::PoolOptions> SoakPool::Init(const gen::Args&) { return options_; }

gen::Status SoakPool::HandleMessage(gen::PID from, gen::Message& message) {
  if (auto* resize = message.As<Resize>()) {
    resize->ticket.Start(false);
    const auto room = static_cast<int>(std::max<std::int64_t>(0, kMostWorkers - WorkerCount()));
    // What is too much is refused, or fails together with the factory: both are part of the test.
    gen::Result<std::int64_t> size = std::int64_t{0};
    if (resize->by > 0) {
      size = AddWorkers(std::min(resize->by, room));
    } else if (resize->at_once) {
      size = RemoveWorkersNow(-resize->by);
    } else {
      size = RemoveWorkers(-resize->by);
    }
    if (size) stage_.Note(Fault::kResized);
    return gen::Continue();
  }
  if (auto* end = message.As<EndPool>()) {
    end->ticket.Start(false);
    stage_.Note(Fault::kPoolEnded);
    return gen::Stop(gen::Reason::Error("told to end"));
  }
  return Pool::HandleMessage(from, message);
}

}  // namespace ergon::soak
