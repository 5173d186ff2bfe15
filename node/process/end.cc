// How a process ends, and what becomes of what it leaves behind.
#include <algorithm>
#include <cassert>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <utility>

#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/unmade_messages.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/process/measuring.h>
#include <ergon/node/process/receiving.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process/try_log.h>
#include <ergon/node/spawning/population.h>
#include <ergon/node/timers/delayed_sends.h>
#include <ergon/node/timers/periodic_sends.h>

namespace ergon::node {
namespace {

gen::Error TerminatedError(const gen::Reason& reason) {
  return gen::Error(gen::ErrorCode::kProcessTerminated, reason.ToString());
}

void AnswerRequest(Delivery& delivery, const core::Envelope& request, const gen::Error& error) {
  delivery.RespondError(gen::PID::FromAddress(request.from), request.ref, error);
}

void AnswerOpenRequests(Delivery& delivery, ProcessCold& cold, const gen::Error& error) {
  const auto requests = std::exchange(cold.open_requests, {});
  std::vector<const std::pair<const gen::Ref, ProcessCold::OpenRequest>*> in_order;
  in_order.reserve(requests.size());
  for (const auto& request : requests) in_order.push_back(&request);
  std::sort(in_order.begin(), in_order.end(), [](const auto* left, const auto* right) {
    return left->second.order < right->second.order;
  });
  for (const auto* request : in_order) {
    delivery.RespondError(request->second.from, request->first.id, error);
  }
}

// To the nearest heir that lives; false: there is none. The sender of an inheritance is the child of its receiver that
// it comes from, or that it has come past.
bool LeaveToHeir(const ProcessRunner& process, gen::PID self, core::EnvelopePtr& inheritance) {
  inheritance->from = self.ToAddress();
  if (process.rooms().delivery.Deliver(process.Parent(), inheritance)) return true;
  const ProcessCold* cold = process.ColdIfAny();
  if (cold == nullptr) return false;
  inheritance->ValueAs<gen::MessageInheritance>()->indirect = true;
  gen::PID past = process.Parent();
  for (const std::uint64_t id : cold->further_heirs) {
    const gen::PID heir = process.rooms().addresses.PidOf(id);
    inheritance->from = past.ToAddress();
    if (process.rooms().delivery.Deliver(heir, inheritance)) return true;
    past = heir;
  }
  return false;
}

// Before its links and monitors are closed: who makes one after that learns of the end at once, and does not find the
// process in a group. ReleaseFeatures does the same for one that had no cold part yet.
void LeaveGroups(const ProcessRunner& process) {
  ProcessCold* const cold = process.ColdIfAny();
  if (cold == nullptr) return;
  std::unique_ptr<ProcessCold::GroupNotes> groups;
  {
    std::lock_guard lock(cold->lock);
    cold->joins_no_group = true;
    groups.swap(cold->groups);
  }
  if (groups != nullptr) process.rooms().groups.Release(process.Self(), *groups);
}

void ReleaseExtras(const ProcessRunner& process) {
  ProcessExtras* const extras = process.ExtrasIfAny();
  if (extras == nullptr) return;
  extras->environment.reset();
  if (extras->wait_timer != nullptr) extras->wait_timer->Withdraw();
}

// What was on its way to a worker when that ended. False: it has not come by a pool, or there is none any more.
bool ReturnToPool(const Rooms& rooms, gen::PID worker, core::EnvelopePtr& envelope) {
  if (!IsRouted(*envelope) || IsRequest(*envelope)) return false;
  const gen::PID pid = rooms.addresses.PidOf(envelope->ref);
  const ProcessSlot* pool = rooms.addresses.Find(pid);
  PoolSlot* slot = pool == nullptr ? nullptr : pool->pool();
  if (slot == nullptr) return false;
  gen::MessageInheritance inheritance;
  inheritance.pid = worker;
  inheritance.late = true;
  inheritance.messages.push_back(std::move(envelope));
  auto message = core::MakeEnvelope<gen::MessageInheritance>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kInheritance), core::Lane::kUrgent,
      std::move(inheritance));
  slot->late.fetch_add(1, std::memory_order_release);  // partner: ReturningMessages
  if (rooms.delivery.Deliver(pid, message)) return true;
  slot->late.fetch_sub(1, std::memory_order_relaxed);
  envelope = std::move(message->ValueAs<gen::MessageInheritance>()->messages.front());
  return false;
}

}  // namespace

