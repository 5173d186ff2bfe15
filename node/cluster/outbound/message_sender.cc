#include <ergon/node/cluster/outbound/message_sender.h>

#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/connection/message_forms.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/outbound/message_frames.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/cluster/signals/text_head.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

gen::Result<void> MessageSender::SendAny(gen::PID remote, const core::Envelope& envelope) {
  if (node::IsImportant(envelope)) {  // see SendImportant
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        "nobody waits for the confirmation of an important message to " + node::TextOf(remote));
  }
  const Values::Writer* const how = needs_.values.WriterOf(envelope);
  if (how == nullptr) return needs_.values.WhyNoWriter(envelope);
  return SendInForm(*how, remote.node,
                    [&](Form, Form& form) { return SendIn(form, remote, envelope, *how); });
}

inline gen::Result<void> MessageSender::SendFrame(Connection& connection, const gen::PID& remote,
                                                  std::string_view frame, std::string_view rest) {
  auto accepts = connection.Accepts(remote);
  if (!accepts) [[unlikely]]
    return accepts;
  connection.SendMessageFrame(frame, rest);
  needs_.totals.given_to_nodes.Add();
  return {};
}

// What SendIn does, without a frame between the text and what waits to be sent.
gen::Result<void> MessageSender::SendText(gen::PID remote, const core::Envelope& envelope) {
  const std::string& text = *envelope.ValueAs<std::string>();
  const std::string_view head = TextHead(gen::PID::FromAddress(envelope.from), remote, text.size());
  const std::size_t bytes = head.size() - kFrameLengthBytes + text.size();
  if (bytes > needs_.settings.max_frame_bytes) [[unlikely]]
    return FrameTooLarge(bytes, needs_.settings.max_frame_bytes, remote.node);
  return needs_.connections.With(remote.node, [&](Connection& connection) {
    return SendFrame(connection, remote, head, text);
  });
}

gen::Result<void> MessageSender::SendIn(Form& form, const gen::PID& remote,
                                        const core::Envelope& envelope, const Values::Writer& how) {
  const Form tried = form;
  Scratch scratch;
  std::string* const frame = OpenFrameOf(scratch, remote, envelope, needs_.traces);
  if (frame == nullptr) return FormerAlias(remote);
  auto written = needs_.values.Append(*frame, envelope, how, tried);
  if (!written) return written;
  if (auto fits = CheckMessageFrame(*frame, needs_.settings.max_frame_bytes, remote); !fits)
    return fits;
  CloseFrame(*frame, 0);
  return needs_.connections.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (how.packed != nullptr) {
      if (auto taken = SelectForm(form, how, connection); !taken || form != tried) return taken;
    }
    return SendFrame(connection, remote, *frame, {});
  });
}

gen::Result<void> MessageSender::SendImportant(gen::PID remote, const core::Envelope& message,
                                               gen::PID local, std::uint64_t id) {
  const Values::Writer* const how = needs_.values.WriterOf(message);
  if (how == nullptr) return needs_.values.WhyNoWriter(message);
  return SendInForm(*how, remote.node, [&](Form tried, Form& form) -> gen::Result<void> {
    Scratch scratch;
    std::string& payload = scratch.Empty();
    AppendImportant(payload, ReferenceOf(id, needs_.settings.node, needs_.settings.creation),
                    remote);
    auto written = needs_.values.Append(payload, message, *how, tried);
    if (!written) return written;
    Signal signal = ErgonSignal(gen::PID::FromAddress(message.from), payload);
    signal.trace = gen::TraceOf(message);
    return needs_.connections.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
      if (how->packed != nullptr && !connection.IsForeign()) {
        if (auto taken = SelectForm(form, *how, connection); !taken || form != tried) return taken;
      }
      return SendQuestion(
          connection,
          {.local = local, .remote = remote, .question = PeerState::ErgonQuestion::kImportant}, id,
          signal);
    });
  });
}

void MessageSender::AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) {
  if (const auto connection = needs_.connections.FindLocked(node)) {
    if (connection->state() != Connection::State::kDown &&
        (connection->IsFull() || connection->MaySayPacks())) {
      connection->Waiters().Add({local, id}, [this](const RoomWaiter& waiter) {
        return needs_.delivery.IsAwaited(waiter.local, gen::Ref{waiter.id, {}, 0});
      });
      return;
    }
  }
  TellRoom({{local, id}});
}

void MessageSender::TellRoom(const std::vector<Connection::RoomWaiter>& waiters) {
  for (const auto& waiter : waiters) {
    (void)needs_.delivery.Respond(
        waiter.local, waiter.id,
        core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                         core::Lane::kMain));
  }
}

}  // namespace ergon::dist
