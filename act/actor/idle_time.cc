#include <ergon/act/actor/idle_time.h>

#include <algorithm>

#include <ergon/core/time/deadline.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::act {
namespace {

// Looks in the time of the limit: so exact it is.
constexpr std::int64_t kLooks = 4;

}  // namespace

IdleTime::IdleTime(gen::ProcessHost& host, std::chrono::nanoseconds limit)
    : host_(host), limit_(limit.count()), mark_(host.WorkMark()), quiet_since_(host.Now()) {
  StartTimer(quiet_since_);
}

IdleTime::~IdleTime() { timer_.Cancel(); }

std::int64_t IdleTime::Step() const { return std::max<std::int64_t>(1, limit_ / kLooks); }

void IdleTime::StartTimer(std::int64_t now) {
  const std::int64_t end = core::DeadlineAfter(quiet_since_, std::chrono::nanoseconds(limit_));
  timer_ = host_.SendSelfAfter(
      Look{++looks_}, std::chrono::nanoseconds(std::clamp<std::int64_t>(end - now, 0, Step())));
}

bool IdleTime::IsOver(core::Envelope& envelope) {
  const auto kind = static_cast<gen::EnvelopeKind>(envelope.kind);
  // Notices and exit signals are messages to an actor, but the mark does not tell of them.
  if (kind == gen::EnvelopeKind::kDown || kind == gen::EnvelopeKind::kExit) had_work_ = true;
  if (kind != gen::EnvelopeKind::kOwnTimer) return false;
  const auto* look = envelope.ValueAs<Look>();
  if (look == nullptr || look->number != looks_) return false;  // another one's
  const std::int64_t now = host_.Now();
  const std::uint64_t mark = host_.WorkMark();
  // The first look comes late if the handler that has asked for the idle time went on for long.
  const bool was_busy = look->number == 1 && now - quiet_since_ > Step();
  // This timer is handled before what waits: who has something to do is not idle.
  const bool has_work = host_.HasWork();
  // Of the outcome of a request the mark does not tell: who had work until then has not been idle for longer.
  if (mark != mark_ || was_busy || has_work || had_work_) quiet_since_ = now;
  mark_ = mark;
  had_work_ = has_work;
  const bool is_over = now - quiet_since_ >= limit_;
  if (is_over) quiet_since_ = now;
  StartTimer(now);
  return is_over;
}

}  // namespace ergon::act
