#include <ergon/node/observer/views/process_tree.h>

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/observer/numbers/census.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::node {
namespace {

constexpr std::size_t kMostOfOne = 50;  // children that are shown
constexpr std::size_t kSlice = 4'096;   // entries, between which others may run

struct Child {
  std::uint64_t parent = 0;  // 0: the node, or one that has ended
  std::uint64_t id = 0;

  friend auto operator<=>(const Child&, const Child&) = default;
};

// Sorts in slices.
void Sort(gen::Process& self, std::vector<Child>& all) {
  const auto at = [&](std::size_t place) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::min(place, all.size()));
  };
  for (std::size_t begin = 0; begin < all.size(); begin += kSlice) {
    std::sort(at(begin), at(begin + kSlice));
    self.Yield();
  }
  std::vector<Child> merged;
  merged.reserve(all.size());
  for (std::size_t sorted = kSlice; sorted < all.size(); sorted *= 2) {
    merged.clear();
    for (std::size_t begin = 0; begin < all.size(); begin += 2 * sorted) {
      auto left = at(begin);
      auto right = at(begin + sorted);
      const auto middle = right;
      const auto end = at(begin + 2 * sorted);
      while (left != middle || right != end) {
        const bool takes_left = right == end || (left != middle && *left < *right);
        merged.push_back(takes_left ? *left++ : *right++);
        if (merged.size() % kSlice == 0) self.Yield();
      }
    }
    all.swap(merged);
  }
}

// All processes by parent.
class Families {
 public:
  Families(gen::Process& self, const Addresses& addresses) : self_(self) {
    VisitProcesses(self, addresses, [&](const ProcessSlot& slot, std::uint64_t id) {
      const std::uint64_t parent = slot.ParentIdOf(addresses.PidOf(id));
      const bool is_there = addresses.Find(addresses.PidOf(parent)) != nullptr;
      all_.push_back({is_there ? parent : 0, id});
    });
    Sort(self, all_);
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::span<const Child> Of(std::uint64_t parent) const {
    return {std::ranges::lower_bound(all_, parent, {}, &Child::parent),
            std::ranges::upper_bound(all_, parent, {}, &Child::parent)};
  }
  // Up to `most`, those with children of their own first.
  [[nodiscard]] std::vector<std::uint64_t> Some(std::uint64_t parent, std::size_t most) const {
    std::vector<std::uint64_t> some;
    std::vector<std::uint64_t> childless;
    std::size_t looked_at = 0;
    for (const Child& child : Of(parent)) {
      if (some.size() == most) return some;
      if (++looked_at % kSlice == 0) self_.Yield();
      auto& kind = Of(child.id).empty() ? childless : some;
      if (kind.size() < most) kind.push_back(child.id);
    }
    childless.resize(std::min(childless.size(), most - some.size()));
    some.insert(some.end(), childless.begin(), childless.end());
    return some;
  }

 private:
  gen::Process& self_;
  std::vector<Child> all_;
};

struct Place {
  std::uint64_t id = 0;
  std::uint32_t depth = 0;
  std::vector<std::size_t> children = {};  // their places
};

// The first is the root. Level by level, so that a limit takes away what is deep.
std::vector<Place> PlacesOf(const Families& families, const TreeQuery& query) {
  std::vector<Place> places{{query.root}};
  const std::size_t most = query.limit + (query.root == 0 ? 1 : 0);  // the node itself has no row
  const std::uint32_t below_root = query.root == 0 ? 0 : 1;
  for (std::size_t i = 0; i < places.size() && places.size() < most; ++i) {
    const std::size_t most_of_it = i == 0 ? std::max<std::size_t>(query.limit / 2, 1) : kMostOfOne;
    for (const std::uint64_t child : families.Some(places[i].id, most_of_it)) {
      if (places.size() == most) break;
      places[i].children.push_back(places.size());
      const std::uint32_t depth = i == 0 ? below_root : places[i].depth + 1;
      places.push_back({child, depth});
    }
  }
  return places;
}

// None: it has ended, or never was, and nothing is below it.
std::optional<TreeRow> RowOf(const Inspection& inspection, BehaviorIndex& index,
                             const Families& families, const Place& place) {
  TreeRow row{.process = LabelOf(index, place.id),
              .depth = place.depth,
              .children = families.Of(place.id).size(),
              .links = {}};
  const ProcessSlot* const slot = index.addresses().Find(row.process.pid);
  if (slot == nullptr) return row.children == 0 ? std::nullopt : std::optional(std::move(row));
  row.state = slot->State();
  row.links = inspection.LinksOf(row.process.pid, TreeRow::kMostLinks);
  return row;
}

}  // namespace

gen::Result<TreeQuery> ParseTreeQuery(const UrlQuery& query) {
  TreeQuery parsed;
  for (const auto& [name, value] : query) {
    const auto number = NumberIn(query, name);
    if (name == "root") {
      if (!number) return Incorrect("root: must be the id of a process");
      parsed.root = *number;
    } else if (name == "limit") {
      if (!number || *number < 1 || *number > TreeQuery::kMost) {
        return Incorrect(fmt::format("limit: must be a number in 1..{}", TreeQuery::kMost));
      }
      parsed.limit = *number;
    } else {
      return Incorrect("allowed parameters: root, limit");
    }
  }
  return parsed;
}

TreeRows FindTree(gen::Process& self, BehaviorIndex& index, const TreeQuery& query) {
  TreeRows found;
  const Families families(self, index.addresses());
  found.in_all = families.size();
  found.at_top = families.Of(query.root).size();
  const std::vector<Place> places = PlacesOf(families, query);
  const Inspection& inspection = RuntimeOf(self.Node(), "node::ObserverFactory").inspection();
  std::vector<std::size_t> waiting{0};
  while (!waiting.empty()) {
    const Place& place = places[waiting.back()];
    waiting.pop_back();
    waiting.insert(waiting.end(), place.children.rbegin(), place.children.rend());
    if (place.id == 0) continue;
    if (auto row = RowOf(inspection, index, families, place)) found.rows.push_back(std::move(*row));
  }
  return found;
}

}  // namespace ergon::node
