#include "prices.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include <ergon/act/actor.h>
#include <ergon/gen/match_request.h>

#include "messages.h"

namespace price_service {

using namespace ergon;

namespace {

constexpr std::int64_t kMostOfOne = 1'000'000;  // of one article in an order
constexpr int kMostWorkers = 1'000;

class Worker : public act::Actor {
 public:
  explicit Worker(std::chrono::milliseconds work) : work_(work) {}

 private:
  gen::Status Init(const gen::Args&) override {
    auto last = MonitorEvent({kTable, {}});
    if (!last) return gen::Stop(last.error());
    if (!last->empty()) table_ = last->back();
    return gen::Continue();
  }
  // All workers share the value: a new price costs no copy of the table.
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    table_ = event;
    return gen::Continue();
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request, [this](const Order& order) { return OfferFor(order); },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }

  // An error that the shop tells apart is an atom there, a text is for people.
  gen::Result<Offer> OfferFor(const Order& order) {
    if (work_.count() != 0) (void)Sleep(work_);  // holds no thread
    if (order.items.empty()) return gen::Error(gen::Atom("empty_order"));
    Offer offer;
    for (const Item& item : order.items) {
      const auto cents = CentsOf(item.article);
      if (!cents) return gen::Error(fmt::format("{}: no such article", item.article));
      if (item.count < 1 || item.count > kMostOfOne) {
        return gen::Error(fmt::format("{}: {} of them: 1 to {} can be ordered", item.article,
                                      item.count, kMostOfOne));
      }
      std::int64_t price = 0;
      if (__builtin_mul_overflow(*cents, item.count, &price) ||
          __builtin_add_overflow(offer.cents, price, &offer.cents)) {
        return gen::Error(
            fmt::format("{}: {} of them: the sum does not fit", item.article, item.count));
      }
    }
    if (order.voucher == "TEN_PERCENT") offer.saved = offer.cents / 10;
    offer.cents -= offer.saved.value_or(0);
    // A bug, which costs its caller an answer and the pool a worker that is replaced at once.
    if (order.voucher == "BUG") throw std::logic_error("a voucher with a bug");
    return offer;
  }
  std::optional<std::int64_t> CentsOf(const std::string& article) const {
    if (!table_) return std::nullopt;
    const auto& cents = table_->As<PriceTable>()->cents;
    const auto found = cents.find(article);
    return found == cents.end() ? std::nullopt : std::optional(found->second);
  }

  const std::chrono::milliseconds work_;
  std::optional<gen::MessageEvent> table_;
};

}  // namespace

gen::Result<act::PoolOptions> Prices::Init(const gen::Args&) {
  return act::PoolOptions{.pool_size = options_.workers,
                          .worker_factory = gen::Factory<Worker>(options_.work),
                          .worker_mailbox_size = options_.queue};
}

gen::CallResult Prices::HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) {
  return gen::MatchRequest(
      request, [this](const Resize& resize) { return ResizeTo(resize.workers); },
      [&](gen::Message& other) { return Pool::HandleCall(from, ref, other); });
}

gen::Result<std::int64_t> Prices::ResizeTo(int workers) {
  if (workers < 1 || workers > kMostWorkers) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("workers: {} is outside 1..{}", workers, kMostWorkers));
  }
  const int more = workers - static_cast<int>(WorkerCount());
  if (more > 0) return AddWorkers(more);
  if (more < 0) return RemoveWorkers(-more);  // what waits at them is handled first
  return WorkerCount();
}

}  // namespace price_service
