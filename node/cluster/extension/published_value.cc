#include <ergon/node/cluster/extension/published_value.h>

#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/message_forms.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/signals/ergon_messages.h>

namespace ergon::dist {

gen::Result<Form> PublishedValue::FormIn(Connection& connection) const {
  if (how_ == nullptr) return needs_.values.WhyNoWriter(value_);
  return FormFor(*how_, connection);
}

bool PublishedValue::IsEncodedFor(gen::Atom node) {
  if (how_ == nullptr) return true;
  Form form = Form::kTerm;
  if (how_->packed != nullptr) {
    const auto connection = needs_.connections.FindLocked(node);
    if (!connection) return true;
    const auto taken = FormIn(*connection);
    if (!taken) return true;
    form = *taken;
  }
  Encoded& encoded = encoded_[static_cast<std::size_t>(form)];
  encoded.is_wanted = true;
  return encoded.text.has_value();
}

void PublishedValue::Encode() {
  for (const Form form : {Form::kTerm, Form::kPacked}) {
    Encoded& encoded = encoded_[static_cast<std::size_t>(form)];
    if (encoded.is_wanted && !encoded.text) encoded.text = EncodeIn(form);
  }
}

gen::Result<std::string> PublishedValue::EncodeIn(Form form) const {
  std::string text;
  auto written = needs_.values.Append(text, value_, *how_, form);
  if (!written) return std::move(written.error());
  if (auto fits = needs_.missed.CheckBytes(text.size()); !fits) return std::move(fits.error());
  return text;
}

gen::Result<void> PublishedValue::Send(gen::PID remote, gen::PID from,
                                       const gen::MessageEvent& value, std::uint64_t number) {
  const gen::Atom event = value.event().name;
  const auto connection = needs_.connections.FindLocked(remote.node);
  if (!connection) return gen::ErrNoConnection;
  PeerState& peer = connection->peer_state();
  const auto found = peer.subscribers.find({remote, event});
  if (found == peer.subscribers.end()) return gen::ErrNoConnection;  // of a former connection
  const auto form = FormIn(*connection);
  if (!form) return form.error();
  const auto& taken = encoded_[static_cast<std::size_t>(*form)].text;
  // It may have said since a moment ago that it takes the other form, and goes on to take terms.
  const auto& text = taken ? taken : encoded_[static_cast<std::size_t>(Form::kTerm)].text;
  if (!text) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("{} has just said which types it packs", remote.node));
  }
  if (!*text) return text->error();
  auto accepts = connection->Accepts(remote);
  if (!accepts) return accepts;
  std::string payload;
  AppendValue(payload, remote, event, found->second, value.timestamp(),
              peer.knows_marks ? number : 0);
  payload += **text;
  const gen::TraceId trace = gen::TraceOf(value.Envelope());
  if (PeerState::Answering* const answering = peer.AnsweringOf(remote, event)) {
    if (connection->QueuedBytes() + answering->bytes >= needs_.settings.send_queue_bytes) {
      return gen::ErrBusy;
    }
    answering->bytes += payload.size();
    answering->held.push_back({from, std::move(payload), trace});
    needs_.totals.given_to_nodes.Add();
    return {};
  }
  Signal signal = ErgonSignal(from, payload);
  signal.trace = trace;
  auto sent = connection->TrySend(signal, SentAs::kMessage);
  if (sent) needs_.totals.given_to_nodes.Add();
  return sent;
}

}  // namespace ergon::dist
