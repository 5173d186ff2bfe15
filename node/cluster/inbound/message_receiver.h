// Messages of other nodes on their way into mailboxes.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/error.h>
#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/inbound/message_target.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/unmade_messages.h>

namespace ergon::dist {

// The thread of the network, except for Make.
class MessageReceiver final : private node::MessageMaker {
 public:
  MessageReceiver(node::Addresses& addresses, node::Delivery& delivery, node::MessageTotals& totals,
                  gen::LogSink& log, const Values& values)
      : addresses_(addresses), delivery_(delivery), totals_(totals), log_(log), values_(values) {}

  // Delivers the message in `term`, or counts it as dropped. `trace`: 0 for none.
  void Deliver(Connection& connection, gen::PID from, std::string_view term,
               const MessageTarget& to, gen::TraceId trace);
  // Takes messages that are `signal` with each of these payloads, as long as their receiver may read them itself. They
  // are delivered together with others, at the latest by Flush. Returns how many are taken, and does nothing with the
  // others.
  [[nodiscard]] std::size_t Gather(const Connection& connection, const Signal& signal,
                                   std::span<const std::string_view> payloads);
  // Delivers what Gather has taken. If it throws std::bad_alloc, the messages stay for the next call.
  void Flush();

 private:
  core::EnvelopePtr Make(const void* type, std::string_view bytes, gen::PID from,
                         gen::PID to) override;
  // Delivers the message, or counts it as dropped.
  void DeliverMade(core::EnvelopePtr message, gen::PID to);
  void DropUnreadable(gen::Atom peer, gen::PID from, std::string_view term, const MessageTarget& to,
                      const gen::Error& why);

  node::Addresses& addresses_;
  node::Delivery& delivery_;
  node::MessageTotals& totals_;
  gen::LogSink& log_;
  const Values& values_;
  std::mutex unfit_lock_;
  gen::LogLimit unfit_lines_;  // guarded by it
  node::Gathering gathered_{*this};
};

}  // namespace ergon::dist
