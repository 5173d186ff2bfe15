#include <ergon/act/supervisor/strategy.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {
namespace {

std::string Quoted(gen::Atom name) { return fmt::format("'{}'", name); }
gen::Error NotAllowed(gen::Atom name, std::string_view why) {
  return gen::Error(gen::ErrorCode::kNotAllowed, fmt::format("child '{}' {}", name, why));
}

constexpr std::int64_t kSecond = 1'000'000'000;  // ns

// Returns whether a child that has ended is not kept. Once it has started, it was added for good.
bool IsForgotten(const SupervisionStrategy::Child& child) {
  return child.forgotten_when_ended || child.forgotten_unless_started;
}

}  // namespace

SupervisionStrategy::SupervisionStrategy(SupervisorType type, const SupervisorRestart& restart,
                                         SupervisorAutoShutdown auto_shutdown)
    : type_(type), restart_(restart), auto_shutdown_(auto_shutdown) {}

// -- commands --

SupervisionStrategy::Key SupervisionStrategy::Add(const Child& child) {
  const Key key = ++last_key_;
  children_.emplace(key, child);
  return key;
}

gen::Result<void> SupervisionStrategy::MayCommand() const {
  if (ending_) return gen::Error(gen::ErrorCode::kNotAllowed, "the supervisor is ending");
  if (in_round_) return gen::Error(gen::ErrorCode::kNotAllowed, "children are being restarted");
  return {};
}

gen::Result<void> SupervisionStrategy::MayCommand(Key key) const {
  auto allowed = MayCommand();
  if (!allowed) return allowed;
  const Child& child = children_.at(key);
  if (child.state == State::kStopping) return NotAllowed(child.name, "is being ended");
  return {};
}

gen::Result<void> SupervisionStrategy::Remove(Key key) {
  auto allowed = MayCommand(key);
  if (!allowed) return allowed;
  const Child& child = children_.at(key);
  if (IsAlive(child)) return gen::Error(gen::ErrorCode::kChildRunning, Quoted(child.name));
  children_.erase(key);
  return {};
}

gen::Result<void> SupervisionStrategy::Start(Key key) {
  auto allowed = MayCommand(key);
  if (!allowed) return allowed;
  Child& child = children_.at(key);
  if (child.disabled) return gen::Error(gen::ErrorCode::kChildDisabled, Quoted(child.name));
  if (IsAlive(child)) return gen::Error(gen::ErrorCode::kChildRunning, Quoted(child.name));
  Launch(key, child);
  return {};
}

gen::Result<void> SupervisionStrategy::Stop(Key key, Then then) {
  auto allowed = MayCommand(key);
  if (!allowed) return allowed;
  Child& child = children_.at(key);
  if (then == Then::kStart && child.disabled)
    return gen::Error(gen::ErrorCode::kChildDisabled, Quoted(child.name));
  child.disabled = child.disabled || then == Then::kDisable;
  child.must_start = then == Then::kStart;
  child.restarting = false;
  if (IsAlive(child)) {
    Halt(key, child);
  } else if (child.must_start) {
    Launch(key, child);
  }
  return {};
}

gen::Result<void> SupervisionStrategy::Enable(Key key) {
  auto allowed = MayCommand(key);
  if (!allowed) return allowed;
  Child& child = children_.at(key);
  if (!child.disabled) return NotAllowed(child.name, "is not disabled");
  child.disabled = false;
  Launch(key, child);
  return {};
}

void SupervisionStrategy::End(const gen::Reason& reason) {
  if (ending_) return;
  ending_ = true;
  end_reason_ = reason;
  stopped_from_ = kBehindAll;
  for (auto& [key, child] : children_) {
    child.must_start = false;
    child.must_stop = child.state == State::kStarting || child.state == State::kRunning;
  }
  // Children of templates do not know each other, and may be very many: they need no order.
  if (type_ == SupervisorType::kSimpleOneForOne) (void)AdvanceStops(false);
  Advance();
}

// -- what happened --

void SupervisionStrategy::Started(Key key) {
  Child& child = children_.at(key);
  if (child.state != State::kStarting) return;  // it is being stopped
  child.forgotten_unless_started = false;
  child.state = State::kRunning;
  if (!child.must_stop) {  // else a round means the start after that
    if (child.restarting) ++child.restarts;
    child.restarting = false;
  }
  Advance();
}

void SupervisionStrategy::Ended(Key key, const gen::Reason& reason, std::int64_t now) {
  Child& child = children_.at(key);
  const State was = std::exchange(child.state, State::kEnded);
  if (was == State::kEnded) return;
  --alive_;
  if (was == State::kStopping) stopping_.erase(key);
  const bool wanted = was == State::kStopping || std::exchange(child.must_stop, false) || ending_;
  if (wanted) {
    if (child.must_start && !in_round_) {
      Launch(key, child);
    } else if (!child.must_start && IsForgotten(child)) {
      Forget(key);
    }
  } else if (was == State::kStarting && !child.restarting) {
    // A first start has failed: whoever asked for it is told, and that is all.
    if (IsForgotten(child)) Forget(key);
  } else {
    // A process that does not come up is not done with its work, whatever it says.
    const bool failed = was == State::kStarting || reason.IsFailure();
    EndedByItself(key, child, failed, reason, now);
  }
  Advance();
}

