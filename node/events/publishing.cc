#include <ergon/node/events/publishing.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/gen/trace.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

Subscription NumbersOf(OneSubscription how) {
  return how.link ? Subscription{.link = how.number} : Subscription{.monitor = how.number};
}
OneSubscription OneOf(const ProcessCold::EventSubscription& note) { return {note.id, note.link}; }

// For the default reason of a link, "normal", would not tell anybody.
const gen::Reason& Unregistered() {
  static const gen::Reason reason = gen::Reason::Error("event unregistered");
  return reason;
}

// With the trace id of the value.
core::EnvelopePtr MakeValue(gen::PID from, gen::MessageEvent value) {
  const gen::TraceId trace = gen::TraceOf(value.Envelope());
  core::EnvelopePtr envelope = core::MakeEnvelope<gen::MessageEvent>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent), core::Lane::kMain, std::move(value));
  envelope->from = from.ToAddress();
  if (trace != 0) [[unlikely]]
    gen::MarkTraced(*envelope, trace);
  return envelope;
}

// Whether values of a former subscription may wait: in the process's own turn.
bool MayWait(const ProcessSlot& subscriber) {
  return subscriber.mailbox().MainDepthApprox() != 0 || subscriber.AsideApprox() != 0;
}

}  // namespace

Publishing::Publishing(const Needs& needs)
    : needs_(needs), dead_letters_token_(needs.addresses.MakeRef()) {
  (void)events_.Add(gen::kDeadLetters, needs_.addresses.NodePid(), dead_letters_token_,
                    {.notify = true});  // the first one: no other has that name
}

void Publishing::Dropped(gen::DeadLetter letter) {
  constexpr auto kEvent = static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent);
  const std::shared_ptr<core::Envelope> shared(
      core::MakeEnvelope<gen::DeadLetter>(kEvent, core::Lane::kMain, std::move(letter)).release(),
      core::EnvelopeDisposer());
  // What is the users' goes when the silence has ended: their destructors may drop something, or be suspended.
  const LateDrops late_drops = needs_.delivery.DropLate();
  const Drops::Silence silence;
  (void)PublishShared(needs_.addresses.NodePid(), gen::kDeadLetters, dead_letters_token_, shared);
}

gen::Result<gen::Ref> Publishing::Register(ProcessSlot& producer, gen::Atom name,
                                           const gen::EventOptions& options) {
  const gen::Ref token = needs_.addresses.MakeRef();
  ProcessCold& cold = producer.Cold();
  {  // First what may throw: an event without a note would never end.
    std::lock_guard lock(cold.lock);
    const std::size_t events = cold.events.size();
    if (events == cold.events.capacity()) cold.events.reserve(2 * events + 1);
  }
  auto added = events_.Add(name, needs_.addresses.PidOf(producer.Id()), token, options);
  if (!added) return std::move(added.error());
  std::lock_guard lock(cold.lock);
  cold.events.push_back(name);
  return token;
}

gen::Result<void> Publishing::Unregister(ProcessSlot& producer, gen::Atom name) {
  {
    std::lock_guard lock(producer.Cold().lock);
    if (std::erase(producer.Cold().events, name) == 0) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no event " + name.ToString());
    }
  }
  End(name, needs_.addresses.PidOf(producer.Id()), Unregistered());
  return {};
}

void Publishing::End(gen::Atom name, gen::PID producer, const gen::Reason& reason) {
  auto subscribers = events_.End(name, producer);
  if (!subscribers) return;
  const gen::Event event{name, needs_.addresses.node()};
  for (const auto& [subscriber, how] : *subscribers) {
    ForEach(how, [&, to = subscriber](OneSubscription one) {
      if (to.node == event.node) {
        TellEnd(to, producer, event, one, reason);
      } else {
        transport_->TellEnd(to, producer, name, one, reason);
      }
    });
  }
}

void Publishing::TellEnd(gen::PID subscriber, gen::PID producer, const gen::Event& event,
                         OneSubscription how, const gen::Reason& reason) {
  if (how.link) {
    auto signal = core::MakeEnvelope<gen::MessageExitEvent>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
        gen::MessageExitEvent{event, reason});
    signal->from = producer.ToAddress();
    signal->ref = how.number;
    needs_.exit_signals.Deliver(subscriber, std::move(signal));
    return;
  }
  auto notice = core::MakeEnvelope<gen::MessageDownEvent>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kDown), core::Lane::kSystem,
      gen::MessageDownEvent{event, reason});
  notice->from = producer.ToAddress();
  notice->ref = how.number;
  (void)needs_.delivery.Deliver(subscriber, notice);  // one that has ended needs no notice
}

