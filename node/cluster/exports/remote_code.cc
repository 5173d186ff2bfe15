#include <ergon/node/cluster/exports/remote_code.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/exports/outcome_terms.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/spawn_signals.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// Between two looks whether a caller has taken what it was answered before.
constexpr std::chrono::milliseconds kShortestWait{1};
constexpr std::chrono::milliseconds kLongestWait{20};

// Returns whether somebody ends the process: then the result of its function is not the outcome.
bool IsBeingEnded(gen::Process& self) {
  struct Nothing {};
  const auto looked = self.Receive<Nothing>(std::chrono::nanoseconds(0));
  return !looked && looked.error() == gen::ErrProcessTerminated;
}

}  // namespace

void RemoteCode::Handle(Connection& connection, const Signal& signal) {
  std::string_view refusal;
  const RemoteJobPtr job = reader_.ReadSpawn(connection, signal, refusal);
  if (job == nullptr) {
    RemoteJob refused(places_);
    refused.connection = connection.shared_from_this();
    refused.caller = signal.from;
    refused.reference = signal.ref;
    refused.trace = signal.trace;
    Refuse(refused, refusal);
    return;
  }
  const auto started = job->function != nullptr ? StartFunction(job) : StartBehavior(job);
  if (!started) Refuse(*job, kNoPlace);
}

void RemoteCode::HandleCall(Connection& connection, const PeerState::Request& request,
                            std::string_view term) {
  auto job = reader_.ReadCall(connection, request, term);
  const auto started = job ? StartFunction(*job) : gen::Result<void>(job.error());
  if (started) return;
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  AppendBadCall(payload, started.error());
  const auto lock = connection.Lock();
  (void)SendAnswerOr(connection, request, needs_.addresses.NodePid(), payload, AppendBadCall);
}

bool RemoteCode::Watch(RemoteJob& job, gen::PID pid) {
  {
    const auto lock = job.connection->Lock();
    if (!job.connection->peer_state().watchers.NoteWatched(job.number, pid)) return false;
  }
  return needs_.relations.AddWatcher(
      {job.caller, needs_.addresses.RefOf(job.number), gen::Target(pid)}, pid);
}

void RemoteCode::EndOfWatcher(std::uint64_t number) {
  if (const gen::PID pid = places_.FindCall(number)) (void)needs_.exit_signals.Kill(pid);
}

gen::Result<gen::PID> RemoteCode::Start(const gen::ProcessFactory& factory,
                                        const std::function<void(gen::PID)>* opened,
                                        gen::TraceId trace, const gen::ProcessOptions& options,
                                        const gen::Args& arguments,
                                        std::function<void(gen::Result<void>)> done) {
  return needs_.spawning.StartInBackground({.factory = factory,
                                            .options = options,
                                            .args = arguments,
                                            .parent = needs_.addresses.NodePid(),
                                            .opened = opened,
                                            .trace = trace},
                                           std::move(done));
}

// ---- functions

gen::Result<void> RemoteCode::StartFunction(const RemoteJobPtr& job) {
  const gen::ProcessFactory factory(
      [this, job](gen::Process& self) { return RunFunction(self, *job); });
  const std::function<void(gen::PID)> opened = [this, &job](gen::PID pid) {
    if (job->IsCall()) places_.NoteCall(job->number, pid);
    if (job->is_request) {
      if (!Watch(*job, pid)) (void)needs_.exit_signals.Kill(pid);
      return;
    }
    Tie(*job, pid);
    Reply(*job, pid);
  };
  job->Wait();
  // However long it waits for a worker: if nobody waits for its answer, nobody would know that it has not run.
  auto pid = Start(factory, &opened, job->trace, {.init_timeout = gen::kInfinite});
  if (!pid) return std::move(pid.error());
  return {};
}

bool RemoteCode::AwaitRoom(gen::Process& self, const RemoteJob& job) {
  for (auto pause = kShortestWait; job.connection->HasUnreadAnswers();
       pause = std::min(2 * pause, kLongestWait)) {
    if (!self.Sleep(pause)) return false;
  }
  return true;
}

