// How a node is started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/log_format.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/network.h>
#include <ergon/gen/pool_change.h>
#include <ergon/gen/wire_types.h>

namespace ergon::gen {

enum class DispatcherPolicy : std::uint8_t {
  kWorkStealing,  // a queue per worker; idle workers steal
  kWorkSharing,   // one queue for all
};

constexpr std::string_view ToString(DispatcherPolicy policy) {
  return policy == DispatcherPolicy::kWorkSharing ? "work-sharing" : "work-stealing";
}

// How hard workers without work look for work: see core/stealing_effort.h.
using core::StealingEffort;
using core::StealingPhase;

// The exit status of a program that NodeOptions::shutdown_deadline has ended; EX_SOFTWARE in <sysexits.h>.
inline constexpr int kExitStuck = 70;

struct NodeOptions {
  // Threads that run processes, 2..1024; 0: as many as there are cores, at least 2.
  int workers = 0;
  DispatcherPolicy policy = DispatcherPolicy::kWorkStealing;
  // Messages that a process may handle in a turn, 1..4096: see "Messages in a turn" in tests/bench/README.md.
  int throughput = 32;
  // With quick handlers a turn may have more messages, until it has lasted for this time, 0..1 s; 0: never.
  std::chrono::nanoseconds turn_time = std::chrono::microseconds(20);
  // With slow handlers a turn ends sooner: after the handler in which it has lasted for this time, 0..1 s; 0: no limit.
  // So a process that is ready waits for one handler of each worker, or for this time. No handler is interrupted. The
  // time of a process that has been quick is looked at every 16 messages only, on a clock of 1 to 10 ms (the kernel's
  // tick): its first slow turn may last for up to 16 handlers, and for a tick longer. A handler that has waited, as in
  // a Call, begins a time slice of its own. Not in a simulation.
  std::chrono::nanoseconds turn_limit = std::chrono::milliseconds(1);
  // The size of a handler's stack, in bytes, 16 KiB..1 GiB. Only pages that are touched take memory. A handler that
  // needs more ends the program with a signal, usually SIGSEGV, and a line on standard error that names the process.
  // The guard area below the stack has 64 KiB: a function with a larger frame, such as one with a large array, may step
  // over it into foreign memory, unless the program is compiled with -fstack-clash-protection, which makes it touch
  // each page.
  std::size_t handler_stack_bytes = 256 * 1024;
  // How long a worker without work looks for work before it sleeps, 0..1 s. `stealing` says it in phases instead.
  std::chrono::nanoseconds search_time = std::chrono::microseconds(20);
  StealingEffort stealing = {};
  // Called around every turn; see core::DispatcherHooks. core::HookChain combines several. The threads of detached
  // processes and of gen::Blocking call the hooks too, each as worker 0.
  std::shared_ptr<core::DispatcherHooks> hooks = nullptr;

  // The most threads that stand in for workers while handlers block (gen::Blocking), 0..1024. They are started when
  // they are needed.
  int blocking_threads = 64;
  // A turn that lasts longer than this without having suspended itself is reported: in the log, and in NodeInfo::busy.
  // At least 1 ms; 0: never. Detached processes and blocking stretches are not watched, and nothing is watched with a
  // `clock` of the caller's. The thread that watches also keeps the memory of a backlog for the next one, for one to
  // two seconds. Without that thread the memory goes back to the system at once.
  std::chrono::nanoseconds watchdog_after = std::chrono::seconds(1);
  // Fills ProcessInfo::running_time and ::turns. Costs two looks at the clock for each turn.
  bool measure_running_time = false;
  // Fills three histograms of GET /metrics (<ergon/node/observer.h>):
  //   ergon_call_seconds        from the sending of a process's call to its answer or error, by the behaviour of the
  //                             process that was called: a pool's own, whoever answers; "(other node)": of all calls to
  //                             other nodes. A call that could not be sent is not counted
  //   ergon_queue_wait_seconds  from the sending of a message, value of an event or call until its handler begins, by
  //                             the receiver's behaviour. Delayed messages count from when their time has come, and
  //                             what another node has sent from when it has come here
  //   ergon_handling_seconds    how long handlers take for a message, by behaviour
  // ergon_queue_wait_seconds counts each message once, even if it is stashed; but it counts a call through a pool again
  // when the worker that has stashed it takes it back. The time that a message waited at a pool is part of its time at
  // the worker. Not counted are messages of SendEvery, calls of other nodes, requests made by Request, and messages
  // and values (but not calls) with a trace id: their envelopes have no room for a time.
  // Costs two looks at the clock for each message and one for each turn, some hundred bytes a process, a lock at each
  // spawn, and 30 KiB for each of the first 200 behaviours; all other behaviours share "(other)".
  bool measure_latency = false;

  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  // How many log lines each process name (or behaviour, of processes without a name) may write in a second at each
  // level, 1..1,000,000; 0: any number. Further lines are counted, in NodeInfo::log_lines_left_out. At most a second
  // after that second, or when the node ends, a line of the node with that level says how many there were. The node's
  // own lines are not limited, nor is the line that says why a process panicked.
  int log_burst = 0;
  // The file that the node reads at SIGHUP, in the format of LoadOptions (<ergon/node/options_file.h>);
  // Node::ReloadOptions says which options then change. Empty: there is no file, and SIGHUP ends the program. The node
  // does not read the file when it starts: the program does, with LoadOptions. With a `clock` of the caller's own the
  // node does not catch SIGHUP.
  std::string options_file = {};
  // The keys (see OptionKeys, <ergon/node/option_keys.h>) that were given on the command line. Reading the file again
  // does not change these options; another value for them in the file is not an error. node::AddNodeOptions sets this,
  // and options_file.
  std::vector<std::string> overridden_options = {};
  // Options of pools by their registered names. They replace what the pool's Init returns; a field that is not given
  // stays as Init returned it. In a file: the tables [pools.NAME]. A pool whose options are wrong does not start.
  // Applies to pools that are spawned with the name, as by SpawnRegister.
  std::map<std::string, PoolChange> pools = {};
  // Log levels of processes by the name of their behaviour, as their log lines show it; std::nullopt: the node's level.
  // In a file: the table [log_levels]. They override ProcessOptions::log_level and an inherited level.
  std::map<std::string, std::optional<LogLevel>> log_levels = {};
  // Receives each log line, in the log_format (text without time and level), instead of standard error; one at a time.
  // Runs on the thread that logs: a process's, the timers', the watchdog's, that of a recording (node::TraceTo), or one
  // of the caller's own that uses the node. It may call Info and ProcessInfo, but must not wait for the node, end a
  // recording, or log: its own line would wait until the sink has returned. If it throws, the line is lost; the first
  // time, standard error says so.
  std::function<void(LogLevel level, const std::string& line)> log_sink = nullptr;

