#include <ergon/node/cluster/inbound/message_receiver.h>

#include <string>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

void MessageReceiver::Deliver(Connection& connection, gen::PID from, std::string_view term,
                              const MessageTarget& to, gen::TraceId trace) {
  auto message =
      values_.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), {.tag = to.tag});
  totals_.accepted.Add();
  if (!message) {
    if (const auto more = unfit_lines_.Take()) {
      gen::Log(log_).Warning("network: a message of {} to {} does not fit its type: {}{}",
                             connection.peer(),
                             to.pid ? node::AsInItsLines(addresses_, to.pid) : std::string(to.name),
                             message.error(), *more);
    }
    core::EnvelopePtr unread =
        core::MakeEnvelope<Term>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                 core::Lane::kMain, Term::FromChecked(std::string(term)));
    unread->from = from.ToAddress();
    delivery_.Drop(std::move(unread), to.pid, gen::DropReason::kUnreadable, message.error());
    return;
  }
  core::EnvelopePtr envelope = std::move(*message);
  envelope->from = from.ToAddress();
  if (trace != 0) gen::MarkTraced(*envelope, trace);
  const auto sent =
      to.pid ? delivery_.Deliver(to.pid, envelope) : gen::Result<void>(gen::ErrProcessUnknown);
  if (sent) return;
  // Erlang tells the sender of a message nothing.
  const gen::DropReason reason = sent.error() == gen::ErrProcessMailboxFull
                                     ? gen::DropReason::kMailboxFull
                                     : gen::DropReason::kUnknown;
  delivery_.Drop(std::move(envelope), to.pid, reason, sent.error());
}

}  // namespace ergon::dist