template <class Begin>
auto Publishing::WithNote(ProcessSlot& subscriber, const Note& note, const Begin& begin) {
  {
    std::lock_guard lock(subscriber.Cold().lock);
    subscriber.Cold().subscriptions.push_back(note);
  }
  try {
    auto begun = begin();
    if (!begun) (void)Relations::TakeSubscription(subscriber, note.id);
    return begun;
  } catch (...) {  // no memory: nobody would know of what has begun
    (void)Relations::TakeSubscription(subscriber, note.id);
    (void)EndSubscription(note, needs_.addresses.PidOf(subscriber.Id()));
    throw;
  }
}

gen::Result<std::vector<gen::MessageEvent>> Publishing::Subscribe(ProcessSlot& subscriber,
                                                                  const gen::Event& event,
                                                                  bool link) {
  const Note note{{event.name, needs_.addresses.node()}, NextUniqueId(), link};
  return WithNote(subscriber, note, [&] { return SubscribeNoted(subscriber, note); });
}

gen::Result<std::vector<gen::MessageEvent>> Publishing::SubscribeNoted(ProcessSlot& subscriber,
                                                                       const Note& note) {
  const gen::Atom name = note.event.name;
  const gen::PID pid = needs_.addresses.PidOf(subscriber.Id());
  // Values of a former subscription may wait: what was missed since comes after them. A pool's are on their way to
  // several workers, in no order.
  auto& past_events = subscriber.Cold().past_events;
  const bool may_wait = MayWait(subscriber);
  if (!past_events.contains(name)) ForgetPastEvents(subscriber.Cold(), may_wait);
  // Made first: once it has subscribed, nothing throws any more.
  const auto [past, is_new] = past_events.try_emplace(name);
  EventMark mark = past->second;
  Events::Place place;
  if (!is_new && may_wait && !subscriber.IsPool()) {
    place = [&](gen::MessageEvent value) { PlaceMissed(pid, std::move(value)); };
  }
  gen::Result<std::vector<gen::MessageEvent>> missed;
  try {
    const LateDrops late_drops = needs_.delivery.DropLate();  // of PlaceMissed, under the lock
    missed = events_.Subscribe(
        name, pid, NumbersOf(OneOf(note)),
        [&](gen::PID producer) { TellProducer<gen::MessageEventStart>(name, producer); }, &mark,
        place);
  } catch (...) {
    if (is_new) past_events.erase(past);
    throw;
  }
  if (!missed && is_new) past_events.erase(past);
  if (missed && (is_new || mark.event != 0)) past->second = mark;
  return missed;
}

void Publishing::PlaceMissed(gen::PID subscriber, gen::MessageEvent value) {
  ProcessSlot* const slot = needs_.addresses.Find(subscriber);
  if (slot == nullptr) return;  // as any value for one that has ended
  core::EnvelopePtr envelope = MakeValue(needs_.addresses.NodePid(), std::move(value));
  needs_.delivery.NoteSent(*envelope);
  const QueueLane* const lane = slot->GetQueueLane();
  if (lane != nullptr &&
      lane->IsOf(GenerationOf(subscriber))) {  // it has an order and a bound of its own
    needs_.totals.accepted.Add();
    (void)needs_.delivery.DeliverOrDrop(subscriber, std::move(envelope));
    return;
  }
  envelope->generation = GenerationOf(subscriber);
  const auto outcome = slot->mailbox().PushBeyondBound(envelope.get());
  const auto accepted = needs_.delivery.Accept(*slot, subscriber, outcome, envelope);
  needs_.totals.accepted.Add();
  if (accepted) return;
  // It has been asked to stop, so that nothing comes behind what waits.
  needs_.delivery.Drop(std::move(envelope), subscriber, gen::DropReasonOf(accepted.error()),
                       accepted.error());
}

void Publishing::ForgetPastEvents(ProcessCold& cold, bool may_wait) {
  // A process with messages may have values of an old one among them: it keeps more.
  if (cold.past_events.size() < (may_wait ? 4 : 1) * cold.past_events_limit) return;
  std::erase_if(cold.past_events,
                [&](const auto& one) { return events_.IdOf(one.first) != one.second.event; });
  cold.past_events_limit = 2 * cold.past_events.size() + ProcessCold::kPastEventsLimit;
}

