// Events and other nodes: what is sent there.
#pragma once

#include <cstdint>
#include <memory>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/events/events.h>
#include <ergon/node/process_state/cold.h>

namespace ergon::node {

// One subscription of a process to an event; see ProcessCold::EventSubscription.
struct OneSubscription {
  std::uint64_t number = 0;
  bool link = false;
};
// Calls `does` for each subscription of a process to an event.
template <class Does>
void ForEach(const Subscription& has, const Does& does) {
  if (has.monitor != 0) does(OneSubscription{has.monitor, false});
  if (has.link != 0) does(OneSubscription{has.link, true});
}

// A value that is published, in the forms in which other nodes take it. Each form is made once for all subscribers, if
// one of them takes it. The thread that publishes; Encode without the lock of the event, as it calls the user's
// function, all else with it, so that the values come in its order: that must not call back.
class ValueForNodes {
 public:
  virtual ~ValueForNodes() = default;
  // Returns whether the value has the form that a node takes, or none that it takes; else Encode makes that form.
  [[nodiscard]] virtual bool IsEncodedFor(gen::Atom node) = 0;
  virtual void Encode() = 0;
  // Sends the value, with its number (EventMark::seen), to a process that has subscribed. Returns kBusy as
  // EventTransport::Subscribe, or if that node has not said yet in which form it takes the value. Returns kUnsupported
  // or kIncorrect if the value cannot go there: it has no form that the node takes, or is larger than a frame may be.
  virtual gen::Result<void> Send(gen::PID remote, gen::PID from, const gen::MessageEvent& value,
                                 std::uint64_t number) = 0;
};

// Any thread. `local` is a process of this node, `remote` a process of another node, which has subscribed to an event
// here.
class EventTransport {
 public:
  virtual ~EventTransport() = default;
  // Subscribes `local`, which gets the answer to the subscription's number: a std::vector<gen::MessageEvent> with the
  // values that it has missed, or the error of that node. `progress` says what it has had of the event before, and is
  // kept up to date. If `may_wait`, some of these values may wait in its mailbox: then the values that it has missed
  // come behind them, and the answer is empty. A node of an earlier version answers with all values that are kept, and
  // values may arrive before. When the event or the connection ends, `local` gets a notice. Returns kTaken if it has
  // subscribed in this way already; kBusy if too much waits for that node; kUnsupported if that node does not run
  // Ergon.
  virtual gen::Result<void> Subscribe(gen::PID local, const gen::Event& event, OneSubscription how,
                                      const std::shared_ptr<EventProgress>& progress,
                                      bool may_wait) = 0;
  // Ends a subscription, or does nothing if there is none.
  virtual void Unsubscribe(gen::PID local, const gen::Event& event, OneSubscription how) = 0;
  // `value` outlives what is returned.
  [[nodiscard]] virtual std::unique_ptr<ValueForNodes> ForNodes(
      const core::Envelope& value) const = 0;
  virtual void TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, OneSubscription how,
                       const gen::Reason& reason) = 0;
};

}  // namespace ergon::node