std::string RemoteCode::ErrorOf(const RemoteJob& job, std::string_view reason) {
  return ErrorTerm(job.tag, reason, job.function->module, job.function->function,
                   job.arguments.size());
}

gen::Result<Term> RemoteCode::Run(gen::Process& self, const RemoteJob& job) const {
  auto outcome = job.function->run(self, job.arguments);
  if (!outcome) return outcome;
  const auto fits =
      CheckFrame(outcome->raw().size(), needs_.settings.max_frame_bytes, job.connection->peer());
  if (!fits) return fits.error();
  if (!CheckTerm(outcome->raw(), needs_.settings.max_term_depth)) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}:{}/{} returned a term with a level deeper than {} "
                                  "(max_term_depth)",
                                  job.function->module, job.function->function,
                                  job.arguments.size(), needs_.settings.max_term_depth));
  }
  return outcome;
}

gen::Reason RemoteCode::RunFunction(gen::Process& self, RemoteJob& job) {
  if (!AwaitRoom(self, job)) {
    return IsBeingEnded(self) ? gen::Reason::Normal() : gen::Reason::Error(gen::Atom(kNoPlace));
  }
  job.EndOfWait();
  if (!job.IsCall()) {
    // A process that Erlang's spawn has asked for: others learn of its end only.
    auto outcome = job.function->run(self, job.arguments);
    if (outcome) return gen::Reason::Normal();
    const gen::Error& error = outcome.error();
    return error.AsAtom().empty() ? gen::Reason::Error(error.ToString())
                                  : gen::Reason::Error(error.AsAtom());
  }
  if (job.is_request) {
    std::string answer;
    TermWriter writer(answer);
    writer.Tuple(2);
    writer.Raw(job.request.tag);
    const std::size_t head = answer.size();
    try {
      const auto outcome = Run(self, job);
      if (IsBeingEnded(self)) return gen::Reason::Normal();
      outcome ? writer.Raw(outcome->raw()) : AppendBadCall(answer, outcome.error());
    } catch (...) {
      answer.resize(head);
      AppendBadCall(answer, gen::Error(gen::ErrorCode::kProcessTerminated,
                                       gen::Reason::Panic(core::ThrownText()).ToString()));
    }
    Answer(job, answer);
    return gen::Reason::Normal();
  }
  std::string reason;
  try {
    const auto outcome = Run(self, job);
    if (IsBeingEnded(self)) return gen::Reason::Normal();
    if (outcome) {
      Answer(job, ReturnTerm(job.tag, *outcome));
      return gen::Reason::Normal();
    }
    reason = OutcomeReason(outcome.error());
  } catch (...) {
    AppendReason(reason, gen::Reason::Panic(core::ThrownText()));
  }
  Answer(job, ErrorOf(job, reason));
  return gen::Reason::Normal();
}

void RemoteCode::SendOutcome(const RemoteJob& job, Signal signal) {
  const auto sent = job.connection->TrySend(signal, SentAs::kAnswer);
  if (sent) return;
  const std::string error = ErrorOf(job, OutcomeReason(sent.error()));
  signal.payload = error;
  job.connection->Send(signal, SentAs::kAnswer);
}

void RemoteCode::Answer(RemoteJob& job, std::string_view outcome) {
  // A caller that is told may ask for the next one at once.
  job.End();
  std::optional<PeerWatchers::Taken> taken;
  {
    const auto lock = job.connection->Lock();
    taken = job.connection->peer_state().watchers.Take(job.number);
    if (!taken) return;  // nobody waits any more
    if (job.is_request) {
      (void)SendAnswerOr(*job.connection, job.request, needs_.addresses.NodePid(), outcome,
                         AppendBadCall);
    } else {
      SendOutcome(job, DownFor(taken->watcher, taken->reference, outcome));
    }
  }
  needs_.relations.RemoveWatcher(taken->watcher.remote, taken->watcher.watched,
                                 needs_.addresses.RefOf(job.number));
}

