#include <ergon/act/state_machine/timeouts.h>

#include <algorithm>
#include <utility>

namespace ergon::act {

std::vector<StateTimeouts::Timeout>::iterator StateTimeouts::Find(const TimeoutKey& key) {
  return std::find_if(set_.begin(), set_.end(),
                      [&](const Timeout& timeout) { return timeout.key == key; });
}

OwnStateEvent StateTimeouts::TakeEventOf(std::vector<Timeout>::iterator timeout) {
  OwnStateEvent event{
      .kind = timeout->key.kind, .name = timeout->key.name, .value = std::move(timeout->value)};
  set_.erase(timeout);
  return event;
}

void StateTimeouts::Cancel(const TimeoutKey& key) {
  const auto found = Find(key);
  if (found == set_.end()) return;
  if (found->id != 0) commands_.push_back({.id = found->id});
  set_.erase(found);
}

void StateTimeouts::Set(const TimeoutKey& key, std::chrono::nanoseconds delay,
                        gen::OwnedMessage value) {
  Cancel(key);
  const bool due = delay <= std::chrono::nanoseconds::zero();
  const Id id = due ? 0 : ++last_id_;
  if (!due) commands_.push_back({.start = true, .id = id, .delay = delay});
  set_.push_back({key, id, std::move(value)});
}

void StateTimeouts::Apply(std::vector<TimeoutChange> changes) {
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    const bool overruled = std::any_of(std::next(change), changes.end(),
                                       [&](const auto& later) { return later.key == change->key; });
    if (overruled) continue;
    switch (change->what) {
      case TimeoutChange::What::kSet:
        Set(change->key, change->delay, std::move(change->value));
        break;
      case TimeoutChange::What::kUpdate:
        if (const auto running = Find(change->key); running != set_.end()) {
          running->value = std::move(change->value);
        } else {
          Set(change->key, std::chrono::nanoseconds::zero(), std::move(change->value));
        }
        break;
      case TimeoutChange::What::kCancel:
        Cancel(change->key);
        break;
    }
  }
}

std::optional<OwnStateEvent> StateTimeouts::Fired(Id id) {
  const auto found = std::find_if(set_.begin(), set_.end(),
                                  [id](const Timeout& timeout) { return timeout.id == id; });
  if (found == set_.end()) return std::nullopt;
  return TakeEventOf(found);
}

std::optional<OwnStateEvent> StateTimeouts::TakeDue() {
  const auto found = std::find_if(set_.begin(), set_.end(),
                                  [](const Timeout& timeout) { return timeout.id == 0; });
  if (found == set_.end()) return std::nullopt;
  return TakeEventOf(found);
}

std::vector<StateTimeouts::Command> StateTimeouts::TakeCommands() {
  return std::exchange(commands_, {});
}

std::string StateTimeouts::ToString() const {
  std::string text;
  for (const Timeout& timeout : set_) {
    if (!text.empty()) text += ", ";
    text += timeout.key.kind == StateEventKind::kStateTimeout   ? "state"
            : timeout.key.kind == StateEventKind::kEventTimeout ? "event"
                                                                : timeout.key.name.ToString();
  }
  return text;
}

}  // namespace ergon::act
