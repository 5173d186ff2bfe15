#include <ergon/act/pool/broadcast_forwarder.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <ergon/act/message_loop.h>
#include <ergon/core/clock.h>
#include <ergon/gen/status.h>

namespace ergon::act {

PoolBroadcastForwarder::PoolBroadcastForwarder(gen::PoolHost& host, PoolReplacement& replacement,
                                               PoolCounters& counters, const PoolOptions& options)
    : PoolForwarder(host, replacement, counters), options_(options) {
  LetSendersBringAll();
  host.SetMailboxSize(static_cast<std::uint32_t>(options.WorkerBound()));
}

// -- messages

void PoolBroadcastForwarder::Arrived(core::Envelope& envelope) {
  Held message{host_.Detach(envelope), false};
  if (!accepts_ || mode_ == Mode::kEnded) {
    DropTerminated(message);
  } else if (!held_.empty() || !Place(message)) {
    held_.push_back(std::move(message));
  }
}

bool PoolBroadcastForwarder::Place(Held& message) {
  if (DropExpired(message)) return true;
  if (!options_.strategy.IsBroadcast(*message.envelope)) return PlaceOne(message);
  return IsRequest(*message.envelope) ? Ask(message) : Spread(message);
}

bool PoolBroadcastForwarder::PlaceOne(Held& message) {
  const gen::PID self = host_.Self();
  MarkCopy(*message.envelope, false);
  bool met_caller = false;
  bool all_full = replacement_.members().pending() == 0;
  for (std::uint32_t i = rotation_.size(); i > 0; --i) {
    const gen::PID worker{rotation_.Next(), self.node, self.creation};
    const bool is_caller = worker == SenderOf(*message.envelope) && IsRequest(*message.envelope);
    gen::Result<void> sent = is_caller ? gen::ErrDeadlock : gen::ErrProcessMailboxFull;
    if (worker.id != 0 && !is_caller) sent = host_.Forward(worker, message.envelope, true);
    // The caller is the worker, or a worker of one that is a pool.
    const bool is_at_caller = !sent && sent.error() == gen::ErrDeadlock;
    met_caller = met_caller || is_at_caller;
    if (!sent || message.given) rotation_.Skipped();
    if (!sent && !HasNoRoom(sent) && !is_at_caller) all_full = false;
    if (IsOwnFault(sent)) {
      Fail(std::move(message), sent.error());
      return true;
    }
    if (message.envelope == nullptr) return true;
  }
  if (all_full && options_.WorkersMakeRoom() && MakeRoom(message)) return true;
  if (!met_caller || replacement_.members().staying() != 1) return false;
  Refuse(std::move(message), WaitsForItself(kOnlyWorker));
  return true;
}

bool PoolBroadcastForwarder::Give(const PoolMember& member, Held& message) {
  const auto waiting = pending_.find(member.number);
  if (waiting != pending_.end()) {
    const auto bound = static_cast<std::size_t>(options_.WorkerBound());
    if (bound != 0 && waiting->second.size() >= bound) return false;
    waiting->second.push_back(std::move(message));
    return true;
  }
  auto sent = GiveTo(member.worker, message, options_.WorkersMakeRoom());
  if (sent) return true;
  if (HasNoRoom(sent)) return false;
  if (IsOwnFault(sent)) {
    Fail(std::move(message), sent.error());
    return true;
  }
  pending_[member.number].push_back(std::move(message));  // it has ended: for its successor
  return true;
}

bool PoolBroadcastForwarder::MakeCopies(Held& message, std::size_t workers) {
  try {
    while (message.copies.size() + 1 < workers) {
      message.copies.push_back(options_.strategy.Copy(*message.envelope));
    }
    return true;
  } catch (...) {
    FailThrown(std::move(message), "the copy for each worker");
    return false;
  }
}

std::vector<PoolMember> PoolBroadcastForwarder::Receivers() const {
  std::vector<PoolMember> receivers;
  for (const auto& [number, member] : replacement_.members().all()) {
    if (!member.leaving && member.state == MemberState::kReady) receivers.push_back(member);
  }
  return receivers;
}

bool PoolBroadcastForwarder::Spread(Held& message) {
  const std::vector<PoolMember> receivers = Receivers();
  // Before anybody has it: so all get it, or nobody does. If nobody takes it, they are there for the next time.
  if (!MakeCopies(message, receivers.size())) return true;
  std::size_t missed = 0;
  std::vector<core::EnvelopePtr> copies = std::move(message.copies);
  const auto next_copy = [&] {
    Held copy{std::move(copies.back()), false};
    copy.is_copy = true;
    copies.pop_back();
    host_.Adopt(*copy.envelope);
    return copy;
  };
  for (const PoolMember& member : receivers) {
    if (message.envelope != nullptr) {
      message.is_copy = true;
      if (!Give(member, message)) ++missed;
      message.is_copy = false;
      continue;
    }
    Held copy = next_copy();
    if (!Give(member, copy)) DropMissed(std::move(copy));
  }
  if (message.envelope != nullptr) {
    message.copies = std::move(copies);
    return false;
  }
  for (; missed > 0; --missed) DropMissed(next_copy());
  return true;
}

// -- requests

std::chrono::nanoseconds PoolBroadcastForwarder::TimeFor(const core::Envelope& request) const {
  if (request.deadline == 0 || request.deadline == core::kNever) return gen::kInfinite;
  // So that what the others have answered reaches the caller in time.
  const std::int64_t left = std::max<std::int64_t>(request.deadline - host_.Now(), 0);
  return std::chrono::nanoseconds(left - left / 10);
}

bool PoolBroadcastForwarder::Ask(Held& message) {
  const std::vector<PoolMember> receivers = Receivers();
  if (!MakeCopies(message, receivers.size())) return true;
  std::vector<core::EnvelopePtr> copies = std::move(message.copies);
  const bool is_marked = IsMarked(*message.envelope);  // by an outer pool
  const std::chrono::nanoseconds time = TimeFor(*message.envelope);
  if (questions_.size() >= questions_limit_) ForgetAbandoned();
  const std::uint64_t number = ++last_question_;
  const gen::PID caller = SenderOf(*message.envelope);
  Question& question = questions_[number];
  question.from = caller;
  question.ref = RefOf(*message.envelope);
  gen::Result<void> fault;  // of the request's own
  for (const PoolMember& member : receivers) {
    const bool is_full = pending_.contains(member.number);  // no room for what was sent before
    if (is_full || member.worker == caller) {
      const gen::Error why = is_full ? gen::ErrProcessMailboxFull : WaitsForItself("this worker");
      question.answers.Add(member.worker, gen::detail::MakeErrorResponse(why));
      continue;
    }
    if (message.envelope != nullptr && !Begin(message)) {
      questions_.erase(number);
      return true;
    }
    core::EnvelopePtr& request = message.envelope != nullptr ? message.envelope : copies.back();
    request->flags |= core::Envelope::kFlagRouted | core::Envelope::kFlagCopy;
    auto asked = host_.RequestEnvelope(member.worker, request, time);
    if (!asked) {
      if (IsOwnFault(asked.error())) fault = asked.error();
      question.answers.Add(member.worker, gen::detail::MakeErrorResponse(asked.error()));
      continue;
    }
    if (copies.size() > 0 && copies.back() == nullptr) copies.pop_back();
    rotation_.Give();
    asked_[asked->id] = {number, question.answers.Add(member.worker, nullptr)};
    ++question.open;
  }
  if (question.open > 0) return true;
  questions_.erase(number);
  if (!fault) {
    Fail(std::move(message), fault.error());
    return true;
  }
  message.copies = std::move(copies);
  MarkCopy(*message.envelope, false);
  if (!is_marked) {
    message.envelope->flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagRouted);
  }
  if (!replacement_.members().IsOnlyStaying(caller)) return false;
  Refuse(std::move(message), WaitsForItself(kOnlyWorker));
  return true;
}

