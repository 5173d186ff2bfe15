#include <ergon/node/cluster/exports/remote_code.h>

#include <algorithm>
#include <any>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/tools/observer_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kNotSupported = "notsup";
constexpr std::string_view kNoPlace = "system_limit";
// Between two looks whether a caller has taken what it was answered before.
constexpr std::chrono::milliseconds kShortestWait{1};
constexpr std::chrono::milliseconds kLongestWait{100};

// What the processes of Erlang's module erpc end with: the reason of their end is the outcome of the call.
std::string ReturnTerm(std::string_view tag, const Term& value) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Tuple(3);
  writer.Raw(tag);
  writer.Atom("return");
  writer.Raw(value.raw());
  return bytes;
}

// {Reference, error, Reason, Stack}, with the function that has failed as the stack.
std::string ErrorTerm(std::string_view tag, std::string_view reason, std::string_view module,
                      std::string_view function, std::size_t arity) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Tuple(4);
  writer.Raw(tag);
  writer.Atom("error");
  writer.Raw(reason);
  writer.List(1);
  writer.Tuple(4);
  writer.Atom(module);
  writer.Atom(function);
  writer.Integer(static_cast<std::int64_t>(arity));
  writer.Nil();
  writer.Nil();
  return bytes;
}

// Empty: it is no proper list.
std::optional<std::vector<Term>> ElementsOfList(const Term& list) {
  TermReader reader = list.Reader();
  std::size_t size = 0;
  while (reader.EnterList(size)) {
    if (size == 0) return list.Elements();
    for (; size != 0; --size) reader.Skip();
  }
  return std::nullopt;
}

// Whether somebody ends the process: what its function has returned is none of its outcomes then.
bool IsBeingEnded(gen::Process& self) {
  struct Nothing {};
  const auto looked = self.Receive<Nothing>(std::chrono::nanoseconds(0));
  return !looked && looked.error() == gen::ErrProcessTerminated;
}

std::string ReasonTerm(const gen::Error& error) {
  std::string bytes;
  AppendError(bytes, error);
  return std::string(Term::FromChecked(std::move(bytes))[1].raw());  // of {error, Reason}
}

// {badrpc, {error, Why}}
void AppendBadCall(std::string& out, const gen::Error& error) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("badrpc");
  AppendError(out, error);
}

gen::Result<void> CheckName(const char* what, std::string_view module, std::string_view function) {
  for (const std::string_view text : {module, function}) {
    try {
      if (!text.empty()) (void)Term::Atom(text);
    } catch (const std::invalid_argument& error) {
      return node::Incorrect(
          fmt::format("network: {}: {}:{}: {}", what, module, function, error.what()));
    }
    if (text.empty()) {
      return node::Incorrect(
          fmt::format("network: {}: '{}:{}' has an empty name", what, module, function));
    }
  }
  return {};
}

}  // namespace

gen::Result<void> CheckRemoteCode(const RemoteFunctions& functions,
                                  const RemoteBehaviors& behaviors) {
  std::set<std::tuple<std::string, std::string, std::optional<std::size_t>>> known;
  for (const detail::RemoteFunction& entry : functions.All()) {
    auto named = CheckName("functions", entry.module, entry.function);
    if (!named) return named;
    if (!entry.run) {
      return node::Incorrect(
          fmt::format("network: functions: {}:{} is empty", entry.module, entry.function));
    }
    if (!known.emplace(entry.module, entry.function, entry.arity).second) {
      return node::Incorrect(fmt::format("network: functions: {}:{} of the same arguments twice",
                                         entry.module, entry.function));
    }
  }
  std::set<std::pair<std::string, std::string>> spawned;
  for (const detail::RemoteBehavior& entry : behaviors.All()) {
    auto named = CheckName("behaviors", entry.module, entry.function);
    if (!named) return named;
    if (!entry.factory) {
      return node::Incorrect(
          fmt::format("network: behaviors: {}:{} is empty", entry.module, entry.function));
    }
    if (!spawned.emplace(entry.module, entry.function).second) {
      return node::Incorrect(
          fmt::format("network: behaviors: {}:{} twice", entry.module, entry.function));
    }
  }
  return {};
}

