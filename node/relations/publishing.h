// Events: who gets what is published, and how an event ends.
#pragma once

#include <cstddef>
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
#include <ergon/node/relations/events.h>
#include <ergon/node/relations/exit_signals.h>
#include <ergon/node/slots/slot.h>

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
  // `link`: its end is an exit signal.
  gen::Result<std::vector<gen::MessageEvent>> Subscribe(ProcessSlot& subscriber,
                                                        const gen::Event& event, bool link);
  gen::Result<void> Unsubscribe(ProcessSlot& subscriber, const gen::Event& event, bool link);
  // One whose note is gone already.
  void EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber);
  // Returns how many have got it.
  gen::Result<std::size_t> Publish(gen::PID from, gen::Atom name, gen::Ref token,
                                   core::EnvelopePtr value);

 private:
  void Dropped(gen::DeadLetter letter) override;
  // Sends it a MessageEventStart or MessageEventStop.
  template <class Notice>
  void TellProducer(gen::Atom name, gen::PID producer);

  const Needs needs_;
  const gen::Ref dead_letters_token_;
  Events events_;
};

}  // namespace ergon::node
