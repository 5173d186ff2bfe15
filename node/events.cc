#include <ergon/node/events.h>

#include <algorithm>

namespace ergon::node {
namespace {

gen::Error Unknown(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, "no event " + name.ToString());
}

}  // namespace

gen::Result<void> Events::Add(gen::Atom name, gen::PID producer, gen::Ref token) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "event name: must not be empty");
  std::lock_guard lock(mutex_);
  if (!entries_.emplace(name, Entry{producer, token, {}}).second) {
    return gen::Error(gen::ErrorCode::kTaken, "event " + name.ToString());
  }
  return {};
}

gen::Result<std::vector<gen::PID>> Events::Remove(gen::Atom name, gen::PID producer) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end() || found->second.producer != producer) return Unknown(name);
  std::vector<gen::PID> subscribers = std::move(found->second.subscribers);
  entries_.erase(found);
  return subscribers;
}

gen::Result<void> Events::Subscribe(gen::Atom name, gen::PID subscriber) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end()) return Unknown(name);
  auto& list = found->second.subscribers;
  if (std::find(list.begin(), list.end(), subscriber) != list.end()) {
    return gen::Error(gen::ErrorCode::kTaken, "subscribed already: event " + name.ToString());
  }
  list.push_back(subscriber);
  return {};
}

gen::Result<void> Events::Unsubscribe(gen::Atom name, gen::PID subscriber) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end() || std::erase(found->second.subscribers, subscriber) == 0) {
    return Unknown(name);
  }
  return {};
}

gen::Result<std::vector<gen::PID>> Events::Subscribers(gen::Atom name, gen::Ref token) const {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end()) return Unknown(name);
  if (found->second.token != token) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "wrong token for event " + name.ToString());
  }
  return found->second.subscribers;
}

}  // namespace ergon::node
