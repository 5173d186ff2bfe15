#include <ergon/node/cluster/outbound/answer_sender.h>

#include <utility>

#include <ergon/gen/messenger.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/response.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/message_forms.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/cluster/tools/system_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

gen::Result<void> AnswerSender::WriteAnswer(std::string& payload, const PeerState::Request& request,
                                            core::Envelope& response, const Values::Writer* how,
                                            gen::Result<Form>& form) const {
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  gen::Result<void> written;
  const auto* const inspection = response.ValueAs<gen::Inspection>();
  const bool is_struct = request.answer == PeerState::AnswerForm::kInspection &&
                         inspection == nullptr && response.type != nullptr;
  if (const auto* error = response.ValueAs<gen::Error>()) {
    AppendError(payload, *error);
  } else if (request.answer != PeerState::AnswerForm::kValue && !is_struct) {
    AppendSystemAnswer(payload, request, inspection);
  } else if (response.type == nullptr) {
    writer.Atom("ok");  // an empty answer
  } else {
    const std::size_t begin = payload.size();
    if (is_struct) {
      writer.Tuple(2);
      writer.Atom(kInspectionAs);
    }
    if (how == nullptr) {
      written = values_.WhyNoWriter(response);
    } else if (!form) {
      written = std::move(form.error());
    } else {
      written = values_.Append(payload, response, *how, *form);
    }
    if (!written) {
      payload.resize(begin);
      AppendError(payload, written.error());  // the caller must not wait in vain
    }
  }
  return written;
}

gen::Result<void> AnswerSender::Respond(gen::PID remote, std::uint64_t ref,
                                        core::EnvelopePtr response) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return gen::ErrResponseIgnored;
  PeerState::Request request;
  const Values::Writer* const how = values_.WriterOf(*response);
  gen::Result<Form> form = Form::kTerm;
  {
    const auto lock = connection->Lock();
    PeerState& peer = connection->peer_state();
    const auto found = peer.requests.find(ref);
    if (found == peer.requests.end()) return gen::ErrResponseIgnored;
    if (how != nullptr) form = FormFor(*how, *connection);
    request = peer.TakeRequest(found);
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  auto written = WriteAnswer(payload, request, *response, how, form);
  if (gen::IsTraced(*response)) request.trace = gen::TraceOf(*response);
  gen::PID from = gen::PID::FromAddress(response->from);
  if (!from || from.node != addresses_.node()) from = addresses_.NodePid();
  const auto lock = connection->Lock();
  auto sent = SendAnswerOrError(*connection, request, from, payload);
  if (!sent && sent.error() == gen::ErrNoConnection) return gen::ErrResponseIgnored;
  return written ? std::move(sent) : std::move(written);
}

bool AnswerSender::IsAwaited(gen::PID remote, std::uint64_t ref) const {
  const auto connection = connections_.FindLocked(remote.node);
  return connection && connection->peer_state().requests.contains(ref);
}

}  // namespace ergon::dist
