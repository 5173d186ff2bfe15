#include <ergon/node/cluster/inbound/message_receiver.h>

#include <string>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {
namespace {

constexpr auto kMessage = static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage);

}  // namespace

void MessageReceiver::Deliver(Connection& connection, gen::PID from, std::string_view term,
                              const MessageTarget& to, gen::TraceId trace) {
  auto message = values_.Read(term, kMessage, {.tag = to.tag});
  totals_.accepted.Add();
  if (!message) {
    DropUnreadable(connection.peer(), from, term, to, message.error());
    return;
  }
  core::EnvelopePtr envelope = std::move(*message);
  envelope->from = from.ToAddress();
  if (trace != 0) gen::MarkTraced(*envelope, trace);
  DeliverMade(std::move(envelope), to.pid);
}

void MessageReceiver::DeliverMade(core::EnvelopePtr message, gen::PID to) {
  delivery_.NoteSent(*message);
  const auto sent = to ? delivery_.Deliver(to, message) : gen::Result<void>(gen::ErrProcessUnknown);
  if (sent) return;
  // Erlang tells the sender of a message nothing.
  const gen::DropReason reason = gen::HasReceiverEnded(sent.error())
                                     ? gen::DropReason::kUnknown
                                     : gen::DropReasonOf(sent.error());
  delivery_.Drop(std::move(message), to, reason, sent.error());
}

void MessageReceiver::DropUnreadable(gen::Atom peer, gen::PID from, std::string_view term,
                                     const MessageTarget& to, const gen::Error& why) {
  const auto more = [&] {
    const std::lock_guard lock(unfit_lock_);
    return unfit_lines_.Take();
  }();
  if (more) {
    gen::Log(log_).Warning("network: a message of {} to {} does not fit its type: {}{}", peer,
                           to.pid ? node::AsInItsLines(addresses_, to.pid) : std::string(to.name),
                           why, *more);
  }
  core::EnvelopePtr unread =
      core::MakeEnvelope<Term>(kMessage, core::Lane::kMain, Term::FromChecked(std::string(term)));
  unread->from = from.ToAddress();
  delivery_.Drop(std::move(unread), to.pid, gen::DropReason::kUnreadable, why);
}

std::size_t MessageReceiver::Gather(const Connection& connection, const Signal& signal,
                                    std::span<const std::string_view> payloads) {
  // What is for the node itself is of groups.
  if (signal.kind != SignalKind::kSend || signal.from.node != connection.peer() ||
      signal.trace != 0 || signal.to == addresses_.NodePid()) {
    return 0;
  }
  std::size_t taken = 0;
  for (const std::string_view payload : payloads) {
    const auto unread = values_.ToBeRead(payload);
    if (!unread || unread->bytes.size() > node::Gathering::kMostBytesOfOne) break;
    const bool is_next = gathered_.size() != 0 && gathered_.to() == signal.to;
    if (!is_next && !delivery_.TakesTogether(signal.to)) break;
    if (!gathered_.HasRoomFor(signal.to, unread->bytes.size())) Flush();
    gathered_.Add(signal.from, signal.to, unread->type, unread->bytes);
    ++taken;
  }
  return taken;
}

void MessageReceiver::Flush() {
  if (gathered_.size() == 0) return;
  const std::uint32_t messages = gathered_.size();
  const gen::PID to = gathered_.to();
  core::EnvelopePtr together = gathered_.TakeEnvelope();
  totals_.accepted.Add(messages);
  if (delivery_.DeliverTogether(to, messages, together)) return;
  for (core::Envelope* next = node::MakeMessages(*together).list.head; next != nullptr;) {
    core::EnvelopePtr message(next);
    next = next->next;
    DeliverMade(std::move(message), to);
  }
}

core::EnvelopePtr MessageReceiver::Make(const void* type, std::string_view bytes, gen::PID from,
                                        gen::PID to) {
  auto message = PackedTypes::Read(*static_cast<const PackedTypes::Type*>(type), bytes,
                                   values_.limits(), kMessage, {});
  if (message) return std::move(*message);
  DropUnreadable(from.node, from, bytes, {.pid = to}, message.error());
  return nullptr;
}

}  // namespace ergon::dist