// ---- behaviours

void RemoteCode::LogFailed(const RemoteJob& job, const gen::Error& why) {
  std::lock_guard lock(mutex_);
  const auto more = failed_lines_.Take();
  if (!more) return;
  gen::Log(needs_.log)
      .Warning("network: {}:{} for {}: {}{}", job.behavior->module, job.behavior->function,
               job.caller, why, *more);
}

gen::Result<void> RemoteCode::StartBehavior(const RemoteJobPtr& job) {
  const auto start = [this, job](gen::Process&) {
    job->EndOfWait();
    std::vector<gen::AnyValue> values(job->arguments.begin(), job->arguments.end());
    const gen::Args arguments(std::move(values));
    const std::function<void(gen::PID)> opened = [this, &job](gen::PID pid) {
      job->process = pid;
      places_.NoteBehavior(pid, std::exchange(job->has_place, false));
      Tie(*job, pid);
      Reply(*job, pid);
    };
    // Called by the process itself, before it can end for another reason.
    auto begun = [this, job](const gen::Result<void>& outcome) {
      if (outcome) TellBegun(*job);
    };
    auto pid = Start(job->behavior->factory, &opened, job->trace, job->behavior->options, arguments,
                     std::move(begun));
    if (pid) return;
    LogFailed(*job, pid.error());
    Refuse(*job, kNoPlace);
  };
  job->Wait();
  // However long it waits for a worker: nobody would answer for one that is ended before it begins.
  auto starter = Start(gen::ProcessFactory(start), nullptr, 0, {.init_timeout = gen::kInfinite});
  if (!starter) return std::move(starter.error());
  return {};
}

// ---- who has asked

void RemoteCode::Tie(const RemoteJob& job, gen::PID pid) {
  if ((job.links & kMonitored) != 0) {
    (void)needs_.relations.AddWatcher(
        {job.caller, needs_.addresses.RefOf(job.number), gen::Target(pid)}, pid);
  }
  if ((job.links & kLinked) != 0) (void)needs_.relations.LinkFromAfar(pid, job.caller);
}

void RemoteCode::Reply(const RemoteJob& job, gen::PID pid) {
  Signal reply = SpawnReplyTo(job.caller, pid, job.reference, job.links);
  reply.trace = job.trace;
  bool is_lost = false;
  {
    const auto lock = job.connection->Lock();
    is_lost = job.connection->state() == Connection::State::kDown;
    if (!is_lost) {
      PeerState& peer = job.connection->peer_state();
      if ((job.links & kMonitored) != 0) {
        // A peer that asks twice with one reference has only one monitor: the other process would outlive the
        // connection.
        is_lost = !peer.watchers.Add({job.number, job.caller, pid}, job.reference);
      }
      if ((job.links & kLinked) != 0) (void)peer.links.Link({pid, job.caller});
      job.connection->Send(reply, SentAs::kAnswer);
    }
  }
  if (!is_lost) return;
  // Nobody knows the process, so nobody would end it.
  (void)needs_.exit_signals.Kill(pid);
}

void RemoteCode::TellBegun(const RemoteJob& job) {
  if (!job.is_for_ergon) return;
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(job.reference);
  writer.Atom("ok");
  {
    const auto connection = job.connection->Lock();
    if (connection->state() != Connection::State::kDown) {
      connection->Send(MessageToAlias(job.reference, needs_.addresses.NodePid(), payload),
                       SentAs::kAnswer);
      return;
    }
  }
  // The caller was told that there is none, so nobody would end it.
  (void)needs_.exit_signals.Kill(job.process);
}

void RemoteCode::Refuse(const RemoteJob& job, std::string_view word) {
  std::string payload;
  TermWriter(payload).Atom(word);
  Signal reply = SpawnRefusalTo(job.caller, job.reference, payload);
  reply.trace = job.trace;
  job.connection->Lock()->Send(reply, SentAs::kAnswer);
}

}  // namespace ergon::dist