void ProcessRunner::Finish(const gen::Reason& reason) {
  const gen::PID self = Self();
  const bool was_started = started_;
  core::Envelope* const current = current_;
  const bool holds_current = current != nullptr && routed_work_.IsCurrent();
  if ((due_ & kMeasures) != 0) Measuring::EndHandling(*this);
  RunTerminate(reason);
  const bool current_open = IsOpenQuestion();  // Terminate may have answered it, or handed it over

  counts_.Check();
  // From here on nobody can send to it, and its names are free for others.
  std::vector<core::EnvelopePtr> waiting;
  core::Mailbox::Rest rest = CloseMailbox(waiting);
  const bool has_rest = rest.main != nullptr || rest.express != nullptr || !waiting.empty();
  if (has_rest) {  // for those who look at what was dropped
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    const gen::ProcessBehavior& behavior = *behavior_;
    cold.former_behavior = &typeid(behavior);
    cold.former_generation = GenerationOf(self);
  }
  // A spawn that waits gets the failure as its error, not as an exit signal too.
  if (!was_started && !announce_) rooms_.relations.UnlinkUnbegun(*this, Parent());
  LeaveGroups(*this);
  // Closed first: nobody can give it a name after its names have been released.
  const std::optional<Relations::ClosedLists> closed = Relations::Close(*this);
  if (ProcessCold* const cold = ColdIfAny()) ReleaseFeatures(*cold, reason);
  // First: what a destructor sends is from this process, and not from the next one in the slot.
  behavior_.reset();
  if (ProcessExtras* const extras = ExtrasIfAny()) rooms_.delayed_sends.End(extras->own_sends);
  // Only the process writes them. Release; partner: IsYetToEnd, which then finds that it is terminating, and the step.
  end_step_.store(EndStep::kPidGone, std::memory_order_release);
  generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  ReleaseExtras(*this);
  // Notices first, answers afterwards: a caller that learns of the end finds the others informed.
  // The heir, or a parent, may end as soon as it knows: whoever watches both learns of this end first.
  if (closed) rooms_.relations.TellWatchers(*closed, reason);
  if (heir_ || has_rest) {
    LeaveRest(rest,
              {.pid = self,
               .reason = reason,
               .messages = std::move(waiting),
               .handled = routed_work_.Handled() + (pool() == nullptr ? 0 : pool()->Settled()),
               .holds_current = holds_current,
               .expired = Rare().routed_expired.Read()});
  }
  if (closed) rooms_.relations.TellLinks(*closed, self, Parent(), reason);
  rooms_.back_pressure.End(*this);
  if (!was_started) ReportFailedInit(reason);
  if (current_open) AnswerRequest(rooms_.delivery, *current, TerminatedError(reason));
  current_ = nullptr;
  if (current != nullptr) core::DisposeEnvelope(current);
  if (ProcessCold* const cold = ColdIfAny()) AnswerOpenQuestions(*cold, reason);
  rooms_.totals.ended.Note(reason.IsFailure(), counts_);
  // From here on it is over for those who have not asked yet. Partner: IsYetToEnd.
  activity_.SetState(gen::ProcessState::kStarting, std::memory_order_seq_cst);
  rooms_.population.Leave(*this, *dispatcher_, self);
}

void ProcessRunner::RunTerminate(const gen::Reason& reason) {
  activity_.SetState(gen::ProcessState::kTerminating);
  activity_.NoteNoMessage();  // Terminate handles no message
  if (started_) {
    try {
      behavior_->ProcessTerminate(reason);
    } catch (...) {
      const gen::Reason thrown = PanicReason();
      TryLog([&] { Lines().Error("Terminate threw: {}", thrown); });
    }
  }
  if (reason.IsFailure()) TryLog([&] { Lines().Debug("ended: {}", reason); });
  // Again: Terminate may have waited for something. Relaxed: who finds the relations closed finds it; see IsYetToEnd.
  activity_.SetState(gen::ProcessState::kTerminating);
}

core::Mailbox::Rest ProcessRunner::CloseMailbox(std::vector<core::EnvelopePtr>& waiting) {
  ProcessCold* const cold = ColdIfAny();
  if (cold == nullptr) return mailbox_.Close();  // all that follows has its place there
  waiting = TakeStash();
  Receiving::Close(*this, waiting);
  core::Mailbox::Rest rest = mailbox_.Close();
  if (taking_.HasQueue()) {
    // After the mailbox was closed: whoever pushes from now on finds the lane closed.
    for (auto& envelope : GetQueueLane()->Close(mailbox_)) {
      waiting.push_back(std::move(envelope));
    }
    taking_.UseQueue(false);
  }
  if (!cold->left_to_heir.empty()) {
    auto left = std::exchange(cold->left_to_heir, {});
    waiting.insert(waiting.begin(), std::make_move_iterator(left.begin()),
                   std::make_move_iterator(left.end()));
  }
  return rest;
}

void ProcessRunner::AnswerOpenQuestions(ProcessCold& cold, const gen::Reason& reason) {
  cold.next = nullptr;  // of a destructor
  if (!cold.open_requests.empty()) {
    AnswerOpenRequests(rooms_.delivery, cold, TerminatedError(reason));
  }
  cold.open_requests_limit = ProcessCold::kOpenRequestsLimit;
  cold.awaited.Clear(rooms_.timers);
}

