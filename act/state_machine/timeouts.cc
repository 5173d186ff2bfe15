#include <ergon/act/state_machine/timeouts.h>

#include <utility>

namespace ergon::act {

OwnStateEvent StateTimeouts::TakeEventOf(TimeoutKey key) {
  OwnStateEvent event{
      .kind = key.kind, .name = key.name, .value = std::move(set_.Find(key)->value)};
  (void)set_.Remove(key);
  return event;
}

void StateTimeouts::Cancel(const TimeoutKey& key) {
  const Timeout* const found = set_.Find(key);
  if (found == nullptr) return;
  if (found->is_due) {
    due_.erase(found->id);
  } else {
    (void)running_.Remove(found->id);
    commands_.push_back({.id = found->id});
  }
  (void)set_.Remove(key);
}

void StateTimeouts::Set(const TimeoutKey& key, std::chrono::nanoseconds delay,
                        gen::OwnedMessage value) {
  Cancel(key);
  const bool is_due = delay <= std::chrono::nanoseconds::zero();
  const Id id = is_due ? ++last_due_ : ++last_id_;
  set_.push_back(
      {key, id, is_due, std::move(value)});  // first: what is found by its id must be there
  if (is_due) {
    due_.emplace(id, key);
  } else {
    running_.push_back({id, key});
    commands_.push_back({.start = true, .id = id, .delay = delay});
  }
}

void StateTimeouts::Apply(std::vector<TimeoutChange> changes) {
  std::map<TimeoutKey, const TimeoutChange*> last;
  if (changes.size() > 1) {
    for (const TimeoutChange& change : changes) last[change.key] = &change;
  }
  for (TimeoutChange& change : changes) {
    const bool is_overruled = changes.size() > 1 && last[change.key] != &change;
    if (is_overruled) continue;
    switch (change.what) {
      case TimeoutChange::What::kSet:
        Set(change.key, change.delay, std::move(change.value));
        break;
      case TimeoutChange::What::kUpdate:
        if (Timeout* const running = set_.Find(change.key)) {
          running->value = std::move(change.value);
        } else {
          Set(change.key, std::chrono::nanoseconds::zero(), std::move(change.value));
        }
        break;
      case TimeoutChange::What::kCancel:
        Cancel(change.key);
        break;
    }
  }
}

std::optional<OwnStateEvent> StateTimeouts::Fired(Id id) {
  const Running* const found = running_.Find(id);
  if (found == nullptr) return std::nullopt;
  const TimeoutKey key = found->key;
  (void)running_.Remove(id);
  return TakeEventOf(key);
}

std::optional<OwnStateEvent> StateTimeouts::TakeDue() {
  if (due_.empty()) return std::nullopt;
  const TimeoutKey key = due_.begin()->second;
  due_.erase(due_.begin());
  return TakeEventOf(key);
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