struct RemoteCode::Job {
  [[nodiscard]] bool IsCall() const { return !tag.empty() || is_request; }

  RemoteCode& code;
  std::shared_ptr<Connection> connection;
  std::uint64_t number = 0;  // of the one who monitors it
  gen::PID caller;
  std::string reference;  // raw, of the request and of the monitor
  std::uint8_t links = 0;
  std::string tag;             // of a call by erpc, raw
  PeerState::Request request;  // of a call by a request
  bool is_request = false;
  const detail::RemoteFunction* function = nullptr;
  const detail::RemoteBehavior* behavior = nullptr;
  std::vector<Term> arguments;
  bool has_place = false;

  explicit Job(RemoteCode& of) : code(of) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { End(); }
  // The run of a function is over, in whatever way, or nothing has come of it.
  void End() {
    if (!std::exchange(has_place, false)) return;
    std::lock_guard lock(code.mutex_);
    --code.places_;
    code.calls_.erase(number);
  }
};

// ---- what is asked for

const detail::RemoteFunction* RemoteCode::FindFunction(std::string_view module,
                                                       std::string_view function,
                                                       std::size_t arity) const {
  const detail::RemoteFunction* any = nullptr;
  for (const detail::RemoteFunction& entry : needs_.settings.functions.All()) {
    if (entry.module != module || entry.function != function) continue;
    if (entry.arity == arity) return &entry;
    if (!entry.arity) any = &entry;
  }
  if (any != nullptr) return any;
  return needs_.settings.observable ? FindObserverAnswer(module, function, arity)
                                    : FindUsualAnswer(module, function, arity);
}

const detail::RemoteBehavior* RemoteCode::FindBehavior(std::string_view module,
                                                       std::string_view function) const {
  for (const detail::RemoteBehavior& entry : needs_.settings.behaviors.All()) {
    if (entry.module == module && entry.function == function) return &entry;
  }
  return nullptr;
}

RemoteCode::JobPtr RemoteCode::Read(Connection& connection, const Signal& signal,
                                    std::string_view& refusal) {
  refusal = kNotSupported;
  auto job = std::make_shared<Job>(*this);
  job->connection = connection.shared_from_this();
  job->number = node::NextUniqueId();
  job->caller = signal.from;
  job->reference = signal.ref;
  job->links = signal.links;
  auto arguments = ElementsOfList(Term::FromChecked(std::string(signal.payload), &needs_.atoms));
  if (!arguments || arguments->size() != signal.arity) return nullptr;
  job->arguments = std::move(*arguments);
  std::string module(signal.module);
  std::string function(signal.function);
  // erpc spawns a function of its own: [Tag, Module, Function, Arguments], or without a Tag.
  if (module == "erpc") {
    const bool is_call = function == "execute_call" && job->arguments.size() == 4;
    if (!is_call && !(function == "execute_cast" && job->arguments.size() == 3)) return nullptr;
    if (is_call) {
      job->tag = job->arguments.front().raw();
      job->arguments.erase(job->arguments.begin());
    }
    module = job->arguments[0].AsAtomText().value_or("");
    function = job->arguments[1].AsAtomText().value_or("");
    arguments = ElementsOfList(job->arguments[2]);
    if (!arguments) return nullptr;
    job->arguments = std::move(*arguments);
    job->function = FindFunction(module, function, job->arguments.size());
  } else {
    job->behavior = FindBehavior(module, function);
    if (job->behavior == nullptr) {
      job->function = FindFunction(module, function, job->arguments.size());
    }
  }
  if (job->function == nullptr && job->behavior == nullptr) return nullptr;
  if (!TakePlace()) {
    refusal = kNoPlace;
    return nullptr;
  }
  job->has_place = true;
  return job;
}

void RemoteCode::Take(Connection& connection, const Signal& signal) {
  std::string_view refusal;
  const JobPtr job = Read(connection, signal, refusal);
  if (job == nullptr) {
    Job refused(*this);
    refused.connection = connection.shared_from_this();
    refused.caller = signal.from;
    refused.reference = signal.ref;
    Refuse(refused, refusal);
    return;
  }
  const auto started = job->function != nullptr ? StartFunction(job) : StartBehavior(job);
  if (!started) Refuse(*job, kNoPlace);
}

