#include <ergon/node/events/events.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/process_state/first_by_name.h>

namespace ergon::node {
namespace {

constexpr int kMaxBuffer = 1'000'000;

gen::Error UnknownEvent(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, "no event " + name.ToString());
}

}  // namespace

std::shared_ptr<Events::Entry> Events::Find(gen::Atom name) const {
  std::shared_lock lock(mutex_);
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

gen::Result<void> Events::Add(gen::Atom name, gen::PID producer, gen::Ref token,
                              const gen::EventOptions& options) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "event name: must not be empty");
  if (options.buffer < 0 || options.buffer > kMaxBuffer) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("buffer: {}, must be 0..{}", options.buffer, kMaxBuffer));
  }
  auto entry = std::make_shared<Entry>(producer, token, options);
  std::unique_lock lock(mutex_);
  if (!entries_.emplace(name, std::move(entry)).second) {
    return gen::Error(gen::ErrorCode::kTaken, "event " + name.ToString());
  }
  return {};
}

gen::Result<Events::Subscribers> Events::End(gen::Atom name, gen::PID producer) {
  const std::shared_ptr<Entry> entry = Find(name);
  if (entry == nullptr || entry->producer != producer) return UnknownEvent(name);
  Subscribers subscribers;
  {
    // Those who have found it before see that it is gone.
    std::lock_guard lock(entry->mutex);
    if (entry->ended) return UnknownEvent(name);
    entry->ended = true;
    subscribers.assign(entry->subscribers.begin(), entry->subscribers.end());
  }
  // Not before: the values of another event with this name come behind all of this one.
  std::unique_lock lock(mutex_);
  entries_.erase(name);
  return subscribers;
}

gen::Result<std::vector<gen::MessageEvent>> Events::Subscribe(gen::Atom name, gen::PID subscriber,
                                                              const Subscription& how,
                                                              const Notify& notify, EventMark* mark,
                                                              const Place& place) {
  const std::shared_ptr<Entry> entry = Find(name);
  if (entry == nullptr) return UnknownEvent(name);
  std::lock_guard lock(entry->mutex);
  if (entry->ended) return UnknownEvent(name);
  if (mark != nullptr && mark->event == entry->id && mark->seen > entry->published) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("mark: says that {} values of event {} were seen, but it has "
                                  "published only {}",
                                  mark->seen, name, entry->published));
  }
  const bool first = entry->subscribers.empty();
  const auto [found, is_new] = Insert(*entry, subscriber);
  Subscription& has = found->second;
  if ((how.monitor != 0 && has.monitor != 0) || (how.link != 0 && has.link != 0)) {
    return gen::Error(gen::ErrorCode::kTaken, "subscribed already: event " + name.ToString());
  }
  const Subscription before = has;
  if (how.monitor != 0) has.monitor = how.monitor;
  if (how.link != 0) has.link = how.link;
  try {
    std::vector<gen::MessageEvent> missed;
    if (is_new) {
      missed = TakeMissed(*entry, mark, place);
    } else if (mark != nullptr) {
      *mark = {};
    }
    // Last: the producer would not hear that there is none.
    if (first && entry->options.notify) notify(entry->producer);
    return missed;
  } catch (...) {  // no memory
    has = before;
    if (is_new) Erase(*entry, found, nullptr);
    throw;
  }
}

std::pair<std::map<gen::PID, Subscription>::iterator, bool> Events::Insert(Entry& entry,
                                                                           gen::PID subscriber) {
  if (!entry.IsElsewhere(subscriber)) return entry.subscribers.try_emplace(subscriber);
  // The counter first: whoever erases the subscriber finds it.
  const auto [node, is_first] = entry.elsewhere.try_emplace(subscriber.node);
  try {
    const auto place = entry.subscribers.try_emplace(subscriber);
    if (place.second) ++node->second;
    return place;
  } catch (...) {
    if (is_first) entry.elsewhere.erase(node);
    throw;
  }
}

std::vector<gen::MessageEvent> Events::TakeMissed(const Entry& entry, EventMark* mark,
                                                  const Place& place) {
  const std::size_t missed = entry.Missed(mark == nullptr ? EventMark() : *mark);
  if (mark != nullptr) *mark = {entry.id, entry.published};
  const auto begin = std::prev(entry.buffer.end(), static_cast<std::ptrdiff_t>(missed));
  if (place == nullptr) return {begin, entry.buffer.end()};
  std::for_each(begin, entry.buffer.end(), place);
  return {};
}

