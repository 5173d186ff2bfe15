#include <ergon/act/pool/forwarder.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/message.h>

namespace ergon::act {

bool PoolForwarder::IsForwarded(const core::Envelope& envelope) {
  return envelope.lane == core::Lane::kMain &&
         gen::IsUserMessage(static_cast<gen::EnvelopeKind>(envelope.kind));
}

gen::Error PoolForwarder::WaitsForItself(std::string_view who) {
  return gen::Error(gen::ErrorCode::kDeadlock,
                    fmt::format("{} calls its own pool: it would wait for itself", who));
}

std::size_t PoolForwarder::CountGiven(const std::deque<Held>& messages) {
  return static_cast<std::size_t>(std::count_if(messages.begin(), messages.end(),
                                                [](const Held& message) { return message.given; }));
}

void PoolForwarder::LetSendersBringAll() {
  gen::SenderRules rules;
  rules.choice = gen::SenderChoice::kPool;
  host_.SetSenderRules(rules);
}

bool PoolForwarder::IsForHandler(Held& message) {
  if (!IsForwarded(*message.envelope)) {  // it dies with its receiver
    host_.Drop(std::move(message.envelope), gen::DropReason::kTerminated,
               gen::ErrProcessTerminated);
    return false;
  }
  message.given = IsMarked(*message.envelope);
  return true;
}

bool PoolForwarder::Salvage(Held& message) {
  if (!IsForHandler(message)) return false;
  if (mode_ == Mode::kEnded) {
    DropTerminated(message);
    return false;
  }
  ++counters_.salvaged;
  return true;
}

void PoolForwarder::Lose(std::vector<core::EnvelopePtr> messages) {
  for (core::EnvelopePtr& envelope : messages) {
    Held message{std::move(envelope), false};
    if (IsForHandler(message)) DropTerminated(message);
  }
}

void PoolForwarder::LoseCopies(std::vector<core::EnvelopePtr>& messages) {
  for (core::EnvelopePtr& envelope : messages) {
    if ((envelope->flags & core::Envelope::kFlagCopy) == 0) continue;
    Held message{std::move(envelope), true};
    message.is_copy = true;
    DropTerminated(message);
  }
  std::erase(messages, nullptr);
}

void PoolForwarder::MarkCopy(core::Envelope& envelope, bool is_copy) noexcept {
  envelope.flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagCopy);
  if (is_copy) envelope.flags |= core::Envelope::kFlagCopy;
}

gen::Result<void> PoolForwarder::GiveTo(gen::PID worker, Held& message, bool may_drop) {
  MarkCopy(*message.envelope, message.is_copy);
  if (!message.given) rotation_.Give();
  auto sent = may_drop ? host_.ForwardMakingRoom(worker, message.envelope)
                       : host_.Forward(worker, message.envelope, true);
  if (!sent && !message.given) rotation_.Skipped();
  return sent;
}

bool PoolForwarder::MakeRoom(Held& message) {
  if (mode_ != Mode::kRunning || message.given) return false;
  const gen::PID self = host_.Self();
  const auto next = [&] { return gen::PID{rotation_.Next(), self.node, self.creation}; };
  MarkCopy(*message.envelope, false);
  const auto is_caller = [&](gen::PID worker) {  // must not wait for itself
    return worker == SenderOf(*message.envelope) && IsRequest(*message.envelope);
  };
  gen::PID worker = next();
  if (is_caller(worker)) {
    rotation_.Skipped();
    worker = next();
  }
  gen::Result<void> sent = gen::ErrProcessMailboxFull;
  if (worker.id != 0 && !is_caller(worker))
    sent = host_.ForwardMakingRoom(worker, message.envelope);
  if (!sent) rotation_.Skipped();
  if (IsOwnFault(sent)) {
    Fail(std::move(message), sent.error());
    return true;
  }
  return message.envelope == nullptr;
}

bool PoolForwarder::DropExpired(Held& message) {
  const core::Envelope& envelope = *message.envelope;
  if (!IsRequest(envelope) || envelope.deadline == 0 || host_.Now() <= envelope.deadline) {
    return false;
  }
  Expire(message);
  return true;
}

bool PoolForwarder::Begin(Held& message) {
  if (host_.Begin(*message.envelope)) return true;
  Expire(message);
  return false;
}

void PoolForwarder::Expire(Held& message) {
  ++expired_;
  // As if a worker had skipped it.
  if (!message.given) ++counters_.never_given;
  ++counters_.handled;
  host_.Drop(std::move(message.envelope), gen::DropReason::kExpired, gen::ErrTimeout);
}

void PoolForwarder::Refuse(Held message, const gen::Error& error) {
  if (message.given) {
    ++counters_.handled;  // it counts as forwarded, and here is its answer
  } else {
    rotation_.Refused();
    // An outer pool has given it to this one, and waits until this one is done with it.
    if (IsMarked(*message.envelope)) {
      ++dropped_here_;
      ++counters_.never_given;
      ++counters_.handled;
    }
  }
  host_.Drop(std::move(message.envelope), gen::DropReason::kMailboxFull, error);
}

void PoolForwarder::DropFull(Held message) { DropForRoom(std::move(message), counters_.lost_full); }

void PoolForwarder::DropMissed(Held message) {
  DropForRoom(std::move(message), counters_.lost_missed);
}

void PoolForwarder::DropForRoom(Held message, std::uint64_t& counter) {
  rotation_.Refused();
  ++dropped_here_;
  ++counter;
  if (!message.given) ++counters_.never_given;
  host_.NoteShortage();
  host_.Drop(std::move(message.envelope), gen::DropReason::kMailboxFull,
             gen::ErrProcessMailboxFull);
}

void PoolForwarder::DropTerminated(Held& message) {
  // Only at the end, and not what others have had.
  const bool may_be_left = mode_ != Mode::kRunning && !message.is_copy;
  if (may_be_left && host_.LeaveToHeir(message.envelope))
    return;  // the outer pool gives it to another worker
  ++counters_.lost_terminated;
  if (!message.given) ++counters_.never_given;
  host_.Drop(std::move(message.envelope), gen::DropReason::kTerminated, gen::ErrProcessTerminated);
}

void PoolForwarder::Fail(Held message, const gen::Error& error) {
  rotation_.Refused();
  ++dropped_here_;
  ++counters_.lost_failed;
  if (!message.given) ++counters_.never_given;
  if (const auto more = failed_lines_.Take(host_)) {
    host_.Log().Warning("{} from {} cannot be given to a worker: {}{}",
                        gen::Message(*message.envelope).Describe(), SenderOf(*message.envelope),
                        error, *more);
  }
  host_.Drop(std::move(message.envelope), gen::DropReason::kFailed, error);
}

void PoolForwarder::FailThrown(Held message, std::string_view what) {
  Fail(std::move(message), gen::Error(gen::ErrorCode::kApplication,
                                      fmt::format("{} threw: {}", what, core::ThrownText())));
}

void PoolForwarder::ArmRetry() {
  if (retry_is_armed_) return;
  retry_is_armed_ = true;
  retry_timer_ = host_.SendSelfAfter(RetryTimer{}, kRetry);
}

void PoolForwarder::CancelRetry() { (void)retry_timer_.Cancel(); }

void PoolForwarder::HoldMain(bool hold) {
  if (hold == main_is_held_) return;
  host_.HoldMain(hold);
  main_is_held_ = hold;
}

}  // namespace ergon::act
