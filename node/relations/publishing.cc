#include <ergon/node/relations/publishing.h>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>

#include <ergon/node/relations/relations.h>
#include <ergon/node/slots/unique_id.h>

namespace ergon::node {
namespace {

Subscription NumbersOf(const ProcessCold::EventSubscription& note) {
  return note.link ? Subscription{.link = note.id} : Subscription{.monitor = note.id};
}

// For the default reason of a link, "normal", would not tell anybody.
const gen::Reason& Unregistered() {
  static const gen::Reason reason = gen::Reason::Error("event unregistered");
  return reason;
}

}  // namespace

Publishing::Publishing(const Needs& needs)
    : needs_(needs), dead_letters_token_(needs.addresses.MakeRef()) {
  (void)events_.Add(gen::kDeadLetters, needs_.addresses.NodePid(), dead_letters_token_,
                    {.notify = true});  // the first one: no other has that name
}

void Publishing::Dropped(gen::DeadLetter letter) {
  constexpr auto kEvent = static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent);
  (void)Publish(needs_.addresses.NodePid(), gen::kDeadLetters, dead_letters_token_,
                core::MakeEnvelope<gen::DeadLetter>(kEvent, core::Lane::kMain, std::move(letter)));
}

gen::Result<gen::Ref> Publishing::Register(ProcessSlot& producer, gen::Atom name,
                                           const gen::EventOptions& options) {
  const gen::Ref token = needs_.addresses.MakeRef();
  auto added = events_.Add(name, needs_.addresses.PidOf(producer.Id()), token, options);
  if (!added) return std::move(added.error());
  std::lock_guard lock(producer.Cold().lock);
  producer.Cold().events.push_back(name);
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
  auto subscribers = events_.Remove(name, producer);
  if (!subscribers) return;
  const gen::Event event{name, needs_.addresses.node()};
  for (const auto& [subscriber, how] : *subscribers) {
    if (how.monitor != 0) {
      auto notice = core::MakeEnvelope<gen::MessageDownEvent>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kDown), core::Lane::kSystem,
          gen::MessageDownEvent{event, reason});
      notice->from = producer.ToAddress();
      notice->ref = how.monitor;
      (void)needs_.delivery.Deliver(subscriber, notice);  // one that has ended needs no notice
    }
    if (how.link != 0) {
      auto signal = core::MakeEnvelope<gen::MessageExitEvent>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
          gen::MessageExitEvent{event, reason});
      signal->from = producer.ToAddress();
      signal->ref = how.link;
      needs_.exit_signals.Deliver(subscriber, std::move(signal));
    }
  }
}

gen::Result<std::vector<gen::MessageEvent>> Publishing::Subscribe(ProcessSlot& subscriber,
                                                                  const gen::Event& event,
                                                                  bool link) {
  if (!event.node.empty() && event.node != needs_.addresses.node()) {
    return gen::Error(gen::ErrorCode::kNoConnection, event.node.ToString());
  }
  const ProcessCold::EventSubscription note{event.name, NextUniqueId(), link};
  // Noted first: should the event end in between, its notice finds the note.
  {
    std::lock_guard lock(subscriber.Cold().lock);
    subscriber.Cold().subscriptions.push_back(note);
  }
  const gen::PID pid = needs_.addresses.PidOf(subscriber.Id());
  auto missed = events_.Subscribe(event.name, pid, NumbersOf(note), [&](gen::PID producer) {
    TellProducer<gen::MessageEventStart>(event.name, producer);
  });
  if (!missed) (void)Relations::TakeSubscription(subscriber, note.id);
  return missed;
}

gen::Result<void> Publishing::Unsubscribe(ProcessSlot& subscriber, const gen::Event& event,
                                          bool link) {
  ProcessCold::EventSubscription note{};
  {
    ProcessCold& cold = subscriber.Cold();
    std::lock_guard lock(cold.lock);
    // From behind: before it may be others, of former events whose notice has not been handled yet.
    auto found =
        std::find_if(cold.subscriptions.rbegin(), cold.subscriptions.rend(),
                     [&](const auto& one) { return one.name == event.name && one.link == link; });
    if (found == cold.subscriptions.rend() ||
        (!event.node.empty() && event.node != needs_.addresses.node())) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no subscription to " + event.ToString());
    }
    note = *found;
    cold.subscriptions.erase(std::next(found).base());
  }
  EndSubscription(note, needs_.addresses.PidOf(subscriber.Id()));
  return {};
}

void Publishing::EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber) {
  events_.Unsubscribe(note.name, subscriber, NumbersOf(note), [&](gen::PID producer) {
    TellProducer<gen::MessageEventStop>(note.name, producer);
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
  const std::shared_ptr<core::Envelope> shared(value.release(), core::EnvelopeDisposer());
  std::int64_t now = -1;
  const auto make = [&] {
    if (now < 0)
      now = needs_.clock.Now();  // under the event's lock: timestamps are in its order, too
    return gen::MessageEvent({name, needs_.addresses.node()}, now, shared);
  };
  std::size_t sent = 0;
  auto published = events_.Publish(name, token, make, [&](gen::PID subscriber) {
    auto event = core::MakeEnvelope<gen::MessageEvent>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent), core::Lane::kMain, make());
    event->from = from.ToAddress();
    auto delivered = needs_.delivery.Deliver(subscriber, event);
    if (delivered) {
      needs_.totals.accepted.Add();
      ++sent;
    } else if (delivered.error() == gen::ErrProcessMailboxFull) {
      needs_.totals.accepted.Add();
      needs_.delivery.Drop(std::move(event), subscriber, gen::DropReason::kMailboxFull,
                           delivered.error());
    }
  });
  if (!published) return std::move(published.error());
  return sent;
}

}  // namespace ergon::node