// Names, aliases, events, groups and periodic sends; `reason` is what subscribers are told.
void ProcessRunner::ReleaseFeatures(ProcessCold& cold, const gen::Reason& reason) {
  const gen::PID self = Self();
  cold.next = nullptr;  // what it has captured may be the behaviour's
  std::vector<gen::Atom> events;
  ProcessCold::Subscriptions subscriptions;
  std::unique_ptr<ProcessCold::GroupNotes> groups;
  bool periodic_sends = false;
  std::unordered_map<gen::Atom, EventMark> past_events;
  gen::Mailbox mailbox;  // has functions of the user's, and goes after the lock
  {
    std::lock_guard lock(cold.lock);
    rooms_.registry.Release(self, cold);
    cold.fallback = {};
    cold.overflow = gen::Overflow::kReject;
    std::swap(cold.mailbox, mailbox);
    cold.stash_limit = 0;
    events.swap(cold.events);
    subscriptions.swap(cold.subscriptions);
    past_events.swap(cold.past_events);
    cold.past_events_limit = ProcessCold::kPastEventsLimit;
    cold.past_events_elsewhere.clear();
    groups.swap(cold.groups);
    cold.joins_no_group = false;
    periodic_sends = std::exchange(cold.periodic_sends, false);
  }
  if (periodic_sends) rooms_.periodic_sends.EndThoseOf(self);
  if (groups != nullptr) rooms_.groups.Release(self, *groups);
  for (const auto& subscription : subscriptions) {
    rooms_.publishing.EndSubscription(subscription, self);
  }
  for (const gen::Atom event : events) rooms_.publishing.End(event, self, reason);
}

void ProcessRunner::LeaveRest(core::Mailbox::Rest& rest, gen::MessageInheritance inheritance) {
  const gen::PID self = inheritance.pid;
  const gen::Reason reason = inheritance.reason;
  const auto generation = GenerationOf(self);
  [[maybe_unused]] std::uint32_t found = 0;
  while (rest.main != nullptr) {
    core::EnvelopePtr envelope(rest.main);
    rest.main = rest.main->next;
    if (IsUnmade(*envelope)) {
      MadeMessages made = MakeMessages(*envelope);
      found += made.missing;
      if (!made.list.empty()) {
        made.list.tail->next = rest.main;
        rest.main = made.list.head;
      }
      continue;
    }
    ++found;
    const auto kind = KindOf(*envelope);
    if (kind == gen::EnvelopeKind::kStopAfterThis || IsNotice(*envelope)) continue;
    if (envelope->generation != generation) {
      DisposeLate(std::move(envelope));
    } else {
      inheritance.messages.push_back(std::move(envelope));
    }
  }
  assert((found & core::DispatchState::kCountMask) == rest.main_messages &&
         "a message was pushed and is not there");
  while (rest.express != nullptr) {
    core::EnvelopePtr envelope(rest.express);
    rest.express = rest.express->next;
    // Of a worker that has ended just before.
    if (KindOf(*envelope) == gen::EnvelopeKind::kInheritance && heir_) {
      auto* left = envelope->ValueAs<gen::MessageInheritance>();
      left->indirect = true;
      left->late = false;  // it is counted where it was on its way to
      if (LeaveToHeir(*this, self, envelope)) continue;
    }
    if (IsExpressMessage(*envelope)) NoteExpressGone();
    rooms_.delivery.Drop(std::move(envelope), self, gen::DropReason::kTerminated,
                         TerminatedError(reason));
  }
  if (heir_) {
    auto message = core::MakeEnvelope<gen::MessageInheritance>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kInheritance), core::Lane::kUrgent,
        std::move(inheritance));
    if (!LeaveToHeir(*this, self, message)) {  // the heirs are gone as well
      rooms_.delivery.Drop(std::move(message), self, gen::DropReason::kTerminated,
                           TerminatedError(reason));
    }
    return;
  }
  for (auto& envelope : inheritance.messages) {
    rooms_.delivery.Drop(std::move(envelope), self, gen::DropReason::kTerminated,
                         TerminatedError(reason));
  }
}

void ProcessRunner::DisposeLate(core::EnvelopePtr envelope) {
  const gen::PID to = rooms_.addresses.PidIn(*this, envelope->generation);
  if (ReturnToPool(rooms_, to, envelope)) return;
  if (IsRouted(*envelope)) {  // whom it was sent to is known: a pool, which may have ended, too
    rooms_.delivery.Drop(std::move(envelope), to, gen::DropReason::kTerminated,
                         gen::ErrProcessTerminated);
    return;
  }
  rooms_.delivery.Drop(std::move(envelope), to, gen::DropReason::kUnknown, gen::ErrProcessUnknown);
}

}  // namespace ergon::node