void SupervisionStrategy::EndedByItself(Key key, Child& child, bool failed,
                                        const gen::Reason& reason, std::int64_t now) {
  const bool again = child.strategy == SupervisorStrategy::kPermanent ||
                     (child.strategy == SupervisorStrategy::kTransient && failed);
  if (!again) {
    EndedForGood(key, child);
  } else if (Exceeded(now)) {
    gave_up_ = true;
    End(gen::Reason::Error(fmt::format(
        "restart intensity exceeded: more than {} within {} s, the last for child "
        "'{}', {}",
        core::Counted(static_cast<std::uint64_t>(restart_.intensity), "restart", "restarts"),
        restart_.period_s, child.name, reason)));
  } else {
    BeginRestart(key, child);
  }
}

void SupervisionStrategy::EndedForGood(Key key, Child& child) {
  const bool significant = child.significant;
  child.restarting = false;
  if (child.forgotten_when_ended) Forget(key);
  if (!significant || auto_shutdown_ == SupervisorAutoShutdown::kNever) return;
  const bool others_run = std::ranges::any_of(children_, [](const auto& entry) {
    return entry.second.significant && (IsAlive(entry.second) || entry.second.must_start);
  });
  if (auto_shutdown_ == SupervisorAutoShutdown::kAllSignificant && others_run) return;
  End(gen::Reason::Shutdown());
}

void SupervisionStrategy::Forget(Key key) {
  Do(ActionKind::kForget, key);
  children_.erase(key);
}

bool SupervisionStrategy::Exceeded(std::int64_t now) {
  const std::int64_t period = restart_.period_s * kSecond;
  while (!recent_.empty() && now - recent_.front() > period) recent_.pop_front();
  recent_.push_back(now);
  return recent_.size() > static_cast<std::size_t>(restart_.intensity);
}

std::size_t SupervisionStrategy::RecentRestarts(std::int64_t now) const {
  const std::int64_t period = restart_.period_s * kSecond;
  return static_cast<std::size_t>(
      std::ranges::count_if(recent_, [&](std::int64_t at) { return now - at <= period; }));
}

void SupervisionStrategy::BeginRestart(Key key, Child& child) {
  if (type_ == SupervisorType::kOneForOne || type_ == SupervisorType::kSimpleOneForOne) {
    child.restarting = true;
    Launch(key, child);
    return;
  }
  auto first = type_ == SupervisorType::kAllForOne ? children_.begin() : children_.find(key);
  round_first_ = in_round_ ? std::min(round_first_, first->first) : first->first;
  in_round_ = true;
  stopped_from_ = kBehindAll;
  started_to_ = 0;
  for (; first != children_.end(); ++first) {
    Child& member = first->second;
    member.must_stop = member.state == State::kStarting || member.state == State::kRunning;
    // A temporary child is not started by a round, but by a command that came before it (RestartChild).
    member.must_start = !member.disabled &&
                        (member.strategy != SupervisorStrategy::kTemporary || member.must_start);
    member.restarting = member.must_start;
  }
}

// -- rounds --

void SupervisionStrategy::Advance() {
  if (ending_) {
    if (type_ != SupervisorType::kSimpleOneForOne) (void)AdvanceStops(true);
    if (alive_ == 0 && !std::exchange(end_told_, true)) Do(ActionKind::kEnd, 0);
  } else if (in_round_ && AdvanceStops(restart_.keep_order)) {
    AdvanceStarts();
  }
}

bool SupervisionStrategy::AdvanceStops(bool one_by_one) {
  if (alive_ == 0) return true;
  // A child before the round may be ending by a command. It matters only if it is to start again, before the others.
  const auto matters = [this](Key key) {
    return ending_ || key >= round_first_ || children_.at(key).must_start;
  };
  bool waits = std::any_of(stopping_.rbegin(), stopping_.rend(), matters);
  auto next = std::make_reverse_iterator(children_.lower_bound(stopped_from_));
  for (; next != children_.rend() && !(one_by_one && waits); ++next) {
    stopped_from_ = next->first;
    if (!next->second.must_stop) continue;
    Halt(next->first, next->second);
    waits = true;
  }
  return !waits;
}

void SupervisionStrategy::AdvanceStarts() {
  for (auto next = children_.lower_bound(started_to_); next != children_.end(); ++next) {
    auto& [key, child] = *next;
    started_to_ = key;
    // Its successors wait for it.
    const bool is_awaited = child.restarting || key < round_first_;
    if (child.state == State::kStarting && is_awaited) return;
    if (!child.must_start) continue;
    Launch(key, child);
    return;
  }
  in_round_ = false;
}

void SupervisionStrategy::Launch(Key key, Child& child) {
  child.must_start = false;
  ++alive_;
  child.state = State::kStarting;
  Do(ActionKind::kStart, key);
}

void SupervisionStrategy::Halt(Key key, Child& child) {
  child.must_stop = false;
  // One that is in its Init has nothing to finish.
  Do(child.state == State::kStarting ? ActionKind::kKill : ActionKind::kStop, key);
  child.state = State::kStopping;
  stopping_.insert(key);
}

std::vector<SupervisionStrategy::Action> SupervisionStrategy::TakeActions() {
  return std::exchange(actions_, {});
}

// -- how it is --

const SupervisionStrategy::Child* SupervisionStrategy::Find(Key key) const {
  const auto found = children_.find(key);
  return found == children_.end() ? nullptr : &found->second;
}

bool SupervisionStrategy::WillRun(Key key) const {
  const Child* child = Find(key);
  return child != nullptr &&
         (child->must_start || child->state == State::kStarting || child->state == State::kRunning);
}

}  // namespace ergon::act
