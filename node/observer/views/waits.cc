#include <ergon/node/observer/views/waits.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <ergon/gen/status.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/observer/numbers/census.h>

namespace ergon::node {
namespace {

struct Wait {
  std::uint64_t from = 0;
  CallEdge::View edge;
  std::uint64_t circle = 0;
};
using Waits = std::vector<Wait>;

Waits AllWaits(gen::Process& self, const Addresses& addresses) {
  Waits waits;
  VisitProcesses(self, addresses, [&](const ProcessSlot& slot, std::uint64_t id) {
    const CallEdge::View edge = slot.Waited();
    if (edge.id == 0 || edge.stage == CallEdge::Stage::kSending) return;
    waits.push_back({id, edge});
  });
  return waits;
}

// Lets others run, now and then in a loop over very many waits.
void YieldAt(gen::Process& self, std::size_t i) {
  if (i % 4'096 == 4'095) self.Yield();
}

// Each process waits for one at most: following them leads into one circle, or to an end.
class Circles {
 public:
  Circles(gen::Process& self, const Addresses& addresses, Waits& waits)
      : self_(self), addresses_(addresses), waits_(waits) {
    by_process_.reserve(waits.size());
    for (std::size_t i = 0; i < waits.size(); ++i) {
      by_process_.emplace(waits[i].from, i);
      YieldAt(self, i);
    }
  }

  // Numbers the circles from 1 on; returns those who are in them, one circle after the other, and how many there are.
  std::pair<std::vector<std::size_t>, std::uint64_t> Find() {
    std::vector<std::size_t> members;
    std::uint64_t count = 0;
    std::vector<std::size_t> seen_from(waits_.size(), waits_.size());
    std::size_t steps = 0;
    for (std::size_t start = 0; start < waits_.size(); ++start) {
      YieldAt(self_, ++steps);
      std::size_t at = start;
      while (at < waits_.size() && seen_from[at] == waits_.size()) {
        YieldAt(self_, ++steps);
        seen_from[at] = start;
        at = Next(at);
      }
      if (at == waits_.size() || seen_from[at] != start) continue;  // an end, or known
      const std::vector<std::size_t> circle = From(at);
      if (!std::ranges::all_of(circle, [this](std::size_t i) { return Holds(waits_[i]); }))
        continue;
      ++count;
      for (const std::size_t i : circle) waits_[i].circle = count;
      members.insert(members.end(), circle.begin(), circle.end());
    }
    return {std::move(members), count};
  }

 private:
  // The number of waits: that one waits for nobody. An inspection is answered while its process waits.
  [[nodiscard]] std::size_t Next(std::size_t i) const {
    const CallEdge::View& edge = waits_[i].edge;
    const auto found = by_process_.find(edge.to);
    const bool ends = found == by_process_.end() || core::IsType<gen::InspectRequest>(edge.type);
    return ends ? waits_.size() : found->second;
  }
  [[nodiscard]] std::vector<std::size_t> From(std::size_t begin) const {
    std::vector<std::size_t> circle{begin};
    for (std::size_t i = Next(begin); i != begin; i = Next(i)) circle.push_back(i);
    return circle;
  }
  // They were read one after the other: those that are still the same were all there at one moment.
  [[nodiscard]] bool Holds(const Wait& wait) const {
    const ProcessSlot* const slot = addresses_.Find(addresses_.PidOf(wait.from));
    const CallEdge::View now = slot == nullptr ? CallEdge::View() : slot->Waited();
    return now.id == wait.edge.id && now.to == wait.edge.to;
  }

  gen::Process& self_;
  const Addresses& addresses_;
  Waits& waits_;
  std::unordered_map<std::uint64_t, std::size_t> by_process_;
};

}  // namespace

WaitRows FindWaits(gen::Process& self, BehaviorIndex& index, std::size_t limit) {
  WaitRows found;
  Waits waits = AllWaits(self, index.addresses());
  found.in_all = waits.size();
  auto [order, circles] = Circles(self, index.addresses(), waits).Find();
  found.circles = circles;
  const auto in_circles = static_cast<std::ptrdiff_t>(order.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].circle == 0) order.push_back(i);
    YieldAt(self, i);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(limit, order.size()));
  if (shown > in_circles) {
    const auto since = [&](std::size_t i) { return waits[i].edge.since; };
    std::ranges::partial_sort(order.begin() + in_circles, order.begin() + shown, order.end(), {},
                              since);
  }
  order.resize(static_cast<std::size_t>(shown));
  const std::int64_t now = self.Now();
  for (const std::size_t i : order) {
    const CallEdge::View& edge = waits[i].edge;
    found.rows.push_back({.from = LabelOf(index, waits[i].from),
                          .to = LabelOf(index, edge.to),
                          .message = TypeForPeople(edge.type),
                          .waiting_ns = std::max<std::int64_t>(now - edge.since, 0),
                          .certain = edge.IsCertain(),
                          .circle = waits[i].circle});
  }
  return found;
}

}  // namespace ergon::node