gen::Result<RemoteCode::JobPtr> RemoteCode::ReadCall(Connection& connection,
                                                     const PeerState::Request& request,
                                                     std::string_view term) {
  const Term call = Term::FromChecked(std::string(term), &needs_.atoms);
  // A block_call of Erlang keeps others from being run meanwhile, of which nobody here needs to know.
  const auto word =
      call.kind() == Term::Kind::kTuple && call.size() == 5 ? call[0].AsAtomText() : std::nullopt;
  const bool is_call = word == "call" || word == "block_call";
  auto arguments = is_call ? ElementsOfList(call[3]) : std::nullopt;
  if (!arguments) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} calls functions only", needs_.addresses.node()));
  }
  auto job = std::make_shared<Job>(*this);
  job->connection = connection.shared_from_this();
  job->caller = request.caller;
  job->reference = request.watch;
  job->request = request;
  job->is_request = true;
  job->arguments = std::move(*arguments);
  const std::string module = call[1].AsAtomText().value_or("");
  const std::string function = call[2].AsAtomText().value_or("");
  job->function = FindFunction(module, function, job->arguments.size());
  if (job->function == nullptr) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} has registered no function {}:{}/{}", needs_.addresses.node(),
                                  module, function, job->arguments.size()));
  }
  {
    std::lock_guard lock(connection.mutex());
    const auto& numbers = connection.relations().watcher_numbers;
    const auto found = numbers.find(request.watch);
    if (found == numbers.end()) {
      return gen::Error(gen::ErrorCode::kUnsupported, "a call whose caller does not monitor");
    }
    if (connection.relations().watchers.at(found->second).watched) {
      return gen::Error(gen::ErrorCode::kIncorrect,
                        "a second call with the reference of one that runs");
    }
    job->number = found->second;
  }
  if (!TakePlace()) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("{} runs {} processes of other nodes already",
                                  needs_.addresses.node(), needs_.settings.max_remote_processes));
  }
  job->has_place = true;
  return job;
}

void RemoteCode::TakeCall(Connection& connection, const PeerState::Request& request,
                          std::string_view term) {
  auto job = ReadCall(connection, request, term);
  const auto started = job ? StartFunction(*job) : gen::Result<void>(job.error());
  if (started) return;
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  AppendBadCall(payload, started.error());
  std::lock_guard lock(connection.mutex());
  if (connection.state() == Connection::State::kDown) return;
  (void)AppendAnswerOr(connection, request, needs_.addresses.NodePid(), payload, AppendBadCall);
}

bool RemoteCode::Watch(Job& job, gen::PID pid) {
  {
    std::lock_guard lock(job.connection->mutex());
    auto& watchers = job.connection->relations().watchers;
    const auto found = watchers.find(job.number);
    if (found == watchers.end()) return false;
    found->second.watched = pid;
  }
  return needs_.relations.AddWatcher(
      {job.caller, needs_.addresses.RefOf(job.number), gen::Target(pid)}, pid);
}

// ---- how many there are

bool RemoteCode::TakePlace() {
  std::lock_guard lock(mutex_);
  const auto most = needs_.settings.max_remote_processes;
  if (places_ + behaviors_.size() >= most) {
    ForgetEnded();
  }
  if (places_ + behaviors_.size() < most) {
    ++places_;
    was_full_ = false;
    return true;
  }
  if (!std::exchange(was_full_, true)) {
    gen::Log(needs_.log)
        .Warning(
            "network: {} processes of other nodes run here, no more are started "
            "(max_remote_processes)",
            most);
  }
  return false;
}

// Nobody tells of the end of a behaviour, so it is looked for when it matters: at some of them, so that who asks for one more
// and is refused pays for no more than that.
void RemoteCode::ForgetEnded() {
  constexpr std::size_t kLooks = 1024;
  for (std::size_t left = std::min(kLooks, behaviors_.size()); left != 0; --left) {
    if (next_look_ >= behaviors_.size()) next_look_ = 0;
    if (needs_.addresses.Find(behaviors_[next_look_]) != nullptr) {
      ++next_look_;
    } else {
      behaviors_[next_look_] = behaviors_.back();
      behaviors_.pop_back();
    }
  }
}

