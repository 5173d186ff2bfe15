// Messages to processes, names and aliases of other nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>

namespace ergon::dist {

// Any thread. The functions and their errors are those of node::Transport.
class MessageSender {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Settings& settings;
    const Values& values;
    TraceTokens& traces;
    node::Delivery& delivery;
    node::MessageTotals& totals;
    Connections& connections;
  };
  explicit MessageSender(const Needs& needs) : needs_(needs) {}

  gen::Result<void> Send(gen::PID remote, const core::Envelope& envelope) {
    return IsPlainText(remote, envelope) ? SendText(remote, envelope) : SendAny(remote, envelope);
  }
  gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message, gen::PID local,
                                  std::uint64_t id);
  void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id);
  // Those who wait for room try again.
  void TellRoom(const std::vector<Connection::RoomWaiter>& waiters);

 private:
  // Returns whether it is a string for a process, and nothing else has to be noted of it.
  [[nodiscard]] bool IsPlainText(const gen::PID& remote, const core::Envelope& envelope) const {
    constexpr auto kMarks = core::Envelope::kFlagImportant | core::Envelope::kFlagTraced;
    return envelope.type == core::TypeOf<std::string>() && remote.creation != 0 &&
           (envelope.flags & kMarks) == 0 && needs_.values.WriterOf(envelope)->packed == nullptr;
  }
  gen::Result<void> SendText(gen::PID remote, const core::Envelope& envelope);
  gen::Result<void> SendAny(gen::PID remote, const core::Envelope& envelope);
  // See Connection::SendMessageFrame. With the lock.
  gen::Result<void> SendFrame(Connection& connection, const gen::PID& remote,
                              std::string_view frame, std::string_view rest);
  // For SendInForm.
  gen::Result<void> SendIn(Form& form, const gen::PID& remote, const core::Envelope& envelope,
                           const Values::Writer& how);

  const Needs needs_;
};

}  // namespace ergon::dist
