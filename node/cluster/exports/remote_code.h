// What other nodes have run here: registered functions and behaviours, in processes of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ergon/gen/error.h>
#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/log_limit.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/erlang/exports.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::dist {

// kIncorrect, naming it: a registered name is none of Erlang, or is there twice, or leads to nothing.
[[nodiscard]] gen::Result<void> CheckRemoteCode(const RemoteFunctions& functions,
                                                const RemoteBehaviors& behaviors);

class RemoteCode {
 public:
  // The name of Erlang's process for calls of functions.
  static constexpr std::string_view kCalls = "rex";

  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Spawning& spawning;
    node::Relations& relations;
    node::ExitSignals& exit_signals;
    gen::LogSink& log;
    const Settings& settings;
    AtomBudget& atoms;
  };
  explicit RemoteCode(const Needs& needs) : needs_(needs) {}

  // A kSpawnRequest: starts what it asks for, or refuses it at once. The thread of the network.
  void Take(Connection& connection, const Signal& signal);
  // A request {call, Module, Function, Arguments, _} to the name kCalls, as dist::Rpc makes it: runs the function, or
  // refuses it at once. It is answered with the result, or {badrpc, {error, Why}}. The thread of the network.
  void TakeCall(Connection& connection, const PeerState::Request& request, std::string_view term);
  // Who has monitored with that number does so no more, or is lost: if it was the caller of a function, that ends, too.
  // Any thread.
  void EndOfWatcher(std::uint64_t number);

 private:
  struct Job;
  using JobPtr = std::shared_ptr<Job>;

  // The job without a process; null, and a word for Erlang in `refusal`: it is not to be run here.
  JobPtr Read(Connection& connection, const Signal& signal, std::string_view& refusal);
  [[nodiscard]] const detail::RemoteFunction* FindFunction(std::string_view module,
                                                           std::string_view function,
                                                           std::size_t arity) const;
  [[nodiscard]] const detail::RemoteBehavior* FindBehavior(std::string_view module,
                                                           std::string_view function) const;
  // Counts one more; false: there are as many as may be.
  bool TakePlace();
  void ForgetEnded();

  // A process of the node's. `opened`: see SpawnRequest; `done`: see Spawning.
  gen::Result<gen::PID> Start(
      const gen::ProcessFactory& factory, const std::function<void(gen::PID)>* opened,
      const gen::ProcessOptions& options = {}, const gen::Args& arguments = {},
      std::function<void(gen::Result<void>)> done = [](const gen::Result<void>&) {});
  // The job without a process for a call; else why it is not to be run here.
  gen::Result<JobPtr> ReadCall(Connection& connection, const PeerState::Request& request,
                               std::string_view term);
  // Who has called watches the process of the job, `pid`. False: that one waits no more.
  bool Watch(Job& job, gen::PID pid);
  // Runs a function in a process of its own.
  gen::Result<void> StartFunction(const JobPtr& job);
  // A function is not run while its node has not taken what it was answered before: its own answer would have to wait, too.
  // False: nobody waits for it any more.
  static bool AwaitRoom(gen::Process& self, const Job& job);
  gen::Reason RunFunction(gen::Process& self, Job& job);
  // Starts a behaviour from a process, where its constructor may take its time.
  void LogFailed(const Job& job, const gen::Error& why);
  gen::Result<void> StartBehavior(const JobPtr& job);
  // `pid` is there, and has not begun: links and monitors are made.
  void Tie(const Job& job, gen::PID pid);
  // Tells who has asked for it, of it and of its ties.
  void Reply(const Job& job, gen::PID pid);
  // Tells an Ergon node that its Init is done.
  void TellBegun(const Job& job);
  void Refuse(const Job& job, std::string_view word);
  // That of a call by erpc that has failed.
  [[nodiscard]] static std::string ErrorOf(const Job& job, std::string_view reason);
  // Of a call by erpc: a kDown signal with its outcome, or with the error that this is too large. With the lock.
  static void AppendOutcome(const Job& job, Signal signal);
  // The outcome of a call, instead of its process's end; of a request {Tag, Outcome}.
  void Answer(Job& job, std::string_view outcome);

  const Needs needs_;
  std::mutex mutex_;
  // -- guarded by it --
  std::size_t places_ = 0;           // of functions, and of behaviours that are about to be started
  bool was_full_ = false;            // and that was told
  std::vector<gen::PID> behaviors_;  // those that are alive, or were
  std::size_t next_look_ = 0;        // among them
  LogLimit failed_lines_;            // of starts
  std::unordered_map<std::uint64_t, gen::PID> calls_;  // by the number of who waits for them
};

}  // namespace ergon::dist
