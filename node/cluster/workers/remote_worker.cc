#include <ergon/node/cluster/workers/remote_worker.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/clock.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/exit_signal.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/response.h>
#include <ergon/node/cluster/exports/term_request.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/erlang.h>

namespace ergon::dist {
namespace {

// Between two tries to find room in a mailbox there.
constexpr std::chrono::milliseconds kShortestPause{1};
constexpr std::chrono::milliseconds kLongestPause{16};

bool IsNotReached(const gen::Error& error) {
  return error == gen::ErrNoConnection || error == gen::ErrTimeout;
}

// Returns whether another node may be able to start a worker that this node cannot start.
bool LeavesOthers(const gen::Error& error) {
  return IsNotReached(error) || error == gen::ErrUnsupported || error == gen::ErrBusy;
}

bool IsWorthATry(const gen::Error& error) {
  return error == gen::ErrProcessMailboxFull || error == gen::ErrBusy ||
         error == gen::ErrTooManyCalls || error == gen::ErrOverloaded;
}

}  // namespace

RemoteWorker::RemoteWorker(std::shared_ptr<const RemoteWorkersOptions> options,
                           std::shared_ptr<WorkerPlaces> places)
    : options_(std::move(options)), places_(std::move(places)), pause_(kShortestPause) {}

// ---- beginning

gen::Status RemoteWorker::ProcessInit(gen::ProcessHost& host, const gen::Args& /*args*/) {
  host_ = &host;
  host.SetTrapExit(true);
  auto begun = CheckRemoteWorkers(*options_, host.Self().node);
  if (begun) begun = Begin();
  if (begun) {
    Settle();
    return gen::Continue();
  }
  return gen::Stop(gen::Reason::Error(fmt::format("remote workers: {}", begun.error().detail())));
}

gen::Result<void> RemoteWorker::Begin() {
  const RemoteWorkersOptions& options = *options_;
  std::string problems;
  std::vector<bool> tried;
  while (auto place = places_->TakeBest(tried, host_->Now())) {
    const auto worker =
        Spawn(*host_, place->node(), options.module, options.function, options.arguments,
              {.link = true, .call = {.timeout = options.spawn_timeout}});
    const auto begun = worker.and_then([this](gen::PID started) { return AskFirst(started); });
    if (begun) {
      place->Reached();
      place_.emplace(std::move(*place));
      return {};
    }
    const gen::Error& error = begun.error();
    // A node that is none of Ergon starts what it is asked for, and is found out afterwards.
    if (IsNotReached(error) || worker) place->NotReached(host_->Now());
    if (!problems.empty()) problems += "; ";
    problems +=
        fmt::format("{}:{} on {}: {}", options.module, options.function, place->node(), error);
    if (!LeavesOthers(error)) break;
  }
  return gen::Error(gen::ErrorCode::kNoConnection, std::move(problems));
}

gen::Result<void> RemoteWorker::AskFirst(gen::PID worker) {
  worker_ = worker;
  const auto asked = AskForRoom();
  if (!asked && asked.error() == gen::ErrUnsupported) {
    (void)host_->Unlink(worker);
    (void)host_->SendExit(worker, gen::Reason::Kill());
    worker_ = {};
    return asked.error();
  }
  AwaitCredit(asked);
  return {};
}

// ---- what it is sent

gen::Status RemoteWorker::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
      PassMessage(envelope);
      break;
    case gen::EnvelopeKind::kRequest:
      PassRequest(envelope);
      break;
    case gen::EnvelopeKind::kEvent:
      Drop(envelope,
           gen::Error(gen::ErrorCode::kUnsupported, "a pool passes no events on to other nodes"));
      break;
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      PassAnswer(envelope);
      break;
    case gen::EnvelopeKind::kExit:
      return HandleExit(envelope);
    case gen::EnvelopeKind::kInspect:
      AnswerInspection(envelope);
      break;
    case gen::EnvelopeKind::kOwnTimer:
      if (envelope.ValueAs<RetryTimer>() != nullptr) {
        waits_for_room_ = false;
        (void)host_->UnstashAll();
        if (!doubted_.empty() && doubt_ == 0) AskAboutDoubted();
        if (may_look_ && credit_.value_or(0) == 0 && credit_question_ == 0) AskForCredit();
      } else if (envelope.ValueAs<LookTimer>() != nullptr) {
        will_look_ = false;
        if (IsAskedEnough()) ForgetAbandoned();
      }
      break;
    default:
      break;
  }
  Settle();
  return EndIfDone();
}

void RemoteWorker::PassMessage(core::Envelope& envelope) {
  if (!worker_) {  // of a priority that does not wait
    Drop(envelope, gen::Error(gen::ErrorCode::kProcessTerminated, ended_->ToString()));
    return;
  }
  const std::uint8_t flags = envelope.flags;
  if (credit_.value_or(0) > 0) {
    envelope.flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagImportant);
  } else {  // it may find no room
    envelope.flags |= core::Envelope::kFlagImportant;
  }
  const auto passed = host_->PassOn(worker_, envelope, false);
  if (passed) {
    if (!credit_) pause_ = kShortestPause;
    Given();
    return;
  }
  envelope.flags = flags;
  const gen::Error& error = passed.error();
  const bool has_ended = gen::HasReceiverEnded(error);
  if (has_ended && IsBeingEnded()) return;  // it may be on its way there: it is not handled again
  if (has_ended || IsWorthATry(error)) {
    // Of one that has ended, until the exit signal comes: then it goes to another.
    if (host_->Stash(envelope)) Pause();
  } else {
    Drop(envelope, error);
  }
}

