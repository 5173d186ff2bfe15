#include <ergon/node/cluster/workers/worker_places.h>

#include <algorithm>
#include <utility>

namespace ergon::dist {

WorkerPlaces::WorkerPlaces(const std::vector<gen::Atom>& nodes) {
  for (const gen::Atom node : nodes) nodes_.push_back({.name = node});
}

std::optional<WorkerPlaces::Place> WorkerPlaces::TakeBest(std::vector<bool>& tried,
                                                          std::int64_t now) {
  tried.resize(nodes_.size());
  const bool is_first = std::find(tried.begin(), tried.end(), true) == tried.end();
  std::size_t best = nodes_.size();
  {
    std::lock_guard lock(mutex_);
    std::size_t next = nodes_.size();  // of those that are left out
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (tried[i]) continue;
      const bool is_paused = nodes_[i].paused_until > now;
      std::size_t& found = is_paused ? next : best;
      const bool is_better =
          found == nodes_.size() || (is_paused ? nodes_[i].paused_until < nodes_[found].paused_until
                                               : nodes_[i].workers < nodes_[found].workers);
      if (is_better) found = i;
    }
    if (best == nodes_.size() && is_first) best = next;
    if (best == nodes_.size()) return std::nullopt;
    ++nodes_[best].workers;
  }
  tried[best] = true;
  return std::optional<Place>(std::in_place, shared_from_this(), best);
}

WorkerPlaces::Place::Place(std::shared_ptr<WorkerPlaces> places, std::size_t index)
    : places_(std::move(places)), index_(index) {}

WorkerPlaces::Place::~Place() {
  if (places_ == nullptr) return;
  std::lock_guard lock(places_->mutex_);
  --places_->nodes_[index_].workers;
}

gen::Atom WorkerPlaces::Place::node() const { return places_->nodes_[index_].name; }

void WorkerPlaces::Place::Reached() {
  std::lock_guard lock(places_->mutex_);
  places_->nodes_[index_].pause = places_->nodes_[index_].paused_until = 0;
}

void WorkerPlaces::Place::NotReached(std::int64_t now) {
  std::lock_guard lock(places_->mutex_);
  Node& node = places_->nodes_[index_];
  if (node.paused_until > now) return;  // another worker has found out meanwhile
  node.pause = node.pause == 0 ? kFirstPause : std::min(2 * node.pause, kLongestPause);
  node.paused_until = now + node.pause;
}

}  // namespace ergon::dist