  // How many of the last dropped messages can be looked at, 0..4096; see Node::LastDrops.
  int drops_remembered = 64;
  // On SIGQUIT (Ctrl-\, or kill -QUIT) the node writes its Dump to standard error and goes on, instead of the end of
  // the program: to look at a program that hangs. All nodes with this option write, one after the other. The timers'
  // thread writes the dump, so timers wait meanwhile. When the last such node has stopped, the signal ends the program
  // again. Not with a `clock` of the caller's own. A node that cannot catch the signal does not start.
  bool dump_on_sigquit = false;
  // The values that all processes inherit; see Process::Env. In an options file: [environment].
  Environment environment = {};

  // SIGINT and SIGTERM stop the node, and a second signal stops it at once, as in Node::WaitForSignal, but from the
  // node's start on: for programs whose main thread has something else to do, or calls Wait. Not with a `clock` of the
  // caller's own. A node that cannot catch the signals does not start.
  bool stop_on_signal = false;
  // For processes whose ProcessOptions choose no mailbox: how many messages of normal priority may wait, 1..4,000,000;
  // 0: any number. It does not apply to workers of pools (PoolOptions::worker_mailbox_size), nor to what is never
  // refused: messages of high and max priority, signals, inspections, and the outcomes of requests. A process with
  // Mailbox::Unbounded() has no bound all the same.
  int mailbox_size = 0;

  // How long Stop waits for processes to end in order before it kills them.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
  // A handler that blocks cannot be killed, and keeps Stop waiting. If this is not 0 and the node has not ended this
  // long after Stop or the signal, the program ends: it writes a line for each process that the node waits for and the
  // node's Dump to standard error, runs no destructors, and has the exit status kExitStuck. 0: the program waits. Must
  // be more than shutdown_timeout. Not with a `clock` of the caller's own.
  std::chrono::nanoseconds shutdown_deadline = std::chrono::nanoseconds(0);

  // The node's clock, if the caller brings one: for simulations.
  std::shared_ptr<core::Clock> clock = nullptr;
  // A dispatcher of your own (see core::Dispatcher), or a simulation's. It must not have been started, and runs this
  // node's processes, nothing else. Workers, policy, throughput, turn_time, turn_limit, search_time, stealing, hooks
  // and stack are then its own. A dispatcher without threads runs detached processes and blocking stretches, too;
  // beside one with threads these have threads of their own, as always. Clock and timers are the node's own, unless
  // they are given.
  std::shared_ptr<core::Dispatcher> dispatcher = nullptr;
  // Timers that the caller drives (see core::TimerQueue); needed with a `clock` for anything that takes time.
  std::shared_ptr<core::TimerQueue> timers = nullptr;
  // The time of day: for cron jobs, and for each log line with LogFormat::kJson. None: the machine's; or with a `clock`
  // of the caller's own, its nanoseconds since the year 1970. It is called from any thread, by several at once. It must
  // not log, and not call the node's functions for cron jobs, which ask it under a lock.
  std::function<std::chrono::system_clock::time_point()> wall_clock = nullptr;
  // Runs a function later, outside of all handlers; none: on a thread of the node's own. If it throws, Stop does, too.
  std::function<void(std::function<void()>)> defer = nullptr;
  // Tells incarnations of the node apart, 4 or more; 0: chosen so that each incarnation has another one.
  std::uint32_t creation = 0;

  // The way to other nodes, such as that of dist::Erlang (<ergon/node/erlang.h>); null: none. Not with a `clock` of the
  // caller's own. A node that cannot be reached as it should be, or whose name is taken, does not start.
  std::shared_ptr<const Network> network = nullptr;
  // The table [network] of an options file. It goes before the options that `network` was made with; without `network`
  // the node does not start.
  std::vector<NetworkOption> network_options = {};
  // The types of the messages that go to other nodes and come from them.
  WireTypes types = {};
};

}  // namespace ergon::gen