void RemoteCode::EndOfWatcher(std::uint64_t number) {
  gen::PID pid;
  {
    std::lock_guard lock(mutex_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return;
    pid = found->second;
  }
  (void)needs_.exit_signals.Kill(pid);
}

gen::Result<gen::PID> RemoteCode::Start(const gen::ProcessFactory& factory,
                                        const std::function<void(gen::PID)>* opened,
                                        const gen::ProcessOptions& options,
                                        const gen::Args& arguments,
                                        std::function<void(gen::Result<void>)> done) {
  return needs_.spawning.StartInBackground({.factory = factory,
                                            .options = options,
                                            .args = arguments,
                                            .parent = needs_.addresses.NodePid(),
                                            .opened = opened},
                                           std::move(done));
}

// ---- functions

gen::Result<void> RemoteCode::StartFunction(const JobPtr& job) {
  const gen::ProcessFactory factory(
      [this, job](gen::Process& self) { return RunFunction(self, *job); });
  const std::function<void(gen::PID)> opened = [this, &job](gen::PID pid) {
    if (job->IsCall()) {
      std::lock_guard lock(mutex_);
      calls_[job->number] = pid;
    }
    if (job->is_request) {
      if (!Watch(*job, pid)) (void)needs_.exit_signals.Kill(pid);
      return;
    }
    Tie(*job, pid);
    Reply(*job, pid);
  };
  auto pid = Start(factory, &opened);
  if (!pid) return std::move(pid.error());
  return {};
}

bool RemoteCode::AwaitRoom(gen::Process& self, const Job& job) {
  for (auto pause = kShortestWait; job.connection->HasUnreadAnswers();
       pause = std::min(2 * pause, kLongestWait)) {
    if (!self.Sleep(pause)) return false;
  }
  return true;
}

std::string RemoteCode::ErrorOf(const Job& job, std::string_view reason) {
  return ErrorTerm(job.tag, reason, job.function->module, job.function->function,
                   job.arguments.size());
}

gen::Reason RemoteCode::RunFunction(gen::Process& self, Job& job) {
  if (!AwaitRoom(self, job)) return gen::Reason::Normal();
  if (!job.IsCall()) {
    // A process of Erlang's spawn: its end is all that anybody may learn of.
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
      const auto outcome = job.function->run(self, job.arguments);
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
    const auto outcome = job.function->run(self, job.arguments);
    if (IsBeingEnded(self)) return gen::Reason::Normal();
    if (outcome) {
      Answer(job, ReturnTerm(job.tag, *outcome));
      return gen::Reason::Normal();
    }
    reason = ReasonTerm(outcome.error());
  } catch (...) {
    AppendReason(reason, gen::Reason::Panic(core::ThrownText()));
  }
  Answer(job, ErrorOf(job, reason));
  return gen::Reason::Normal();
}

void RemoteCode::AppendOutcome(const Job& job, Signal signal) {
  const auto appended = job.connection->TryAppend(signal);
  if (appended) return;
  const std::string error = ErrorOf(job, ReasonTerm(appended.error()));
  signal.payload = error;
  job.connection->Append(signal);
}

void RemoteCode::Answer(Job& job, std::string_view outcome) {
  // Who hears of it may ask for the next one at once.
  job.End();
  PeerState::Watcher watcher;
  {
    std::lock_guard lock(job.connection->mutex());
    PeerState& relations = job.connection->relations();
    const auto found = relations.watchers.find(job.number);
    if (found == relations.watchers.end()) return;  // nobody waits any more
    watcher = std::move(found->second);
    relations.watchers.erase(found);
    relations.watcher_numbers.erase(job.reference);
    if (job.is_request) {
      if (job.connection->state() != Connection::State::kDown) {
        (void)AppendAnswerOr(*job.connection, job.request, needs_.addresses.NodePid(), outcome,
                             AppendBadCall);
      }
    }
    Signal signal;
    signal.kind = SignalKind::kDown;
    signal.from = watcher.watched;
    signal.to = watcher.remote;
    signal.ref = job.reference;
    signal.payload = outcome;
    if (!job.is_request && job.connection->state() != Connection::State::kDown) {
      AppendOutcome(job, signal);
    }
  }
  needs_.relations.RemoveWatcher(watcher.remote, watcher.watched,
                                 needs_.addresses.RefOf(job.number));
}

// ---- behaviours

void RemoteCode::LogFailed(const Job& job, const gen::Error& why) {
  std::lock_guard lock(mutex_);
  const auto more = failed_lines_.Take();
  if (!more) return;
  gen::Log(needs_.log)
      .Warning("network: {}:{} for {}: {}{}", job.behavior->module, job.behavior->function,
               job.caller, why, *more);
}

gen::Result<void> RemoteCode::StartBehavior(const JobPtr& job) {
  const auto start = [this, job](gen::Process&) {
    std::vector<gen::AnyValue> values(job->arguments.begin(), job->arguments.end());
    const gen::Args arguments(std::move(values));
    const std::function<void(gen::PID)> opened = [this, &job](gen::PID pid) {
      {
        std::lock_guard lock(mutex_);
        behaviors_.push_back(pid);
        if (std::exchange(job->has_place, false)) --places_;
      }
      Tie(*job, pid);
      Reply(*job, pid);
    };
    // Called by the process itself, before it can end for another reason.
    auto begun = [this, job](const gen::Result<void>& outcome) {
      if (outcome) TellBegun(*job);
    };
    auto pid =
        Start(job->behavior->factory, &opened, job->behavior->options, arguments, std::move(begun));
    if (pid) return;
    LogFailed(*job, pid.error());
    Refuse(*job, kNoPlace);
  };
  auto starter = Start(gen::ProcessFactory(start), nullptr);
  if (!starter) return std::move(starter.error());
  return {};
}

// ---- who has asked

void RemoteCode::Tie(const Job& job, gen::PID pid) {
  if ((job.links & kMonitored) != 0) {
    (void)needs_.relations.AddWatcher(
        {job.caller, needs_.addresses.RefOf(job.number), gen::Target(pid)}, pid);
  }
  if ((job.links & kLinked) != 0) (void)needs_.relations.LinkFromAfar(pid, job.caller);
}

void RemoteCode::Reply(const Job& job, gen::PID pid) {
  Signal reply;
  reply.kind = SignalKind::kSpawnReply;
  reply.from = pid;
  reply.to = job.caller;
  reply.ref = job.reference;
  reply.links = job.links;
  bool is_lost = false;
  {
    std::lock_guard lock(job.connection->mutex());
    is_lost = job.connection->state() == Connection::State::kDown;
    if (!is_lost) {
      PeerState& relations = job.connection->relations();
      if ((job.links & kMonitored) != 0) {
        (void)relations.AddWatcher(job.number, {job.caller, pid, {}, job.reference});
      }
      if ((job.links & kLinked) != 0) (void)relations.links.Link({pid, job.caller});
      job.connection->Append(reply);
    }
  }
  if (!is_lost) return;
  // Nobody has it, so nobody will end it.
  (void)needs_.exit_signals.Kill(pid);
}

void RemoteCode::TellBegun(const Job& job) {
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(job.reference);
  writer.Atom("ok");
  Signal answer;
  answer.kind = SignalKind::kSendToAlias;
  answer.from = needs_.addresses.NodePid();
  answer.ref = job.reference;
  answer.payload = payload;
  std::lock_guard lock(job.connection->mutex());
  const bool is_open = job.connection->state() != Connection::State::kDown;
  if (is_open && !job.connection->IsForeign()) job.connection->Append(answer);
}

void RemoteCode::Refuse(const Job& job, std::string_view word) {
  std::string payload;
  TermWriter(payload).Atom(word);
  Signal reply;
  reply.kind = SignalKind::kSpawnReply;
  reply.to = job.caller;
  reply.ref = job.reference;
  reply.payload = payload;
  std::lock_guard lock(job.connection->mutex());
  if (job.connection->state() != Connection::State::kDown) job.connection->Append(reply);
}

}  // namespace ergon::dist
