// What the processes send each other and what the shop sends them, and the names under which they are found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ergon/gen/node_options.h>
#include <ergon/node/erlang.h>

namespace price_service {

inline constexpr const char* kCatalog = "catalog";
inline constexpr const char* kPrices = "prices";
inline constexpr const char* kAdministration = "administration";
inline constexpr const char* kService = "service";  // the supervisor of these
inline constexpr const char* kSystemd = "systemd";

// The event with the newest table, for the workers; the group of those in the shop who want to know of changes.
inline constexpr const char* kTable = "price_table";
inline constexpr const char* kWatchers = "price_watchers";

// -- between the shop and this node: what each looks like in Elixir --

struct Item {  // %{article: "tea", count: 2}
  std::string article;
  std::int64_t count = 1;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(ergon::dist::Field("article", article), ergon::dist::Field("count", count));
  }
};

struct Offer {  // %{cents: 500, saved: nil}
  std::int64_t cents = 0;
  std::optional<std::int64_t> saved;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(ergon::dist::Field("cents", cents), ergon::dist::Field("saved", saved));
  }
};

// To the prices: a request.
struct Order {  // %{items: [%{article: "tea", count: 2}], voucher: nil}
  using Reply = Offer;
  std::vector<Item> items;
  std::optional<std::string> voucher;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(ergon::dist::Field("items", items), ergon::dist::Field("voucher", voucher));
  }
};

// To the prices, before all orders that wait: so many workers from now on. The answer is their number.
struct Resize {  // {:resize, 8}
  using Reply = std::int64_t;
  static constexpr const char* kTag = "resize";
  int workers = 1;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(workers);
  }
};

// To the catalog: a message, that of GenServer.cast.
struct SetPrice {  // {:set_price, "tea", 300}
  static constexpr const char* kTag = "set_price";
  std::string article;
  std::int64_t cents = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(article, cents);
  }
};

// From the catalog to all in the group kWatchers.
struct
    PriceChanged {  // {:price_changed, "tea", 250, 300}; of a new article {:price_changed, "jam", nil, 400}
  static constexpr const char* kTag = "price_changed";
  std::string article;
  std::optional<std::int64_t> before;
  std::int64_t cents = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(article, before, cents);
  }
};

inline void RegisterTypes(ergon::gen::NodeOptions& options) {
  options.types.Register<Item>().Register<Offer>().Register<Order>();
  options.types.Register<SetPrice>().Register<PriceChanged>();
  options.types.Register<Resize>({.priority = ergon::gen::MessagePriority::kHigh});
}

// -- within this node --

// The value of the event kTable.
struct PriceTable {
  std::map<std::string, std::int64_t> cents;  // by article
};

}  // namespace price_service