void RemoteWorker::Pause() {
  // One timer for all that waits: each of it asks again when that fires, and may have to pause once more.
  if (std::exchange(waits_for_room_, true)) return;
  (void)host_->SendSelfAfter(RetryTimer{}, pause_);
  pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, kLongestPause);
}

void RemoteWorker::PassRequest(core::Envelope& envelope) {
  const Caller caller{gen::SenderOf(envelope), gen::RefOf(envelope)};
  std::chrono::nanoseconds time = gen::kInfinite;
  if (envelope.deadline != 0 && envelope.deadline != core::kNever) {
    time = std::chrono::nanoseconds(std::max<std::int64_t>(envelope.deadline - host_->Now(), 1));
  }
  core::EnvelopePtr request = host_->DetachForRequest(envelope);
  gen::Result<gen::Ref> asked = gen::ErrProcessTerminated;
  while (worker_) {
    asked = host_->RequestEnvelope(worker_, request, time);
    if (asked || asked.error() != gen::ErrBusy) break;
    // Too much waits to be sent to that node.
    if (envelope.deadline != 0 && host_->Now() >= envelope.deadline) {
      host_->Drop(std::move(request), gen::DropReason::kExpired, gen::ErrTimeout);
      return;
    }
    if (!host_->Sleep(kShortestPause)) break;
  }
  if (asked) {
    asked_.emplace(asked->id, caller);
    Given();
    return;
  }
  const gen::Error& error = asked.error();
  host_->Drop(std::move(request), gen::DropReasonOf(error), error);
}

void RemoteWorker::PassAnswer(core::Envelope& envelope) {
  if (envelope.ref == credit_question_) {
    TakeCredit(envelope);
    return;
  }
  if (envelope.ref == doubt_) {
    doubt_ = 0;
    // That it has ended, and why, is told by its exit signal.
    const auto* error = envelope.ValueAs<gen::Error>();
    if (error == nullptr || error->code() == gen::ErrorCode::kUnsupported) PassDoubted();
    return;
  }
  const auto found = asked_.find(envelope.ref);
  if (found == asked_.end()) return;  // of the order to stop
  const Caller caller = found->second;
  asked_.erase(found);
  const auto* error = envelope.ValueAs<gen::Error>();
  const bool is_doubtful = worker_ && error != nullptr && gen::HasReceiverEnded(*error);
  core::EnvelopePtr response = host_->Detach(envelope);
  if (!is_doubtful) {
    Respond(caller, std::move(response));
    return;
  }
  doubted_.emplace_back(caller, std::move(response));
  if (doubt_ == 0) AskAboutDoubted();
}

void RemoteWorker::AskAboutDoubted() {
  doubt_ = AskForRoom().value_or(0);
  if (doubt_ == 0) Pause();
}

void RemoteWorker::PassDoubted() {
  for (auto& [caller, response] : std::exchange(doubted_, {})) {
    Respond(caller, std::move(response));
  }
}

void RemoteWorker::Respond(const Caller& caller, core::EnvelopePtr response) {
  const auto* error = response->ValueAs<gen::Error>();
  // It was asked when it had ended. The caller knows the pool only, and that there is.
  if (ended_ && error != nullptr && *error == gen::ErrProcessUnknown) {
    response = gen::detail::MakeErrorResponse(
        gen::Error(gen::ErrorCode::kProcessTerminated, ended_->ToString()));
  }
  // A caller that has stopped waiting is everyday life.
  (void)host_->SendResponseEnvelope(caller.from, caller.ref, std::move(response));
}

// ---- credit

// The other node answers at once, whatever the worker does.
gen::Result<std::uint64_t> RemoteWorker::AskForRoom() {
  return host_->Request(worker_, RoomQuestion{}, {.timeout = gen::kInfinite})
      .map([](gen::Ref question) { return question.id; });
}

void RemoteWorker::AskForCredit() { AwaitCredit(AskForRoom()); }

void RemoteWorker::AwaitCredit(const gen::Result<std::uint64_t>& question) {
  given_since_ = 0;
  credit_question_ = question.value_or(0);
  if (credit_question_ == 0) Pause();
}

void RemoteWorker::Given() {
  ++given_since_;
  if (!credit_) return;
  if (*credit_ > 0) --*credit_;
  if (credit_question_ == 0 && *credit_ <= options_->max_in_flight / 2) AskForCredit();
}

