#include <ergon/node/observer/http/open_connections.h>

#include <algorithm>
#include <utility>

namespace ergon::node {

OpenConnections::Place::~Place() {
  std::lock_guard lock(all_.mutex_);
  std::erase(all_.places_, this);
}

bool OpenConnections::Place::SetOwner(gen::PID owner) {
  std::lock_guard lock(all_.mutex_);
  owner_ = owner;
  return !all_.is_closed_;
}

void OpenConnections::Place::Set(Activity activity) {
  std::lock_guard lock(all_.mutex_);
  activity_ = activity;
  since_ = ++all_.changes_;
}

std::shared_ptr<OpenConnections::Place> OpenConnections::Enter() {
  std::lock_guard lock(mutex_);
  if (is_closed_ || places_.size() >= most_) return nullptr;
  auto place = std::make_shared<Place>(*this);
  places_.push_back(place.get());
  return place;
}

std::optional<gen::PID> OpenConnections::TakeOldest() {
  std::lock_guard lock(mutex_);
  const auto order = [](const Place* place) { return std::pair(place->activity_, place->since_); };
  const auto oldest = std::ranges::min_element(places_, {}, order);
  if (oldest == places_.end() || (*oldest)->activity_ == Activity::kAnswers) return std::nullopt;
  const gen::PID owner = (*oldest)->owner_;
  places_.erase(oldest);
  return owner;
}

std::vector<gen::PID> OpenConnections::Close() {
  std::lock_guard lock(mutex_);
  is_closed_ = true;
  std::vector<gen::PID> owners;
  for (const Place* place : places_) {
    if (place->owner_) owners.push_back(place->owner_);
  }
  return owners;
}

std::size_t OpenConnections::size() const {
  std::lock_guard lock(mutex_);
  return places_.size();
}

std::size_t OpenConnections::CountOf(Activity activity) const {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(places_, activity, &Place::activity_));
}

}  // namespace ergon::node
