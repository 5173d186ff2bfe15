#include <ergon/act/pool/queue_forwarder.h>

#include <algorithm>
#include <utility>

#include <ergon/act/message_loop.h>

namespace ergon::act {

PoolQueueForwarder::PoolQueueForwarder(gen::PoolHost& host, PoolReplacement& replacement,
                                       PoolCounters& counters, const PoolOptions& options)
    : PoolForwarder(host, replacement, counters), options_(options) {
  LetSendersBringAll();
}

std::size_t PoolQueueForwarder::Bound() const {
  return static_cast<std::size_t>(options_.WorkerBound()) * replacement_.members().staying();
}

bool PoolQueueForwarder::DropsOldest() const {
  return options_.worker_mailbox.overflow() == gen::Overflow::kDropOldest;
}

std::chrono::nanoseconds PoolQueueForwarder::ExcessWait() const {
  if (options_.admission_limit.count() == 0) return {};
  const auto workers =
      static_cast<std::int64_t>(std::max<std::size_t>(1, replacement_.members().ready()));
  const std::int64_t wait = static_cast<std::int64_t>(queue_.waiting()) * mean_handling_ / workers;
  return std::max(std::chrono::nanoseconds(wait) - options_.admission_limit,
                  std::chrono::nanoseconds(0));
}

// -- messages

void PoolQueueForwarder::Arrived(core::Envelope& envelope) {
  Held message{host_.Detach(envelope), false};
  if (!accepts_ || mode_ == Mode::kEnded) {
    DropTerminated(message);
    return;
  }
  std::optional<std::uint64_t> key;
  if (!FindKey(message, key) || RefuseRequest(message, key)) return;
  const std::size_t waited = queue_.waiting();
  queue_.Add({std::move(message.envelope), false, key});
  GiveAll();
  if (!options_.WorkersMakeRoom() || Bound() == 0) return;
  if (queue_.waiting() <= std::max(Bound(), waited)) return;
  auto dropped = DropsOldest() ? queue_.TakeOldest() : queue_.TakeNewest();
  if (dropped) DropFull({std::move(dropped->envelope), dropped->given});
}

bool PoolQueueForwarder::FindKey(Held& message, std::optional<std::uint64_t>& key) {
  try {
    key = options_.strategy.KeyOfMessage(*message.envelope);
    return true;
  } catch (...) {
    FailThrown(std::move(message), "the pool's key function");
    return false;
  }
}

std::uint64_t PoolQueueForwarder::MemberThatAsks(const core::Envelope& request) const {
  if (!IsRequest(request)) return 0;
  // A process of another node may have the same number.
  const gen::PID from = gen::PID::FromAddress(request.from);
  const gen::PID self = host_.Self();
  const auto asker = members_.find(from.id);
  const bool is_own =
      asker != members_.end() && from.node == self.node && from.creation == self.creation;
  return is_own ? asker->second : 0;
}

bool PoolQueueForwarder::WaitsForAsker(std::uint64_t member,
                                       std::optional<std::uint64_t> key) const {
  if (key) return queue_.HomeOf(*key) == member;
  const auto place = places_.find(member);
  return place != places_.end() && replacement_.members().IsOnlyStaying(place->second.worker);
}

void PoolQueueForwarder::RefuseOfAsker(Held message, std::optional<std::uint64_t> key) {
  Refuse(std::move(message), WaitsForItself(key ? "the worker of the request's key" : kOnlyWorker));
}

void PoolQueueForwarder::RefuseLeftAlone() {
  if (!may_have_own_) return;
  const auto is_alone = [this](const PoolQueue::Item& item) {
    const std::uint64_t asker = MemberThatAsks(*item.envelope);
    return asker != 0 && WaitsForAsker(asker, item.key);
  };
  while (auto item = queue_.TakeIf(is_alone)) {
    RefuseOfAsker({std::move(item->envelope), item->given}, item->key);
  }
  if (queue_.waiting() == 0) may_have_own_ = false;
}

bool PoolQueueForwarder::RefuseRequest(Held& message, std::optional<std::uint64_t> key) {
  if (!IsRequest(*message.envelope)) return false;
  if (const std::uint64_t asker = MemberThatAsks(*message.envelope); asker != 0) {
    if (WaitsForAsker(asker, key)) {
      RefuseOfAsker(std::move(message), key);
      return true;
    }
    may_have_own_ = true;
  }
  const std::chrono::nanoseconds excess = ExcessWait();
  if (excess.count() == 0) return false;
  ++overloaded_;
  host_.NoteShortage();
  Refuse(std::move(message), gen::Error::Overloaded(excess));
  return true;
}

std::vector<PoolQueue::Item> PoolQueueForwarder::TakeOver(std::vector<core::EnvelopePtr> messages) {
  std::vector<PoolQueue::Item> items;
  for (core::EnvelopePtr& envelope : messages) {
    Held message{std::move(envelope), false};
    std::optional<std::uint64_t> key;
    if (!Salvage(message) || !FindKey(message, key)) continue;
    if (MemberThatAsks(*message.envelope) != 0) may_have_own_ = true;
    items.push_back({std::move(message.envelope), message.given, key});
  }
  return items;
}

void PoolQueueForwarder::CameFrom(gen::PID /*worker*/, bool late,
                                  std::vector<core::EnvelopePtr> messages) {
  queue_.Return(0, TakeOver(std::move(messages)), late);
  Resized();
}

void PoolQueueForwarder::Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) {
  std::vector<PoolQueue::Item> items = TakeOver(std::move(messages));
  const auto found = members_.find(worker.id);
  const std::uint64_t member = found == members_.end() ? 0 : found->second;
  queue_.Return(member, std::move(items));
  if (member != 0) {
    members_.erase(found);
    places_.erase(member);
  }
  Resized();  // the member may be gone
}

