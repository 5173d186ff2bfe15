#include <ergon/act/pool_forwarder.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <ergon/act/message_loop.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::act {
namespace {

constexpr std::int64_t kLogInterval = 1'000'000'000;  // ns

bool IsRequest(const core::Envelope& envelope) {
  return static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kRequest;
}

}  // namespace

bool PoolForwarder::IsForwarded(const core::Envelope& envelope) {
  return envelope.lane == core::Lane::kMain &&
         gen::IsUserMessage(static_cast<gen::EnvelopeKind>(envelope.kind));
}

void PoolForwarder::Arrived(core::Envelope& envelope) {
  Held message{host_.Detach(envelope), false};
  // If something is held already, this one was on its way when that began.
  if (!held_.empty() || Place(message) == Outcome::kHold) held_.push_back(std::move(message));
}

void PoolForwarder::Inherited(std::vector<core::EnvelopePtr> messages) {
  std::deque<Held> rest;
  for (core::EnvelopePtr& envelope : messages) {
    const bool given = (envelope->flags & core::Envelope::kFlagRouted) != 0;
    Held message{std::move(envelope), given};
    if (!IsForwarded(*message.envelope)) {  // not for a handler: it dies with its receiver
      host_.Drop(std::move(message.envelope), gen::DropReason::kTerminated,
                 gen::ErrProcessTerminated);
      continue;
    }
    if (mode_ == Mode::kEnded) {
      DropTerminated(message);
      continue;
    }
    ++counters_.salvaged;
    // Behind one that nobody took, the others wait as well: they are in order.
    if (!rest.empty() || Place(message) == Outcome::kHold) rest.push_back(std::move(message));
  }
  held_.insert(held_.begin(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
}

std::size_t PoolForwarder::held_given() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(held_.begin(), held_.end(), [](const Held& message) { return message.given; }));
}

void PoolForwarder::Flush() {
  while (!held_.empty() && Place(held_.front()) == Outcome::kTaken) held_.pop_front();
}

void PoolForwarder::Retry() {
  retry_is_armed_ = false;
  Flush();
}

bool PoolForwarder::Offer(Held& message, Met& met) {
  const gen::PID self = host_.Self();
  for (std::uint32_t i = rotation_.size(); i > 0; --i) {
    const std::uint64_t id = rotation_.Next();
    const gen::PID worker{id, self.node, self.creation};
    if (id == 0) {
      rotation_.Skipped();
      return false;
    }
    if (worker == SenderOf(*message.envelope) && IsRequest(*message.envelope)) {
      rotation_.Skipped();
      met.caller = true;  // a worker that calls its own pool must not wait for itself
      continue;
    }
    auto sent = host_.Forward(worker, message.envelope, true);
    if (sent) {
      if (message.given) rotation_.Skipped();  // it was counted the first time
      return true;
    }
    rotation_.Skipped();
    if (sent.error() != gen::ErrProcessMailboxFull) met.dead = true;
  }
  return false;
}

PoolForwarder::Outcome PoolForwarder::Place(Held& message) {
  Met met;
  if (mode_ != Mode::kEnded && Offer(message, met)) return Outcome::kTaken;
  if (mode_ != Mode::kRunning) {
    DropTerminated(message);
    return Outcome::kTaken;
  }
  if (routing_.NobodyTook(met.dead) == PoolRouting::Unplaced::kHold) return Outcome::kHold;
  if (met.caller && routing_.seats().members() == 1) {
    Refuse(message,
           gen::Error(gen::ErrorCode::kDeadlock,
                      "the pool's only worker calls its own pool: it would wait for itself"));
  } else if (!MakeRoom(message)) {
    Refuse(message, gen::ErrProcessMailboxFull);
    LogRefusal();
  }
  return Outcome::kTaken;
}

bool PoolForwarder::MakeRoom(Held& message) {
  if (!makes_room_) return false;
  const gen::PID self = host_.Self();
  const gen::PID worker{rotation_.Next(), self.node, self.creation};
  const bool sent = worker.id != 0 && host_.ForwardMakingRoom(worker, message.envelope);
  if (!sent || message.given) rotation_.Skipped();
  return sent;
}

void PoolForwarder::Refuse(Held& message, const gen::Error& error) {
  rotation_.Refused();
  ++counters_.lost_full;
  if (!message.given) ++counters_.never_given;
  host_.Drop(std::move(message.envelope), gen::DropReason::kMailboxFull, error);
}

void PoolForwarder::LogRefusal() {
  ++refused_since_log_;
  const std::int64_t now = host_.Now();
  if (has_logged_ && now - last_log_ < kLogInterval) return;
  host_.Log().Warning("all {} workers are full, {} messages dropped", routing_.seats().members(),
                      refused_since_log_);
  has_logged_ = true;
  last_log_ = now;
  refused_since_log_ = 0;
}

void PoolForwarder::DropTerminated(Held& message) {
  ++counters_.lost_terminated;
  if (!message.given) ++counters_.never_given;
  host_.Drop(std::move(message.envelope), gen::DropReason::kTerminated, gen::ErrProcessTerminated);
}

void PoolForwarder::SettleMain() {
  if (mode_ != Mode::kRunning) return;
  const bool hold = !held_.empty();
  const bool has_ready = routing_.seats().ready() > 0;
  if (hold || !has_ready) host_.AcceptMain();
  if (hold != main_is_held_) {
    host_.HoldMain(hold);
    main_is_held_ = hold;
  }
  if (hold) {
    // Workers that are ready took nothing, so they were full; see kRetry.
    if (has_ready && !retry_is_armed_) {
      retry_is_armed_ = true;
      retry_timer_ = host_.SendSelfAfter(RetryTimer{}, kRetry);
    }
  } else if (has_ready && !host_.IsMainRedirected()) {
    (void)host_.TryRedirectMain();  // false: again after the next message
  }
}

void PoolForwarder::Drain() {
  mode_ = Mode::kDraining;
  Flush();
  if (main_is_held_) host_.HoldMain(false);
  main_is_held_ = false;
}

void PoolForwarder::End() {
  mode_ = Mode::kEnded;
  (void)retry_timer_.Cancel();
  rotation_.Publish({});
  Flush();
}

}  // namespace ergon::act