std::size_t Events::Entry::Missed(const EventMark& mark) const {
  if (mark.event != id) return buffer.size();
  return std::min<std::uint64_t>(buffer.size(), published - mark.seen);
}

std::size_t Events::Entry::SubscribersElsewhere() const {
  std::size_t all = 0;
  for (const auto& [node, count] : elsewhere) all += count;
  return all;
}

std::uint64_t Events::IdOf(gen::Atom name) const {
  const std::shared_ptr<Entry> entry = Find(name);
  return entry == nullptr ? 0 : entry->id;
}

std::pair<std::vector<Events::Info>, std::size_t> Events::Infos(std::size_t most) const {
  std::vector<std::pair<gen::Atom, std::shared_ptr<Entry>>> all;
  {
    std::shared_lock lock(mutex_);
    all.assign(entries_.begin(), entries_.end());
  }
  const std::size_t in_all = all.size();
  KeepFirstByName(all, most);
  std::vector<Info> infos;
  for (const auto& [name, entry] : all) {
    std::lock_guard lock(entry->mutex);
    infos.push_back({.name = name,
                     .producer = entry->producer,
                     .subscribers = entry->subscribers.size(),
                     .subscribers_elsewhere = entry->SubscribersElsewhere(),
                     .buffered = entry->buffer.size(),
                     .buffer = static_cast<std::size_t>(entry->options.buffer),
                     .published = entry->published});
  }
  return {std::move(infos), in_all};
}

EventMark Events::Unsubscribe(gen::Atom name, gen::PID subscriber, const Subscription& how,
                              const Notify& notify) {
  const std::shared_ptr<Entry> entry = Find(name);
  if (entry == nullptr) return {};
  std::lock_guard lock(entry->mutex);
  auto found = entry->subscribers.find(subscriber);
  if (entry->ended || found == entry->subscribers.end()) return {};
  Subscription& has = found->second;
  if (how.monitor != 0 && has.monitor == how.monitor) has.monitor = 0;
  if (how.link != 0 && has.link == how.link) has.link = 0;
  if (!has.empty()) return {};
  Erase(*entry, found, notify);
  return {entry->id, entry->published};
}

Subscription Events::Remove(gen::Atom name, gen::PID subscriber, const Notify& notify) {
  const std::shared_ptr<Entry> entry = Find(name);
  if (entry == nullptr) return {};
  std::lock_guard lock(entry->mutex);
  auto found = entry->subscribers.find(subscriber);
  if (entry->ended || found == entry->subscribers.end()) return {};
  const Subscription had = found->second;
  Erase(*entry, found, notify);
  return had;
}

void Events::Erase(Entry& entry, std::map<gen::PID, Subscription>::iterator subscriber,
                   const Notify& notify) {
  if (entry.IsElsewhere(subscriber->first)) {
    const auto node = entry.elsewhere.find(subscriber->first.node);
    if (--node->second == 0) entry.elsewhere.erase(node);
  }
  entry.subscribers.erase(subscriber);
  if (notify != nullptr && entry.subscribers.empty() && entry.options.notify) {
    notify(entry.producer);
  }
}

gen::Result<bool> Events::Publish(gen::Atom name, gen::Ref token, const IsReady& is_ready,
                                  const std::function<gen::MessageEvent()>& make,
                                  const Deliver& deliver) {
  const std::shared_ptr<Entry> entry = Find(name);
  if (entry == nullptr) return UnknownEvent(name);
  if (entry->token != token) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "wrong token for event " + name.ToString());
  }
  std::vector<gen::MessageEvent> former;  // goes, with a destructor of the user's, after the lock
  std::lock_guard lock(entry->mutex);
  if (entry->ended) return UnknownEvent(name);
  bool are_ready = true;
  for (const auto& [node, count] : entry->elsewhere) are_ready &= is_ready(node);
  if (!are_ready) return false;
  if (entry->options.buffer != 0) {
    // What may throw comes first.
    former.reserve(1);
    entry->buffer.push_back(make());
    if (entry->buffer.size() > static_cast<std::size_t>(entry->options.buffer)) {
      former.push_back(std::move(entry->buffer.front()));
      entry->buffer.pop_front();
    }
  }
  ++entry->published;
  for (const auto& [subscriber, how] : entry->subscribers) deliver(subscriber, entry->published);
  return true;
}

}  // namespace ergon::node
