// Events: which processes get a published value, and how an event ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/events/event_transport.h>
#include <ergon/node/events/events.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Each slot is that of the process whose turn it is. The event gen::kDeadLetters is the node's own.
class Publishing : private Drops::Listener {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Addresses& addresses;
    Delivery& delivery;
    ExitSignals& exit_signals;
    Drops& drops;
    MessageTotals& totals;
    const core::Clock& clock;
  };
  explicit Publishing(const Needs& needs);

  gen::Result<gen::Ref> Register(ProcessSlot& producer, gen::Atom name,
                                 const gen::EventOptions& options);
  gen::Result<void> Unregister(ProcessSlot& producer, gen::Atom name);
  // Removes an event and sends the notices of its end to its subscribers.
  void End(gen::Atom name, gen::PID producer, const gen::Reason& reason);
  // Subscribes to an event of this node. `link`: the event's end is an exit signal.
  gen::Result<std::vector<gen::MessageEvent>> Subscribe(ProcessSlot& subscriber,
                                                        const gen::Event& event, bool link);
  [[nodiscard]] bool IsElsewhere(const gen::Event& event) const {
    return !event.node.empty() && event.node != needs_.addresses.node();
  }
  // Begins to subscribe to an event of another node, with the number `id`, to which the answer comes; see
  // EventTransport::Subscribe. Call EndSubscription if the answer is an error, or does not come.
  gen::Result<ProcessCold::EventSubscription> BeginElsewhere(ProcessSlot& subscriber,
                                                             const gen::Event& event, bool link,
                                                             std::uint64_t id);
  gen::Result<void> Unsubscribe(ProcessSlot& subscriber, const gen::Event& event, bool link);
  // Ends a subscription whose note is gone already, or that is of a process of another node. Returns how far it got, if
  // that is known here.
  EventMark EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber);
  // Subscribes a process of another node to an event of this one. `mark`: see Events::Subscribe.
  gen::Result<std::vector<gen::MessageEvent>> SubscribeFromAfar(gen::PID remote, gen::Atom name,
                                                                OneSubscription how,
                                                                EventMark& mark);
  // Puts what a process has missed of an event behind the values in its mailbox. In its turn, or while it waits for the
  // answer to its subscription.
  void PlaceMissed(gen::PID subscriber, gen::MessageEvent value);
  // Sends a process of this node the notice or signal of the end of an event.
  void TellEnd(gen::PID subscriber, gen::PID producer, const gen::Event& event, OneSubscription how,
               const gen::Reason& reason);
  // Publishes a value, and returns how many subscribers have got it.
  gen::Result<std::size_t> Publish(gen::PID from, gen::Atom name, gen::Ref token,
                                   core::EnvelopePtr value);

  [[nodiscard]] const Events& events() const noexcept { return events_; }

  // Called by the transport before it accepts connections. Null: there are no other nodes.
  void SetTransport(EventTransport* transport) noexcept { transport_ = transport; }

 private:
  using Note = ProcessCold::EventSubscription;

  void Dropped(gen::DeadLetter letter) override;
  // Does what Publish does. The caller lets go of the value later than this.
  gen::Result<std::size_t> PublishShared(gen::PID from, gen::Atom name, gen::Ref token,
                                         const std::shared_ptr<core::Envelope>& shared);
  // Notes a subscription, and calls `begin`. The note first: should the event end in between, its notice finds it.
  // Takes both back if `begin` throws.
  template <class Begin>
  auto WithNote(ProcessSlot& subscriber, const Note& note, const Begin& begin);
  gen::Result<std::vector<gen::MessageEvent>> SubscribeNoted(ProcessSlot& subscriber,
                                                             const Note& note);
  // Forgets events that have ended, unless values of theirs may wait in the mailbox.
  void ForgetPastEvents(ProcessCold& cold, bool may_wait);
  // Returns how far the process got with an event of another node; begins with nothing.
  static std::shared_ptr<EventProgress> ProgressWith(const gen::Event& event, ProcessCold& cold,
                                                     bool may_wait);
  // Sends the producer a MessageEventStart or MessageEventStop.
  template <class Notice>
  void TellProducer(gen::Atom name, gen::PID producer);
  // Returns whether the value is in the mailbox.
  bool SendHere(gen::PID subscriber, gen::PID from, gen::MessageEvent value);
  // Returns the errors of ValueForNodes::Send. A value that is not on its way because of kBusy has been counted.
  gen::Result<void> SendElsewhere(ValueForNodes& for_nodes, gen::PID subscriber, gen::PID from,
                                  gen::MessageEvent value, std::uint64_t number);
  // Ends the subscriptions of a process of another node.
  void EndFromAfar(gen::PID remote, gen::PID producer, gen::Atom name, const gen::Error& why);

  const Needs needs_;
  const gen::Ref dead_letters_token_;
  Events events_;
  EventTransport* transport_ = nullptr;
};

}  // namespace ergon::node