void PoolQueueForwarder::GiveAll() {
  if (mode_ == Mode::kEnded) return;
  // What a worker does on its own account it does not report: another one that is free goes first.
  std::uint64_t first_busy = 0;
  for (std::size_t passed_over = 0; auto turn = queue_.TakeTurn();) {
    const std::uint64_t member = turn->member;
    const bool are_all_busy = member == first_busy || passed_over == places_.size();
    if (turn->item.key || are_all_busy || !host_.Progress(places_[member].worker).busy) {
      first_busy = passed_over = 0;
      Give(std::move(*turn));
      continue;
    }
    if (passed_over++ == 0) first_busy = member;
    queue_.Undo(std::move(*turn));
    queue_.SetFree(member);
  }
}

void PoolQueueForwarder::Give(PoolQueue::Turn turn) {
  const std::uint64_t member = turn.member;
  Place& place = places_[member];
  Held message{std::move(turn.item.envelope), turn.item.given};
  if (DropExpired(message)) {
    Look(member, place);
    return;
  }
  // A worker that calls from a message that did not come from here seems to be free; it must not wait for itself.
  const bool is_caller =
      IsRequest(*message.envelope) && SenderOf(*message.envelope) == place.worker;
  gen::Result<void> sent = gen::ErrDeadlock;
  if (!is_caller) sent = GiveTo(place.worker, message);
  if (IsOwnFault(sent)) {
    Fail(std::move(message), sent.error());
    Look(member, place);
    return;
  }
  if (!sent) {
    // A worker that is a pool: the caller waits at a worker of it.
    const bool has_other = !turn.item.key && replacement_.members().staying() > 1;
    if (sent.error() == gen::ErrDeadlock && !has_other) {
      Refuse(std::move(message), sent.error());
      Look(member, place);
      return;
    }
    turn.item.envelope = std::move(message.envelope);
    queue_.Undo(std::move(turn));
    if (is_caller && has_other) {  // those behind its own request need not wait for another worker
      const auto is_of_others = [&](const PoolQueue::Item& item) {
        return MemberThatAsks(*item.envelope) != member;
      };
      if (auto other = queue_.TakeOther(member, is_of_others)) return Give(std::move(*other));
    }
    LookAgain(member);  // in vain at one that is dead: it leaves an inheritance
    return;
  }
  ++place.given;
  place.given_at = host_.Now();
  place.busy = true;
  Look(member, place);  // a pool that is a worker may have passed it on already
}

void PoolQueueForwarder::Look(std::uint64_t member, Place& place) {
  const gen::WorkerProgress progress = host_.Progress(place.worker);
  if (progress.ended) return;
  const std::uint64_t done = progress.passed + progress.dropped;
  const bool all_done = done >= place.given;
  // What it has put aside does not keep it from taking the next one.
  const bool is_free =
      all_done || (progress.aside > 0 && !progress.current && progress.queued == progress.aside);
  if (!is_free) {
    // What else waits in its mailbox did not come from here: it will not report that.
    if (progress.aside > 0 && !progress.current) LookAgain(member);
    return;
  }
  if (std::exchange(place.busy, false)) {
    NoteHandled(host_.Now() - place.given_at);
  }
  // 0 also where it is not sure: the last one may not be counted yet, or the worker has stashed other messages, too.
  const std::uint64_t left = all_done ? 0 : place.given - done;
  const std::uint64_t stashed = left == progress.aside ? left : 0;
  // As many as before, and these were not put back: so the last one is not among them.
  const bool is_last_done =
      stashed != 0 && stashed == place.stashed && progress.stash_changes == place.stash_changes;
  place.stashed = stashed;
  place.stash_changes = progress.stash_changes;
  using Handled = PoolQueue::Handled;
  queue_.Done(member, all_done ? Handled::kAll : is_last_done ? Handled::kLast : Handled::kSome);
  queue_.SetFree(member);
}

