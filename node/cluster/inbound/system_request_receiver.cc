#include <ergon/node/cluster/inbound/system_request_receiver.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/notices.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/inbound/request_reader.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/tools/system_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/erlang/terms/writer.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::dist {
namespace {

std::string OkTerm() {
  std::string bytes;
  TermWriter(bytes).Atom("ok");
  return bytes;
}

}  // namespace

void SystemRequestReceiver::Handle(Connection& connection, PeerState::Request request,
                                   std::string_view term, gen::PID to) {
  if (HandleTerminate(connection, request, term, to)) return;
  switch (ReadStatisticsRequest(term, settings_.max_term_depth)) {
    case StatisticsRequest::kGet:
      AnswerStatistics(connection, request, to);
      return;
    case StatisticsRequest::kSwitch:
      Answer(connection, request, OkTerm());
      return;
    case StatisticsRequest::kNone:
      break;
  }
  request.asked = to;
  gen::EnvelopeKind kind = gen::EnvelopeKind::kInspect;
  std::string_view word;
  (void)ControlReader(term, settings_.max_term_depth).ReadAtom(word);
  if (word == "get_state") {
    request.answer = PeerState::AnswerForm::kState;
  } else if (word == "get_status") {
    request.answer = PeerState::AnswerForm::kStatus;
  } else if (word == "suspend" || word == "resume") {
    request.answer = PeerState::AnswerForm::kOk;
    kind = word == "suspend" ? gen::EnvelopeKind::kSuspend : gen::EnvelopeKind::kResume;
  } else {
    std::string answer;
    AppendError(answer, gen::ErrUnsupported);
    Answer(connection, request, answer);
    return;
  }
  Deliver(connection, std::move(request), kind);
}

bool SystemRequestReceiver::HandleTerminate(Connection& connection,
                                            const PeerState::Request& request,
                                            std::string_view term, gen::PID to) {
  ControlReader reader(term, settings_.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view reason;
  if (!reader.ReadTuple(size) || size != 2 || !reader.ReadAtom(word) || word != "terminate") {
    return false;
  }
  (void)reader.ReadTerm(reason);
  // As gen:stop wants it, the messages that wait in the mailbox are handled first. The answer has to come before the
  // end; if the process has ended already, the monitor has told of that.
  Answer(connection, request, OkTerm());
  (void)exit_signals_.StopAfterQueue(to, ReadReason(reason, &values_.atoms()));
  return true;
}

void SystemRequestReceiver::Deliver(Connection& connection, PeerState::Request request,
                                    gen::EnvelopeKind kind) {
  core::EnvelopePtr envelope =
      kind == gen::EnvelopeKind::kInspect
          ? core::MakeEnvelope<gen::InspectRequest>(static_cast<std::uint8_t>(kind),
                                                    core::Lane::kUrgent, gen::InspectRequest{})
          : core::MakeSignal(static_cast<std::uint8_t>(kind), core::Lane::kUrgent);
  const gen::PID caller = request.caller;
  const gen::PID to = request.asked;
  envelope->from = caller.ToAddress();
  envelope->deadline = node::kUntilWithdrawn;
  const std::uint64_t number = NoteRequest(connection, std::move(request));
  envelope->ref = number;
  const auto sent = delivery_.Deliver(to, envelope);
  if (!sent) delivery_.RespondError(caller, number, sent.error());
}

void SystemRequestReceiver::AnswerStatistics(Connection& connection,
                                             const PeerState::Request& request, gen::PID pid) {
  std::string answer;
  if (const node::ProcessSlot* const process = addresses_.Find(pid)) {
    std::lock_guard lock(process->Cold().lock);
    if (process->IsStill(pid)) {
      // A node with connections has the machine's clock.
      AppendStatistics(
          answer,
          {.uptime = std::chrono::nanoseconds(core::SteadyNow() - process->started_at()),
           .messages_in = process->counts().handled(),
           .messages_out = process->counts().sent()},
          std::time(nullptr));
    }
  }
  if (answer.empty()) AppendError(answer, gen::ErrProcessUnknown);
  Answer(connection, request, answer);
}

void SystemRequestReceiver::Answer(Connection& connection, const PeerState::Request& request,
                                   std::string_view answer) const {
  SendAnswer(connection, request, addresses_.NodePid(), answer);
}

}  // namespace ergon::dist