bool PoolBroadcastForwarder::Answered(core::Envelope& envelope) {
  const auto found = asked_.find(envelope.ref);
  if (found == asked_.end()) return false;
  const Asked asked = found->second;
  asked_.erase(found);
  Question& question = questions_.at(asked.question);
  question.answers.Set(asked.entry, host_.Detach(envelope));
  if (--question.open == 0) Reply(asked.question);
  return true;
}

void PoolBroadcastForwarder::Reply(std::uint64_t number) {
  auto node = questions_.extract(number);
  Question& question = node.mapped();
  // A caller that has stopped waiting is everyday life.
  (void)host_.SendResponse(question.from, question.ref, std::move(question.answers));
}

void PoolBroadcastForwarder::ForgetAbandoned() {
  std::erase_if(asked_, [this](const auto& asked) {
    const auto found = questions_.find(asked.second.question);
    Question& question = found->second;
    if (!host_.ForgetIfAbandoned(asked.first, question.from, question.ref)) return false;
    if (--question.open == 0) questions_.erase(found);
    return true;
  });
  questions_limit_ = 2 * questions_.size() + kQuestions;
}

// -- workers

void PoolBroadcastForwarder::Remember(std::uint64_t worker, std::uint64_t member) {
  if (former_in_order_.size() == kRemembered) {
    former_.erase(former_in_order_.front());
    former_in_order_.pop_front();
  }
  former_[worker] = member;
  former_in_order_.push_back(worker);
}

void PoolBroadcastForwarder::Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) {
  const auto found = members_.find(worker.id);
  const std::uint64_t member = found == members_.end() ? 0 : found->second;
  if (member != 0) {
    members_.erase(found);
    Remember(worker.id, member);
  }
  TakeOver(member, false, std::move(messages));
}

void PoolBroadcastForwarder::CameFrom(gen::PID worker, bool late,
                                      std::vector<core::EnvelopePtr> messages) {
  std::uint64_t member = 0;
  for (const auto* workers : {&members_, &former_}) {
    const auto found = workers->find(worker.id);
    if (found != workers->end()) member = found->second;
  }
  TakeOver(member, late, std::move(messages));
}

