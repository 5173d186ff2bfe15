// What events have to do with other nodes: what is told there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
// Calls `does` for each of those that a process has to an event.
template <class Does>
void ForEach(const Subscription& has, const Does& does) {
  if (has.monitor != 0) does(OneSubscription{has.monitor, false});
  if (has.link != 0) does(OneSubscription{has.link, true});
}

// Any thread. `local` is a process of this node, `remote` one of another node, which has subscribed to an event here.
// SendValue is called with the lock of the event, so that the values come in its order; it must not call back. Encode is
// called without, once for all: it calls the user's function.
class EventTransport {
 public:
  virtual ~EventTransport() = default;
  // `local` gets the answer to the subscription's number: a std::vector<gen::MessageEvent> with the values that it has
  // missed, or the error of that node. `progress` says what it has had of the event before, and is kept up to date. If
  // `may_wait`, some of that may wait in its mailbox: then what it has missed comes behind that, and the answer is empty.
  // A node of an earlier version answers with all that is kept, and values may arrive before. When the event ends, or the
  // connection, `local` is told.
  // kTaken: it has subscribed in this way; kBusy: there waits too much for that node; kUnsupported: that node is none of
  // Ergon's.
  virtual gen::Result<void> Subscribe(gen::PID local, const gen::Event& event, OneSubscription how,
                                      const std::shared_ptr<EventProgress>& progress,
                                      bool may_wait) = 0;
  // Ends that, or does nothing.
  virtual void Unsubscribe(gen::PID local, const gen::Event& event, OneSubscription how) = 0;
  // A value as other nodes get it. kUnsupported: values of this type are not known to the network;
  // kIncorrect: it is larger than a frame may be.
  [[nodiscard]] virtual gen::Result<std::string> Encode(const core::Envelope& value) const = 0;
  // Such a value, with its number (EventMark::seen); kBusy: as above.
  virtual gen::Result<void> SendValue(gen::PID remote, gen::PID from,
                                      const gen::MessageEvent& value, std::string_view encoded,
                                      std::uint64_t number) = 0;
  virtual void TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, OneSubscription how,
                       const gen::Reason& reason) = 0;
};

}  // namespace ergon::node
