// Events: who gets what is published, and how an event ends.
#include <algorithm>
#include <mutex>
#include <utility>

#include <ergon/gen/event.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>

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

gen::Result<gen::Ref> Runtime::RegisterEvent(Process& producer, gen::Atom name,
                                             const gen::EventOptions& options) {
  const gen::Ref token = MakeRef();
  auto added = events_.Add(name, producer.Self(), token, options);
  if (!added) return std::move(added.error());
  std::lock_guard lock(producer.Cold().lock);
  producer.Cold().events.push_back(name);
  return token;
}

gen::Result<void> Runtime::UnregisterEvent(Process& producer, gen::Atom name) {
  {
    std::lock_guard lock(producer.Cold().lock);
    if (std::erase(producer.Cold().events, name) == 0) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no event " + name.ToString());
    }
  }
  EndEvent(name, producer.Self(), Unregistered());
  return {};
}

void Runtime::EndEvent(gen::Atom name, gen::PID producer, const gen::Reason& reason) {
  auto subscribers = events_.Remove(name, producer);
  if (!subscribers) return;
  const gen::Event event{name, name_};
  for (const auto& [subscriber, how] : *subscribers) {
    if (how.monitor != 0) {
      auto notice = core::MakeEnvelope<gen::MessageDownEvent>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kDown), core::Lane::kSystem,
          gen::MessageDownEvent{event, reason});
      notice->from = producer.ToAddress();
      notice->ref = how.monitor;
      (void)Deliver(subscriber, notice);  // one that has ended needs no notice
    }
    if (how.link != 0) {
      auto signal = core::MakeEnvelope<gen::MessageExitEvent>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
          gen::MessageExitEvent{event, reason});
      signal->from = producer.ToAddress();
      signal->ref = how.link;
      DeliverExit(subscriber, std::move(signal));
    }
  }
}

gen::Result<std::vector<gen::MessageEvent>> Runtime::SubscribeEvent(Process& subscriber,
                                                                    const gen::Event& event,
                                                                    bool link) {
  if (!event.node.empty() && event.node != name_) {
    return gen::Error(gen::ErrorCode::kNoConnection, event.node.ToString());
  }
  const ProcessCold::EventSubscription note{event.name, NextUniqueId(), link};
  // Noted first: should the event end in between, its notice finds the note.
  {
    std::lock_guard lock(subscriber.Cold().lock);
    subscriber.Cold().subscriptions.push_back(note);
  }
  const gen::PID pid = subscriber.Self();
  auto missed = events_.Subscribe(event.name, pid, NumbersOf(note), [&](gen::PID producer) {
    TellProducer<gen::MessageEventStart>(event.name, producer);
  });
  if (!missed) (void)Relations::TakeSubscription(subscriber, note.id);
  return missed;
}

gen::Result<void> Runtime::UnsubscribeEvent(Process& subscriber, const gen::Event& event,
                                            bool link) {
  ProcessCold::EventSubscription note{};
  {
    ProcessCold& cold = subscriber.Cold();
    std::lock_guard lock(cold.lock);
    // From behind: before it may be others, of former events whose notice has not been handled yet.
    auto found =
        std::find_if(cold.subscriptions.rbegin(), cold.subscriptions.rend(),
                     [&](const auto& one) { return one.name == event.name && one.link == link; });
    if (found == cold.subscriptions.rend() || (!event.node.empty() && event.node != name_)) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no subscription to " + event.ToString());
    }
    note = *found;
    cold.subscriptions.erase(std::next(found).base());
  }
  EndSubscription(note, subscriber.Self());
  return {};
}

void Runtime::EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber) {
  events_.Unsubscribe(note.name, subscriber, NumbersOf(note), [&](gen::PID producer) {
    TellProducer<gen::MessageEventStop>(note.name, producer);
  });
}

template <class Notice>
void Runtime::TellProducer(gen::Atom name, gen::PID producer) {
  auto notice = core::MakeEnvelope<Notice>(static_cast<std::uint8_t>(gen::EnvelopeKind::kDown),
                                           core::Lane::kSystem, Notice{gen::Event{name, name_}});
  notice->from = Self().ToAddress();
  (void)Deliver(producer, notice);  // one that has ended needs no notice
}

gen::Result<std::size_t> Runtime::PublishEvent(gen::PID from, gen::Atom name, gen::Ref token,
                                               core::EnvelopePtr value) {
  const std::shared_ptr<core::Envelope> shared(value.release(), core::EnvelopeDisposer());
  std::int64_t now = -1;
  const auto make = [&] {
    if (now < 0) now = clock_->Now();  // under the event's lock: timestamps are in its order, too
    return gen::MessageEvent({name, name_}, now, shared);
  };
  std::size_t sent = 0;
  auto published = events_.Publish(name, token, make, [&](gen::PID subscriber) {
    auto event = core::MakeEnvelope<gen::MessageEvent>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent), core::Lane::kMain, make());
    event->from = from.ToAddress();
    auto delivered = Deliver(subscriber, event);
    if (delivered) {
      CountAccepted();
      ++sent;
    } else if (delivered.error() == gen::ErrProcessMailboxFull) {
      CountAccepted();
      NoteDrop(*event, subscriber, gen::DropReason::kMailboxFull, delivered.error());
    }
  });
  if (!published) return std::move(published.error());
  return sent;
}

}  // namespace ergon::node
