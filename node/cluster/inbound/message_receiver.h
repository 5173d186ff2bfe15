// Messages of other nodes on their way into mailboxes.
#pragma once

#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/inbound/message_target.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>

namespace ergon::dist {

// The thread of the network.
class MessageReceiver {
 public:
  MessageReceiver(node::Addresses& addresses, node::Delivery& delivery, node::MessageTotals& totals,
                  gen::LogSink& log, const Values& values)
      : addresses_(addresses), delivery_(delivery), totals_(totals), log_(log), values_(values) {}

  // Delivers the message in `term`, or counts it as dropped. `trace`: 0 for none.
  void Deliver(Connection& connection, gen::PID from, std::string_view term,
               const MessageTarget& to, gen::TraceId trace);

 private:
  node::Addresses& addresses_;
  node::Delivery& delivery_;
  node::MessageTotals& totals_;
  gen::LogSink& log_;
  const Values& values_;
  gen::LogLimit unfit_lines_;
};

}  // namespace ergon::dist