void RemoteWorker::TakeCredit(core::Envelope& answer) {
  credit_question_ = 0;
  const auto* look = answer.ValueAs<Term>();
  if (look == nullptr || look->kind() != Term::Kind::kTuple || look->size() != 2) {
    may_look_ = false;  // nobody can, or it has ended
    credit_.reset();
    return;
  }
  const std::int64_t waiting =
      std::clamp<std::int64_t>((*look)[0].AsInteger().value_or(0), 0, kMaxInFlight);
  const std::int64_t bound = (*look)[1].AsInteger().value_or(0);
  std::int64_t places = options_->max_in_flight;
  if (bound > 0) places = std::min(places, bound);
  credit_ = std::max<std::int64_t>(places - waiting - given_since_, 0);
  if (*credit_ == 0) {
    Pause();
  } else {
    pause_ = kShortestPause;
  }
}

void RemoteWorker::Drop(core::Envelope& envelope, const gen::Error& error) {
  if (!std::exchange(has_dropped_, true)) {
    host_->Log().Warning("{} of {} does not reach {}, and is dropped: {}",
                         gen::Message(envelope).Describe(), gen::SenderOf(envelope), worker_,
                         error);
  }
  host_->Drop(host_->DetachForRequest(envelope), gen::DropReasonOf(error), error);
}

void RemoteWorker::AnswerInspection(core::Envelope& envelope) {
  gen::Inspection all{{"node", std::string(place_->node().Text())},
                      {"worker", worker_.ToString()},
                      {"requests", std::to_string(asked_.size())},
                      {"state", ended_            ? "ended"
                                : stops_          ? "stopping"
                                : waits_for_room_ ? "waits for room"
                                                  : "running"}};
  if (const auto* question = envelope.ValueAs<gen::InspectRequest>()) {
    gen::KeepAskedFor(all, question->items);
  }
  (void)host_->SendResponse(gen::SenderOf(envelope), gen::RefOf(envelope), std::move(all));
}

void RemoteWorker::Settle() {
  const bool has_credit = !may_look_ || credit_.value_or(0) > 0;
  const bool is_full = IsAskedEnough();
  host_->HoldMain(waits_for_room_ || !has_credit || !worker_ || !doubted_.empty() || is_full);
  if (is_full && !will_look_) {
    (void)host_->SendSelfAfter(LookTimer{}, std::chrono::seconds(1));
    will_look_ = true;
  }
}

// A worker that answers some requests never would in the end get no more of them.
void RemoteWorker::ForgetAbandoned() {
  std::erase_if(asked_, [this](const auto& asked) {
    return host_->ForgetIfAbandoned(asked.first, asked.second.from, asked.second.ref);
  });
}

bool RemoteWorker::IsBeingEnded() { return !host_->Sleep(std::chrono::nanoseconds(1)); }

// ---- ends

gen::Status RemoteWorker::HandleExit(core::Envelope& envelope) {
  const gen::Reason* const reason = gen::ReasonOfExit(envelope);
  const auto* const exit = envelope.ValueAs<gen::MessageExitPID>();
  // It may also ask this process to end (SendExit), which is no end of its own.
  const bool is_asked = envelope.ref == gen::kExplicitExit;
  if (exit != nullptr && worker_ && exit->pid == worker_ && !is_asked) {
    worker_ = {};
    ended_ = *reason;
    PassDoubted();
    Settle();
    return EndIfDone();
  }
  // As for those that do not trap exits.
  const bool is_ignored = reason->IsNormal() && !is_asked;
  return is_ignored ? gen::Continue() : gen::Status(gen::Stop(*reason));
}

// What it was asked is answered now, or will not be: each request is told of its end.
gen::Status RemoteWorker::EndIfDone() {
  return ended_ && asked_.empty() ? gen::Status(gen::Stop(*ended_)) : gen::Continue();
}

gen::Status RemoteWorker::ProcessStop(const gen::Reason& reason) {
  // A pool that has ended waits for nobody.
  if (!worker_ || !HasParent()) return gen::Stop(reason);
  if (!stops_ && !AskToStop(reason)) return gen::Stop(reason);
  stops_ = true;
  return gen::Continue();
}

bool RemoteWorker::HasParent() {
  return !host_->AwaitEnd(host_->Parent(), std::chrono::nanoseconds(0));
}

bool RemoteWorker::AskToStop(const gen::Reason& reason) {
  std::string why;
  AppendReason(why, reason);
  const Term order = Term::Tuple({Term::Atom("terminate"), Term::FromChecked(std::move(why))});
  for (;;) {
    const auto asked =
        host_->Request(worker_, TermRequest{order, true}, {.timeout = gen::kInfinite});
    if (asked) return true;
    // What it was given last may wait to be sent still.
    if (asked.error() != gen::ErrBusy || !host_->Sleep(kShortestPause)) return false;
  }
}

void RemoteWorker::ProcessTerminate(const gen::Reason& reason) {
  PassDoubted();
  const gen::Error error(gen::ErrorCode::kProcessTerminated, reason.ToString());
  for (const auto& [number, caller] : asked_) {
    (void)host_->SendResponseError(caller.from, caller.ref, error);
  }
  // A link would do, but for reasons that are none to it, and for those that trap exits.
  if (worker_) (void)host_->SendExit(worker_, gen::Reason::Kill());
}

}  // namespace ergon::dist
