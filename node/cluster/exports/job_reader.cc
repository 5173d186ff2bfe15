#include <ergon/node/cluster/exports/job_reader.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/tools/observer_answers.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

// No function of Erlang has more.
constexpr std::size_t kMostArguments = 255;

// The number of its elements; empty: it is no proper list. As terms of their own they may take thirty times the memory
// of the frame: they are made when it is known that there is a function of so many arguments.
std::optional<std::size_t> SizeOfList(const Term& list) {
  TermReader reader = list.Reader();
  std::size_t count = 0;
  std::size_t size = 0;
  while (reader.EnterList(size)) {
    if (size == 0) return count;
    count += size;
    for (; size != 0; --size) reader.Skip();
  }
  return std::nullopt;
}

}  // namespace

const detail::RemoteFunction* JobReader::FindFunction(std::string_view module,
                                                      std::string_view function,
                                                      std::size_t arity) const {
  if (arity > kMostArguments) return nullptr;
  const detail::RemoteFunction* any = nullptr;
  for (const detail::RemoteFunction& entry : settings_.functions.All()) {
    if (entry.module != module || entry.function != function) continue;
    if (entry.arity == arity) return &entry;
    if (!entry.arity) any = &entry;
  }
  if (any != nullptr) return any;
  return settings_.observable.Now() ? FindObserverAnswer(module, function, arity)
                                    : FindUsualAnswer(module, function, arity);
}

const detail::RemoteBehavior* JobReader::FindBehavior(std::string_view module,
                                                      std::string_view function) const {
  for (const detail::RemoteBehavior& entry : settings_.behaviors.All()) {
    if (entry.module == module && entry.function == function) return &entry;
  }
  return nullptr;
}

RemoteJobPtr JobReader::ReadSpawn(Connection& connection, const Signal& signal,
                                  std::string_view& refusal) {
  refusal = kNotSupported;
  auto job = std::make_shared<RemoteJob>(places_);
  job->connection = connection.shared_from_this();
  job->number = node::NextUniqueId();
  job->caller = signal.from;
  job->reference = signal.ref;
  job->links = signal.links;
  job->trace = signal.trace;
  job->is_for_ergon = !connection.IsForeign();
  Term arguments = Term::FromChecked(std::string(signal.payload), &atoms_);
  auto arity = SizeOfList(arguments);
  if (arity != signal.arity || arity > kMostArguments) return nullptr;
  std::string module(signal.module);
  std::string function(signal.function);
  // erpc spawns a function of its own: [Tag, Module, Function, Arguments], or without a Tag.
  if (module == "erpc") {
    const bool is_call = function == "execute_call" && arity == 4;
    if (!is_call && !(function == "execute_cast" && arity == 3)) return nullptr;
    const std::vector<Term> all = arguments.Elements();
    const std::size_t first = is_call ? 1 : 0;
    if (is_call) job->tag = all.front().raw();
    module = all[first].AsAtomText().value_or("");
    function = all[first + 1].AsAtomText().value_or("");
    arguments = all[first + 2];
    arity = SizeOfList(arguments);
    if (!arity) return nullptr;
    job->function = FindFunction(module, function, *arity);
  } else {
    job->behavior = FindBehavior(module, function);
    if (job->behavior == nullptr) job->function = FindFunction(module, function, *arity);
  }
  if (job->function == nullptr && job->behavior == nullptr) return nullptr;
  if (!places_.TakePlace()) {
    refusal = kNoPlace;
    return nullptr;
  }
  job->has_place = true;
  job->arguments = arguments.Elements();
  const auto is_too_deep = [&](const Term& argument) {
    return !CheckTerm(argument.raw(), settings_.max_term_depth);
  };
  if (signal.is_deep && std::any_of(job->arguments.begin(), job->arguments.end(), is_too_deep)) {
    ThrowTooDeep(settings_.max_term_depth);
  }
  return job;
}

gen::Result<RemoteJobPtr> JobReader::ReadCall(Connection& connection,
                                              const PeerState::Request& request,
                                              std::string_view term) {
  const Term call = Term::FromChecked(std::string(term), &atoms_);
  // A block_call of Erlang keeps others from being run meanwhile, of which nobody here needs to know.
  const auto word =
      call.kind() == Term::Kind::kTuple && call.size() == 5 ? call[0].AsAtomText() : std::nullopt;
  const bool is_call = word == "call" || word == "block_call";
  const auto arity = is_call ? SizeOfList(call[3]) : std::nullopt;
  if (!arity) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} calls functions only", addresses_.node()));
  }
  auto job = std::make_shared<RemoteJob>(places_);
  job->connection = connection.shared_from_this();
  job->caller = request.caller;
  job->reference = request.watch;
  job->request = request;
  job->trace = request.trace;
  job->is_request = true;
  const std::string module = call[1].AsAtomText().value_or("");
  const std::string function = call[2].AsAtomText().value_or("");
  job->function = FindFunction(module, function, *arity);
  if (job->function == nullptr) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} has registered no function {}:{}/{}", addresses_.node(),
                                  module, function, *arity));
  }
  {
    const auto lock = connection.Lock();
    const PeerWatcher* const found =
        connection.peer_state().watchers.FindByReference(request.watch);
    if (found == nullptr) {
      return gen::Error(gen::ErrorCode::kUnsupported, "a call whose caller does not monitor");
    }
    if (found->watched) {
      return gen::Error(gen::ErrorCode::kIncorrect,
                        "a call with this reference is running already");
    }
    job->number = found->number;
  }
  if (!places_.TakePlace()) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("{} runs {} processes of other nodes already", addresses_.node(),
                                  settings_.max_remote_processes.Now()));
  }
  job->has_place = true;
  job->arguments = call[3].Elements();
  return job;
}

}  // namespace ergon::dist