void PoolBroadcastForwarder::TakeOver(std::uint64_t member, bool late,
                                      std::vector<core::EnvelopePtr> messages) {
  std::deque<Held> own;
  std::deque<Held> any;
  for (core::EnvelopePtr& envelope : messages) {
    Held message{std::move(envelope), false};
    message.is_copy = options_.strategy.IsBroadcast(*message.envelope);
    if (!Salvage(message)) continue;
    if (!options_.strategy.IsBroadcast(*message.envelope)) {
      if (!any.empty() || !PlaceOne(message)) any.push_back(std::move(message));
    } else if (replacement_.members().FindNumber(member) != nullptr) {
      own.push_back(std::move(message));
    } else {
      DropTerminated(message);  // its place is gone, and the others have had it
    }
  }
  held_.insert(held_.begin(), std::make_move_iterator(any.begin()),
               std::make_move_iterator(any.end()));
  if (!own.empty()) {
    std::deque<Held>& pending = pending_[member];
    const auto place = !late ? pending.begin()
                             : std::find_if(pending.begin(), pending.end(),
                                            [](const Held& message) { return !message.given; });
    pending.insert(place, std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  Resized();
}

void PoolBroadcastForwarder::WorkerReady() {
  Resized();
  Flush();
}

void PoolBroadcastForwarder::OptionsChanged() {
  host_.SetMailboxSize(static_cast<std::uint32_t>(options_.WorkerBound()));
}

void PoolBroadcastForwarder::Resized() {
  PoolMembers& members = replacement_.members();
  for (const auto& [number, member] : members.all()) {
    if (member.worker) members_[member.worker.id] = number;
    if (member.state == MemberState::kReady && !member.leaving) FlushPending(member);
  }
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    const PoolMember* member = members.FindNumber(entry->first);
    if (member != nullptr && !member->leaving) {
      ++entry;
      continue;
    }
    for (Held& message : entry->second) DropTerminated(message);
    entry = pending_.erase(entry);
  }
}

void PoolBroadcastForwarder::FlushPending(const PoolMember& member) {
  const auto found = pending_.find(member.number);
  if (found == pending_.end()) return;
  std::deque<Held> messages = std::move(found->second);
  pending_.erase(found);
  while (!messages.empty()) {
    if (DropExpired(messages.front())) {
      messages.pop_front();
      continue;
    }
    const auto sent = GiveTo(member.worker, messages.front());
    if (IsOwnFault(sent)) {
      Fail(std::move(messages.front()), sent.error());
    } else if (!sent) {
      break;
    }
    messages.pop_front();
  }
  if (!messages.empty()) pending_[member.number] = std::move(messages);
}

void PoolBroadcastForwarder::Flush() {
  while (!held_.empty()) {
    Held message = std::move(held_.front());
    held_.pop_front();
    if (Place(message)) continue;
    held_.push_front(std::move(message));
    return;
  }
}

void PoolBroadcastForwarder::Retry() {
  RetryArrived();
  Resized();
  Flush();
}

// -- the Main lane and the end

void PoolBroadcastForwarder::Settle() {
  if (mode_ == Mode::kEnded) return;
  if (mode_ == Mode::kRunning) HoldMain(!held_.empty());
  if (NeedsRetry()) ArmRetry();
}

bool PoolBroadcastForwarder::NeedsRetry() const {
  const PoolMembers& members = replacement_.members();
  if (!held_.empty() && members.ready() > 0) return true;
  return std::any_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
    const auto member = members.all().find(entry.first);
    return member != members.all().end() && member->second.state == MemberState::kReady;
  });
}

void PoolBroadcastForwarder::Drain() {
  mode_ = Mode::kDraining;
  HoldMain(false);
}

void PoolBroadcastForwarder::End() {
  mode_ = Mode::kEnded;
  CancelRetry();
  rotation_.Publish({});
  for (Held& message : std::exchange(held_, {})) DropTerminated(message);
  for (auto& [member, messages] : std::exchange(pending_, {})) {
    for (Held& message : messages) DropTerminated(message);
  }
}

void PoolBroadcastForwarder::Finish() {
  for (const auto& [ref, asked] : std::exchange(asked_, {})) {
    questions_.at(asked.question)
        .answers.Set(asked.entry, gen::detail::MakeErrorResponse(gen::ErrProcessTerminated));
  }
  while (!questions_.empty()) Reply(questions_.begin()->first);
}

std::size_t PoolBroadcastForwarder::held() const {
  std::size_t count = held_.size();
  for (const auto& [member, messages] : pending_) count += messages.size();
  return count;
}

std::size_t PoolBroadcastForwarder::held_given() const {
  std::size_t count = CountGiven(held_);
  for (const auto& [member, messages] : pending_) count += CountGiven(messages);
  return count;
}

}  // namespace ergon::act