gen::Result<ProcessCold::EventSubscription> Publishing::BeginElsewhere(ProcessSlot& subscriber,
                                                                       const gen::Event& event,
                                                                       bool link,
                                                                       std::uint64_t id) {
  if (transport_ == nullptr) {
    return gen::Error(gen::ErrorCode::kNoConnection, event.node.ToString());
  }
  const Note note{event, id, link};
  auto begun = WithNote(subscriber, note, [&] {
    const auto progress = ProgressWith(event, subscriber.Cold(), MayWait(subscriber));
    // Who has subscribed in the other way gets values while it waits for the answer. Looked at before the mailbox: the
    // transport forgets that when the event ends. A pool's values are on their way to several workers, see Subscribe.
    const bool has_subscribed = progress.use_count() > 2;
    const bool may_wait = has_subscribed || MayWait(subscriber);
    return transport_->Subscribe(needs_.addresses.PidOf(subscriber.Id()), event, OneOf(note),
                                 progress, may_wait && !subscriber.IsPool());
  });
  return begun.map([&] { return note; });
}

std::shared_ptr<EventProgress> Publishing::ProgressWith(const gen::Event& event, ProcessCold& cold,
                                                        bool may_wait) {
  auto& all = cold.past_events_elsewhere;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.event == event; });
  if (found != all.end()) {
    std::rotate(found, std::next(found), all.end());
    return all.back().progress;
  }
  // A process with messages may have values of an old one among them: it keeps more.
  constexpr std::size_t kLimit = ProcessCold::kPastEventsElsewhereLimit;
  if (all.size() >= (may_wait ? 4 * kLimit : kLimit)) {
    std::size_t over = all.size() - kLimit + 1;
    std::erase_if(all, [&](const auto& one) {  // the oldest without a subscription
      return over != 0 && one.progress.use_count() == 1 && over-- != 0;
    });
  }
  all.push_back({event, std::make_shared<EventProgress>()});
  return all.back().progress;
}

gen::Result<std::vector<gen::MessageEvent>> Publishing::SubscribeFromAfar(gen::PID remote,
                                                                          gen::Atom name,
                                                                          OneSubscription how,
                                                                          EventMark& mark) {
  // Dead letters are of types that only their node knows.
  if (name.Text() == gen::kDeadLetters) {
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        fmt::format("event {}: only processes of its own node can subscribe to it", name));
  }
  return events_.Subscribe(
      name, remote, NumbersOf(how),
      [&](gen::PID producer) { TellProducer<gen::MessageEventStart>(name, producer); }, &mark);
}

gen::Result<void> Publishing::Unsubscribe(ProcessSlot& subscriber, const gen::Event& event,
                                          bool link) {
  const gen::Event wanted{event.name, event.node.empty() ? needs_.addresses.node() : event.node};
  ProcessCold::EventSubscription note{};
  {
    ProcessCold& cold = subscriber.Cold();
    std::lock_guard lock(cold.lock);
    // From behind: before it may be others, of former events whose notice has not been handled yet.
    const bool was_there = cold.subscriptions.TakeLastIf(
        [&](const auto& one) { return one.event == wanted && one.link == link; }, note);
    if (!was_there) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no subscription to " + event.ToString());
    }
  }
  const EventMark mark = EndSubscription(note, needs_.addresses.PidOf(subscriber.Id()));
  if (mark.event == 0) return {};
  auto& past_events = subscriber.Cold().past_events;
  const auto past = past_events.find(note.event.name);
  if (past != past_events.end()) past->second = mark;
  return {};
}

EventMark Publishing::EndSubscription(const ProcessCold::EventSubscription& note,
                                      gen::PID subscriber) {
  if (IsElsewhere(note.event)) {
    transport_->Unsubscribe(subscriber, note.event, OneOf(note));
    return {};
  }
  const gen::Atom name = note.event.name;
  return events_.Unsubscribe(name, subscriber, NumbersOf(OneOf(note)), [&](gen::PID producer) {
    TellProducer<gen::MessageEventStop>(name, producer);
  });
}

