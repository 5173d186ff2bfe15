#include <ergon/act/state_machine/timeouts.h>

#include <utility>

namespace ergon::act {

OwnStateEvent StateTimeouts::TakeEventOf(const TimeoutKey& key) {
  return {.kind = key.kind, .name = key.name, .value = set_.Take(key).value().value};
}

void StateTimeouts::Cancel(const TimeoutKey& key) {
  const std::optional<Timeout> cancelled = set_.Take(key);
  if (!cancelled) return;
  if (cancelled->is_due) {
    due_.erase(cancelled->id);
  } else {
    (void)running_.Remove(cancelled->id);
    commands_.push_back({.id = cancelled->id});
  }
}

void StateTimeouts::Set(const TimeoutKey& key, std::chrono::nanoseconds delay,
                        gen::OwnedMessage value) {
  Cancel(key);
  const bool is_due = delay <= std::chrono::nanoseconds::zero();
  const Id id = is_due ? ++last_due_ : ++last_id_;
  // First: what is found by its id must be there.
  set_.push_back({key, id, is_due, std::move(value)});
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
  const std::optional<Running> ended = running_.Take(id);
  if (!ended) return std::nullopt;
  return TakeEventOf(ended->key);
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