void PoolQueueForwarder::NoteHandled(std::int64_t nanoseconds) {
  // As many of each worker as count for the pace of one that has a queue of its own (node/process_state/work_pace.h).
  constexpr std::int64_t kOfEach = 16;
  const auto most =
      kOfEach * static_cast<std::int64_t>(std::max<std::size_t>(1, replacement_.members().ready()));
  measured_ = std::min(measured_ + 1, most);
  mean_handling_ += (nanoseconds - mean_handling_) / measured_;
}

void PoolQueueForwarder::Progressed(gen::PID worker) {
  const auto found = members_.find(worker.id);
  if (found == members_.end()) return;
  Place& place = places_[found->second];
  Look(found->second, place);
  GiveAll();
}

void PoolQueueForwarder::Retry() {
  RetryArrived();
  for (const std::uint64_t member : std::exchange(look_again_, {})) {
    auto found = places_.find(member);
    if (found != places_.end()) Look(member, found->second);
  }
  GiveAll();
}

void PoolQueueForwarder::LookAgain(std::uint64_t member) {
  if (std::find(look_again_.begin(), look_again_.end(), member) == look_again_.end()) {
    look_again_.push_back(member);
  }
}

// -- workers

void PoolQueueForwarder::Welcome(const PoolMember& member) {
  if (!queue_.Has(member.number)) queue_.Open(member.number);
  if (member.state != MemberState::kReady || places_.contains(member.number)) return;
  places_[member.number].worker = member.worker;
  members_[member.worker.id] = member.number;
  host_.SetDuty(member.worker, gen::WorkerDuty::kReport);
  queue_.SetFree(member.number);
}

void PoolQueueForwarder::Resized() {
  const PoolMembers& members = replacement_.members();
  // First those that come: what others leave may be for them.
  for (const auto& [number, member] : members.all()) {
    if (!member.leaving) Welcome(member);
  }
  for (const auto& [number, member] : members.all()) {
    if (member.leaving) queue_.Leave(number);
  }
  for (const std::uint64_t number : queue_.Members()) {
    if (!members.all().contains(number)) queue_.Remove(number);
  }
  RefuseLeftAlone();
  GiveAll();
}

// -- the Main lane and the end

void PoolQueueForwarder::Settle() {
  if (mode_ == Mode::kRunning) SettleMain();
  if (mode_ != Mode::kEnded && !look_again_.empty()) ArmRetry();
}

void PoolQueueForwarder::SettleMain() {
  const std::size_t waiting = queue_.waiting();
  // What has come back gives way to nothing, nor do the newest if they are important.
  const std::size_t staying =
      queue_.waiting_returned() + (DropsOldest() ? 0 : queue_.waiting_important());
  const bool all_stay = staying >= Bound();
  const bool makes_room = options_.WorkersMakeRoom() && !all_stay;
  const std::size_t bound = makes_room ? 0 : Bound();
  const std::chrono::nanoseconds excess = ExcessWait();
  const bool is_full = bound != 0 && waiting >= bound;
  bool hold = false;
  if (is_full || excess.count() != 0) {
    const bool is_closed = host_.TryCloseMain(is_full ? std::chrono::nanoseconds(0) : excess);
    hold = is_full && !is_closed;
  } else if (host_.IsMainRedirected()) {
    host_.AcceptMain();
  }
  HoldMain(hold);
  // What has arrived meanwhile counts as well.
  const std::size_t room =
      bound == 0 ? 0 : std::max<std::size_t>(1, bound - std::min(bound, waiting));
  host_.SetMailboxSize(static_cast<std::uint32_t>(std::min<std::size_t>(room, kMaxMailboxSize)));
}

void PoolQueueForwarder::Drain() {
  mode_ = Mode::kDraining;
  HoldMain(false);
}

void PoolQueueForwarder::End() {
  mode_ = Mode::kEnded;
  CancelRetry();
  rotation_.Publish({});
  DropAll(queue_.TakeAll());
}

void PoolQueueForwarder::DropAll(std::vector<PoolQueue::Item> items) {
  for (PoolQueue::Item& item : items) {
    Held message{std::move(item.envelope), item.given};
    DropTerminated(message);
  }
}

}  // namespace ergon::act
