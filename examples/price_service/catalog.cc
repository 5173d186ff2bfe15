#include "catalog.h"

#include <optional>
#include <utility>

#include <ergon/gen/match.h>

namespace price_service {

using namespace ergon;

gen::Status Catalog::Init(const gen::Args&) {
  // Whoever subscribes later, as the worker of a pool that has grown, gets the last table at once.
  auto token = RegisterEvent(kTable, {.buffer = 1});
  if (!token) return gen::Stop(token.error());
  token_ = *token;
  Publish();
  return gen::Continue();
}

gen::Status Catalog::HandleMessage(gen::PID from, gen::Message& message) {
  return gen::Match(
      message,
      [&](const SetPrice& price) {
        Set(price);
        return gen::Continue();
      },
      [&](gen::Message& other) { return Actor::HandleMessage(from, other); });
}

void Catalog::Set(const SetPrice& price) {
  if (price.cents < 1) {
    Log().Warning("the price of {}: {} is less than 1 cent", price.article, price.cents);
    return;
  }
  const auto known = table_.cents.find(price.article);
  const auto before =
      known == table_.cents.end() ? std::nullopt : std::optional<std::int64_t>(known->second);
  table_.cents[price.article] = price.cents;
  Publish();
  // Processes of Erlang and Elixir subscribe to no event: they join a group.
  const auto sent = SendToGroup(kWatchers, PriceChanged{price.article, before, price.cents});
  if (!sent) Log().Warning("the watchers do not learn of a price: {}", sent.error());
}

void Catalog::Publish() {
  const auto sent = SendEvent(kTable, token_, table_);
  if (!sent) Log().Error("the workers do not learn of a price: {}", sent.error());
}

gen::Inspection Catalog::HandleInspect(gen::PID, const std::vector<std::string>&) {
  gen::Inspection told;
  for (const auto& [article, cents] : table_.cents) told[article] = std::to_string(cents);
  return told;
}

}  // namespace price_service
