// Runs registered functions and behaviours for other nodes, in processes of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/job_reader.h>
#include <ergon/node/cluster/exports/remote_job.h>
#include <ergon/node/cluster/exports/remote_places.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::dist {

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
  explicit RemoteCode(const Needs& needs)
      : needs_(needs),
        places_(needs.addresses, needs.log, needs.settings.max_remote_processes),
        reader_(needs.settings, needs.addresses, needs.atoms, places_) {}

  // Handles a kSpawnRequest: starts what it asks for, or refuses it at once. The thread of the network.
  void Handle(Connection& connection, const Signal& signal);
  // Handles a request {call, Module, Function, Arguments, _} to the name kCalls, as dist::Rpc makes it: runs the
  // function, or refuses it at once. The answer is the result, or {badrpc, {error, Why}}. The thread of the network.
  void HandleCall(Connection& connection, const PeerState::Request& request, std::string_view term);
  // A process of another node has ended its monitor with that number, or is lost. If it was the caller of a function,
  // the process of the function ends, too. Any thread.
  void EndOfWatcher(std::uint64_t number);

 private:
  // Starts a process whose parent is the node. `opened` and `trace`: see SpawnRequest; `done`: see Spawning.
  gen::Result<gen::PID> Start(
      const gen::ProcessFactory& factory, const std::function<void(gen::PID)>* opened,
      gen::TraceId trace, const gen::ProcessOptions& options = {}, const gen::Args& arguments = {},
      std::function<void(gen::Result<void>)> done = [](const gen::Result<void>&) {});
  // Makes the caller monitor the job's process `pid`. Returns false if the caller has stopped waiting.
  bool Watch(RemoteJob& job, gen::PID pid);
  // Runs a function in a process of its own.
  gen::Result<void> StartFunction(const RemoteJobPtr& job);
  // Waits until the caller's node has taken the former answers: the answer of the function would have to wait, too.
  // Returns false if the process is ended meanwhile, or if no stack is left to wait with.
  static bool AwaitRoom(gen::Process& self, const RemoteJob& job);
  // Returns the result. One that is larger than the peer takes is an error before anything is made of it.
  [[nodiscard]] gen::Result<Term> Run(gen::Process& self, const RemoteJob& job) const;
  gen::Reason RunFunction(gen::Process& self, RemoteJob& job);
  // Starts a behaviour from a process, where its constructor may take its time.
  void LogFailed(const RemoteJob& job, const gen::Error& why);
  gen::Result<void> StartBehavior(const RemoteJobPtr& job);
  // Makes the links and monitors of `pid`, which has not begun.
  void Tie(const RemoteJob& job, gen::PID pid);
  // Tells the caller the PID, and which links and monitors were made.
  void Reply(const RemoteJob& job, gen::PID pid);
  // Tells an Ergon node that the Init of the process is done. If the connection is lost, the process ends.
  void TellBegun(const RemoteJob& job);
  void Refuse(const RemoteJob& job, std::string_view word);
  // Returns the outcome of a call by erpc that has failed.
  [[nodiscard]] static std::string ErrorOf(const RemoteJob& job, std::string_view reason);
  // Sends a kDown signal with the outcome of a call by erpc, or with the error that the outcome is too large. With the
  // lock.
  static void SendOutcome(const RemoteJob& job, Signal signal);
  // Sends the outcome of a call instead of the end of its process; the outcome of a request is {Tag, Outcome}.
  void Answer(RemoteJob& job, std::string_view outcome);

  const Needs needs_;
  RemotePlaces places_;
  JobReader reader_;
  std::mutex mutex_;
  gen::LogLimit failed_lines_;  // of starts; guarded by it
};

}  // namespace ergon::dist
