// Events: who gets what is published, and how an event ends.
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

// A slot is that of the process whose turn it is. The event gen::kDeadLetters is the node's own.
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
  // Takes an event away and tells its subscribers.
  void End(gen::Atom name, gen::PID producer, const gen::Reason& reason);
  // `link`: its end is an exit signal. Only of events of this node.
  gen::Result<std::vector<gen::MessageEvent>> Subscribe(ProcessSlot& subscriber,
                                                        const gen::Event& event, bool link);
  [[nodiscard]] bool IsElsewhere(const gen::Event& event) const {
    return !event.node.empty() && event.node != needs_.addresses.node();
  }
  // Begins to subscribe to an event of another node, with the number `id`, to which the answer comes; see
  // EventTransport::Subscribe. EndSubscription has to follow if that is an error, or does not come.
  gen::Result<ProcessCold::EventSubscription> BeginElsewhere(ProcessSlot& subscriber,
                                                             const gen::Event& event, bool link,
                                                             std::uint64_t id);
  gen::Result<void> Unsubscribe(ProcessSlot& subscriber, const gen::Event& event, bool link);
  // One whose note is gone already, or of a process of another node.
  // Returns how far it got, if that is known here.
  EventMark EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber);
  // Of a process of another node, to an event of this one. `mark`: see Events::Subscribe.
  gen::Result<std::vector<gen::MessageEvent>> SubscribeFromAfar(gen::PID remote, gen::Atom name,
                                                                OneSubscription how,
                                                                EventMark& mark);
  // Puts what a process has missed of an event behind the values in its mailbox. In its turn, or while it waits for the
  // answer to its subscription.
  void PlaceMissed(gen::PID subscriber, gen::MessageEvent value);
  // Tells a process of this node of the end of what it has subscribed to.
  void TellEnd(gen::PID subscriber, gen::PID producer, const gen::Event& event, OneSubscription how,
               const gen::Reason& reason);
  // Returns how many have got it.
  gen::Result<std::size_t> Publish(gen::PID from, gen::Atom name, gen::Ref token,
                                   core::EnvelopePtr value);

  [[nodiscard]] const Events& events() const noexcept { return events_; }

  // By the transport, before it lets anybody in. Null: there is no way to other nodes.
  void SetTransport(EventTransport* transport) noexcept { transport_ = transport; }

 private:
  void Dropped(gen::DeadLetter letter) override;
  // Those that are no more, unless values of theirs may wait in the mailbox.
  void ForgetPastEvents(ProcessCold& cold, bool may_wait);
  // How far the process got with an event of another node; begins with nothing.
  static std::shared_ptr<EventProgress> ProgressWith(const gen::Event& event, ProcessCold& cold,
                                                     bool may_wait);
  // Sends it a MessageEventStart or MessageEventStop.
  template <class Notice>
  void TellProducer(gen::Atom name, gen::PID producer);
  // Each says whether the value is in the mailbox, or on its way.
  bool SendHere(gen::PID subscriber, gen::PID from, gen::MessageEvent value);
  bool SendElsewhere(gen::PID subscriber, gen::PID from, gen::MessageEvent value,
                     std::string_view encoded, std::uint64_t number);
  void CountFull(core::EnvelopePtr value, gen::PID subscriber, const gen::Error& why);
  // Ends what a process of another node has subscribed to.
  void EndFromAfar(gen::PID remote, gen::PID producer, gen::Atom name, const gen::Error& why);

  const Needs needs_;
  const gen::Ref dead_letters_token_;
  Events events_;
  EventTransport* transport_ = nullptr;
};

}  // namespace ergon::node
