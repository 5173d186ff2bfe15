#include <ergon/act/pool/rotation_forwarder.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <ergon/act/message_loop.h>
#include <ergon/core/messages/offer_in_turn.h>

namespace ergon::act {
namespace {

gen::SenderRules RulesOf(const PoolOptions& options) {
  gen::SenderRules rules;
  rules.seed = options.strategy.seed();
  rules.admission_limit = options.admission_limit;
  switch (options.strategy.kind()) {
    case PoolStrategy::Kind::kLeastLoaded:
      rules.choice = gen::SenderChoice::kLeastLoaded;
      break;
    case PoolStrategy::Kind::kRandom:
      rules.choice = gen::SenderChoice::kRandom;
      break;
    default:
      break;
  }
  return rules;
}

}  // namespace

PoolRotationForwarder::PoolRotationForwarder(gen::PoolHost& host, PoolReplacement& replacement,
                                             PoolCounters& counters, const PoolOptions& options)
    : PoolForwarder(host, replacement, counters), options_(options) {
  host.SetSenderRules(RulesOf(options));
}

void PoolRotationForwarder::SetDuties() {
  const bool measures = options_.admission_limit.count() != 0;
  if (!measures && !has_measured_) return;
  has_measured_ = measures;
  for (const auto& [number, member] : replacement_.members().all()) {
    if (!member.worker) continue;
    host_.SetDuty(member.worker, measures ? gen::WorkerDuty::kMeasure : gen::WorkerDuty::kNone);
  }
}

void PoolRotationForwarder::LetMessagesCome(bool come) {
  wants_all_ = come;
  if (!come) return;
  room_of_idle_ = std::min<std::size_t>(
      static_cast<std::size_t>(options_.WorkerBound()) * replacement_.members().ready(),
      kMaxMailboxSize);
  LimitMain();  // before the first one comes
  host_.AcceptMain();
}

void PoolRotationForwarder::Arrived(core::Envelope& envelope) {
  if (room_of_idle_ > 1) --room_of_idle_;
  Held message{host_.Detach(envelope), false};
  if (!accepts_ || mode_ == Mode::kEnded) {
    DropTerminated(message);
    return;
  }
  if (held_.empty()) {  // else this one was on its way when that began
    if (PlaceOrSetAside(message)) return;
    if (all_full_ && options_.WorkersMakeRoom() && MakeRoom(message)) return;
  }
  held_.push_back(std::move(message));
}

void PoolRotationForwarder::Inherited(gen::PID /*worker*/,
                                      std::vector<core::EnvelopePtr> messages) {
  TakeOver(std::move(messages), 0);
}

// What a worker has left was sent before what was still on its way to it, and has come here before that, too.
void PoolRotationForwarder::CameFrom(gen::PID /*worker*/, bool late,
                                     std::vector<core::EnvelopePtr> messages) {
  const auto newer =
      std::find_if(held_.begin(), held_.end(), [](const Held& message) { return !message.given; });
  TakeOver(std::move(messages), late ? static_cast<std::size_t>(newer - held_.begin()) : 0);
}

void PoolRotationForwarder::TakeOver(std::vector<core::EnvelopePtr> messages, std::size_t behind) {
  std::deque<Held> rest;
  for (core::EnvelopePtr& envelope : messages) {
    Held message{std::move(envelope), false};
    if (!Salvage(message)) continue;
    // Behind one that nobody took, the others wait as well: they are in order.
    if (behind != 0 || !rest.empty() || !PlaceOrSetAside(message))
      rest.push_back(std::move(message));
  }
  held_.insert(held_.begin() + static_cast<std::ptrdiff_t>(behind),
               std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
}

void PoolRotationForwarder::Flush() {
  for (Held& request : std::exchange(set_aside_, {})) {
    if (!Place(request)) set_aside_.push_back(std::move(request));
  }
  while (!held_.empty() && PlaceOrSetAside(held_.front())) held_.pop_front();
}

bool PoolRotationForwarder::PlaceOrSetAside(Held& message) {
  if (Place(message)) return true;
  if (!waits_for_other_) return false;
  set_aside_.push_back(std::move(message));
  return true;
}

void PoolRotationForwarder::WorkerReady() {
  SetDuties();
  Flush();
}

void PoolRotationForwarder::Resized() { SetDuties(); }

void PoolRotationForwarder::OptionsChanged() {
  host_.SetSenderRules(RulesOf(options_));
  SetDuties();
  if (wants_all_) LetMessagesCome(true);  // by the bound of now
}

void PoolRotationForwarder::Retry() {
  RetryArrived();
  Flush();
}

bool PoolRotationForwarder::Offer(Held& message, Met& met) {
  const gen::PID self = host_.Self();
  MarkCopy(*message.envelope, false);
  std::uint64_t choice = host_.FirstChoice();
  const core::Offered offered = core::OfferInTurn(
      rotation_, [&] { return rotation_.TakeAt(choice++); },
      [&](std::uint64_t id) {
        const gen::PID worker{id, self.node, self.creation};
        if (worker == SenderOf(*message.envelope) && IsRequest(*message.envelope)) {
          met.caller = true;  // a worker that calls its own pool must not wait for itself
          return core::Offered::kNotTaken;
        }
        auto sent = host_.Forward(worker, message.envelope, true);
        if (sent) {
          if (message.given) rotation_.Skipped();  // it was counted the first time
          return core::Offered::kTaken;
        }
        if (IsOwnFault(sent)) {
          met.failed = std::move(sent.error());
          return core::Offered::kEnough;
        }
        if (sent.error() == gen::ErrDeadlock) {
          met.caller = true;  // a worker of this worker, which is a pool
        } else if (HasNoRoom(sent)) {
          met.full = true;
        } else {
          met.dead = true;
        }
        return core::Offered::kNotTaken;
      });
  if (offered == core::Offered::kTaken) return true;
  if (!met.failed) return false;
  Fail(std::move(message), *met.failed);
  return true;
}

bool PoolRotationForwarder::Place(Held& message) {
  if (DropExpired(message)) return true;
  if (mode_ == Mode::kEnded) {
    DropTerminated(message);
    return true;
  }
  Met met;
  if (Offer(message, met)) return true;
  // A worker that is dead will be replaced by one that has room, unless the pool ends.
  const bool one_will_come = met.dead && mode_ != Mode::kDraining;
  const bool is_full = !one_will_come && replacement_.members().pending() == 0;
  if (is_full && met.caller && replacement_.members().staying() == 1) {
    Refuse(std::move(message), WaitsForItself(kOnlyWorker));
    return true;
  }
  all_full_ = is_full;
  waits_for_other_ = met.caller && !met.full;
  return false;
}

void PoolRotationForwarder::Settle() {
  const bool hold = !held_.empty();
  const bool has_ready = replacement_.members().ready() > 0;
  // Workers that are ready took nothing, so they were full; see kRetry.
  if (held() != 0 && has_ready) ArmRetry();
  if (mode_ != Mode::kRunning) return;
  if (hold || !has_ready || wants_all_) host_.AcceptMain();
  HoldMain(hold);
  LimitMain();
  if (!hold && has_ready && !wants_all_ && !host_.IsMainRedirected()) {
    // False: again after the next message.
    if (host_.TryRedirectMain()) room_of_idle_ = 0;
  }
}

void PoolRotationForwarder::LimitMain() {
  std::size_t room = 0;  // any number
  if (const auto bound = static_cast<std::size_t>(options_.WorkerBound()); bound != 0) {
    // At least one: 0 means something else, and a sender may be the first to meet a dead worker.
    const auto missing =
        std::min<std::size_t>(replacement_.members().pending() * bound, kMaxMailboxSize);
    room = std::max(room_of_idle_, std::max<std::size_t>(1, missing - std::min(missing, held())));
  } else if (!held_.empty() && all_full_) {
    room = 1;  // with a bound that only their own kind of mailbox knows
  }
  host_.SetMailboxSize(static_cast<std::uint32_t>(room));
}

void PoolRotationForwarder::Drain() {
  mode_ = Mode::kDraining;
  Flush();
  HoldMain(false);
}

void PoolRotationForwarder::End() {
  mode_ = Mode::kEnded;
  CancelRetry();
  rotation_.Publish({});
  Flush();
}

}  // namespace ergon::act