template <class Notice>
void Publishing::TellProducer(gen::Atom name, gen::PID producer) {
  if (producer == needs_.addresses.NodePid()) {
    const bool is_start = std::is_same_v<Notice, gen::MessageEventStart>;
    needs_.drops.SetListener(is_start ? this : nullptr);
    return;
  }
  auto notice = core::MakeEnvelope<Notice>(static_cast<std::uint8_t>(gen::EnvelopeKind::kDown),
                                           core::Lane::kSystem,
                                           Notice{gen::Event{name, needs_.addresses.node()}});
  notice->from = needs_.addresses.NodePid().ToAddress();
  (void)needs_.delivery.Deliver(producer, notice);  // one that has ended needs no notice
}

gen::Result<std::size_t> Publishing::Publish(gen::PID from, gen::Atom name, gen::Ref token,
                                             core::EnvelopePtr value) {
  return PublishShared(from, name, token,
                       std::shared_ptr<core::Envelope>(value.release(), core::EnvelopeDisposer()));
}

gen::Result<std::size_t> Publishing::PublishShared(gen::PID from, gen::Atom name, gen::Ref token,
                                                   const std::shared_ptr<core::Envelope>& shared) {
  std::int64_t now = -1;
  const auto make = [&] {
    if (now < 0)
      now = needs_.clock.Now();  // under the event's lock: timestamps are in its order, too
    return gen::MessageEvent({name, needs_.addresses.node()}, now, shared);
  };
  std::size_t sent = 0;
  std::vector<std::pair<gen::PID, gen::Error>> refused;  // the value cannot go to their nodes
  std::unique_ptr<ValueForNodes> for_nodes;
  const auto is_ready = [&](gen::Atom node) {
    if (for_nodes == nullptr) for_nodes = transport_->ForNodes(*shared);
    return for_nodes->IsEncodedFor(node);
  };
  const auto deliver = [&](gen::PID subscriber, std::uint64_t number) {
    if (subscriber.node == needs_.addresses.node()) {
      if (SendHere(subscriber, from, make())) ++sent;
      return;
    }
    auto outcome = SendElsewhere(*for_nodes, subscriber, from, make(), number);
    if (outcome) {
      ++sent;
    } else if (outcome.error() == gen::ErrUnsupported || outcome.error() == gen::ErrIncorrect) {
      refused.emplace_back(subscriber, std::move(outcome.error()));
    }
  };
  const auto publish = [&] {
    const LateDrops late_drops = needs_.delivery.DropLate();  // of SendHere, under the event's lock
    return events_.Publish(name, token, is_ready, make, deliver);
  };
  auto published = publish();
  while (published && !*published) {
    for_nodes->Encode();
    published = publish();
  }
  if (!published) return std::move(published.error());
  for (const auto& [subscriber, why] : refused) EndFromAfar(subscriber, from, name, why);
  return sent;
}

bool Publishing::SendHere(gen::PID subscriber, gen::PID from, gen::MessageEvent value) {
  core::EnvelopePtr envelope = MakeValue(from, std::move(value));
  needs_.delivery.NoteSent(*envelope);
  const auto sent = needs_.delivery.Deliver(subscriber, envelope);
  // One that is ending is no subscriber any more.
  if (!sent && gen::HasReceiverEnded(sent.error())) return false;
  needs_.totals.accepted.Add();
  if (sent) return true;
  needs_.delivery.Drop(std::move(envelope), subscriber, gen::DropReasonOf(sent.error()),
                       sent.error());
  return false;
}

gen::Result<void> Publishing::SendElsewhere(ValueForNodes& for_nodes, gen::PID subscriber,
                                            gen::PID from, gen::MessageEvent value,
                                            std::uint64_t number) {
  auto sent = for_nodes.Send(subscriber, from, value, number);
  if (sent) {
    needs_.totals.accepted.Add();
  } else if (sent.error() == gen::ErrBusy) {
    needs_.totals.accepted.Add();
    needs_.delivery.Drop(MakeValue(from, std::move(value)), subscriber,
                         gen::DropReasonOf(sent.error()), sent.error());
  }
  return sent;
}

void Publishing::EndFromAfar(gen::PID remote, gen::PID producer, gen::Atom name,
                             const gen::Error& why) {
  const Subscription had = events_.Remove(
      name, remote, [&](gen::PID told) { TellProducer<gen::MessageEventStop>(name, told); });
  ForEach(had, [&](OneSubscription one) {
    transport_->TellEnd(remote, producer, name, one, gen::Reason::Error(why.ToString()));
  });
}

}  // namespace ergon::node
