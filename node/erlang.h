// A node in a cluster of Erlang/OTP: its processes and the processes of the other nodes send, call, link and monitor
// each other as if they were on one node.
//
//   gen::NodeOptions options;
//   options.network = dist::Erlang({.cookie = "secret"});
//   options.types.Register<Count>().Register<Counted>();
//   auto node = node::Start("cpp@127.0.0.1", options).value();
//
//   1> gen_server:call({words, 'cpp@127.0.0.1'}, {count, <<"to be or not to be">>}).
//
// A process there is addressed by a PID that came with a message, or by its name:
//
//   Send(gen::ProcessID{"logger", "shell@127.0.0.1"}, Line{"hello"});
//
// or by an alias that came with a message: a gen::Alias of another Ergon node, a dist::Reference of Erlang. Only
// aliases of Ergon nodes can be called; Monitor and SendExit need the PID. For an alias of an Erlang node these
// functions return kUnsupported. While it is not known yet whether the node runs Ergon, the request of such a Call
// may reach its process all the same.
//
// Inspect also asks processes of other Ergon nodes, and is answered before the messages that wait there. So is
// InspectAs, for types that both nodes have registered, such as act::PoolStats for act::Stats. For a process of an
// Erlang node both return kUnsupported: ask sys:get_status by Rpc.
//
// A Link by a name or an alias of another Ergon node ends with that name or alias, as on one node. The process that
// made the link unlinks the name or alias; the other process unlinks the PID of the maker. An Erlang node has no such
// links, and Link returns kUnsupported: Monitor the name. While it is not known yet whether the node runs Ergon, the
// error comes as an exit signal.
//
// Messages are values of registered types (erlang/archive.h says how they look in Erlang), integers, double, bool,
// std::string, gen::Atom, gen::PID, or dist::Term, which is any term. A term that arrives and has the form of a
// registered type becomes a value of that type; integers become std::int64_t, binaries std::string, and terms that fit
// nothing else dist::Term.
//
// A Send to another node succeeds when the message is on its way. As in Erlang, the sender does not learn whether it
// arrives; a monitor, a Call or SendImportant shows that. Further errors: kUnsupported (type not registered); kBusy, on
// threads: too much waits for that node. A process is suspended instead; only Request, which never waits, returns kBusy
// there, too. Priorities are not sent: a message that comes has the priority of its type (gen::WireTypeOptions), mostly
// normal.
//
// SendImportant to a process of another Ergon node succeeds when that node has confirmed that the message is in the
// receiver's mailbox; else its error is what happened there, such as kProcessMailboxFull or kProcessUnknown. It
// suspends a process meanwhile, and blocks a thread. It returns kNoConnection if the connection was lost before the
// confirmation; then the message may have arrived. It returns kUnsupported if the other node does not run Ergon and
// cannot confirm it, and kNotAllowed if a gen::Mutex is held or if Node::SendImportant was called in a handler. The
// same holds for all messages of a process with SetImportantDelivery, except for SendToGroup, which returns
// kUnsupported if members are on other nodes. SendOrWait waits for the confirmation for the given time, then returns
// kTimeout; it does not wait until there is room in the mailbox there.
//
// Process::MonitorEvent also takes events of other Ergon nodes; for an event of an Erlang node it returns kUnsupported.
//
// Groups (gen::GroupMessenger) are the groups of the default scope of Erlang's pg. Their members are on all connected
// nodes where pg is started. A SendToGroup of a value that no other node with members can take returns kUnsupported or
// kIncorrect, and then no member gets it. If some of these nodes take it, the members on the others do not get it,
// which is counted as dropped_unreadable.
//
// When a Call or a Request to another node has no answer in time, this node does not know whether the request is being
// handled: the text of kTimeout says so, and promises nothing. An Ergon node skips the request if it has not begun with
// it when it learns, within a quarter of ErlangOptions::tick_time, that the caller has stopped waiting; an Erlang node
// handles it.
//
// A Call is gen_server:call, and what comes by gen_server:call is a request for HandleCall; a Send to a gen_server
// arrives in its handle_info. An error that a process answers with is {error, Reason} in Erlang, as {error,
// mailbox_full}; an answer {error, Reason} from there is the error of the Call, unless a registered type has the tag
// `error`.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/network.h>
#include <ergon/gen/node.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/options.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

// Returns the value for NodeOptions::network. node::Start returns what is wrong with the options.
[[nodiscard]] std::shared_ptr<const gen::Network> Erlang(ErlangOptions options = {});

// -- the cluster; any thread --

// Returns the nodes that this node is connected with.
[[nodiscard]] std::vector<gen::Atom> Nodes(gen::Node& node);
// A moment's view of one connection.
struct ConnectionInfo {
  gen::Atom node;                     // the other node
  bool is_up = false;                 // false: it is being made
  bool is_ergon = false;              // the other node runs Ergon; false: no, or not known yet
  std::size_t queued_bytes = 0;       // not given to the system yet
  std::size_t answer_bytes = 0;       // of these, what the other node has asked for
  std::size_t most_queued_bytes = 0;  // the most at a time since the connection was made
  // Processes that are suspended because ErlangOptions::send_queue_bytes wait for the node, or have waited until now.
  std::size_t waiting_senders = 0;
  // Requests of the other node that have not been read, because ErlangOptions::send_queue_bytes of answers wait until
  // it takes them, or because 128 functions and behaviours that it has asked for have not begun.
  std::size_t put_aside_bytes = 0;
  bool is_listened_to = true;  // false: even more requests would wait, so that nothing is read
  // Messages, requests and news of groups that the other node has sent in the name of processes of a third node. Such a
  // message is delivered without a sender, a request as a message; the rest is left out. The log has some of them.
  std::uint64_t not_believed = 0;
};
// Returns the connections of `node`, including those that are being made.
[[nodiscard]] std::vector<ConnectionInfo> InspectConnections(gen::Node& node);
// Ends the connection with a node, as if it were lost. Returns false if there was none.
bool Disconnect(gen::Node& node, gen::Atom other);

// Checks whether the other node can be reached, as net_adm:ping does; connects if there is no connection. It suspends
// a process and blocks a thread. Returns kNoConnection, with the reason, if the node cannot be reached. The own node is
// always there.
gen::Result<void> Ping(gen::Messenger& self, gen::Atom other, const gen::CallOptions& options = {});

// Calls a function on another node: a function of Erlang, as rpc:call does, or a function that an Ergon node has
// registered (ErlangOptions::functions). Errors, besides those of Call:
//   kApplication        a function of Erlang has failed; the text is what rpc:call returns behind badrpc
//   any                 a function of an Ergon node has failed with this error
//   kUnsupported        the Ergon node has registered no such function
//   kIncorrect          `other` is this node itself, or a name is no name of a function
//   kBusy               as many functions and behaviours run there as may
//   kProcessTerminated  the function's process has ended before it returned, or the function has thrown
// On an Ergon node the function ends when its caller ends, when the connection is lost, or when the caller waits no
// more, which the node learns within a quarter of ErlangOptions::tick_time.
//
//   auto reversed = dist::Rpc(Process(), "shell@127.0.0.1", "lists", "reverse", {dist::Term::List({1, 2})});
gen::Result<Term> Rpc(gen::Messenger& self, gen::Atom other, std::string_view module,
                      std::string_view function, const std::vector<Term>& arguments,
                      const gen::CallOptions& options = {});

// Returns the process that is registered as `name` on another node, of Erlang or of Ergon, as erlang:whereis does
// there. Suspends a process, blocks other threads. Returns kProcessUnknown if nobody has the name, kUnsupported if a
// port of Erlang has it, else the errors of Rpc. The process may have ended when the answer arrives: use Monitor.
gen::Result<gen::PID> WhereIs(gen::Messenger& self, const gen::ProcessID& name,
                              const gen::CallOptions& options = {});

// How a process is spawned on another node.
struct SpawnOptions {
  // Links the caller with the process, once its Init is done. The process also ends if the caller ends before that, or
  // if the connection is lost. A process of Erlang is linked from its beginning.
  bool link = false;
  gen::CallOptions call = {};
};

// Starts a process on another node. It starts a behaviour that an Ergon node has registered
// (ErlangOptions::behaviors), and returns when its Init is done; or a function of Erlang, as spawn/4 does, and returns
// when it has begun. If the caller stops waiting before, or has ended, the process there is ended. Watch the process
// with Monitor, or from its beginning with SpawnMonitored. The group leader of a process of Erlang is the caller, which
// does not answer io:format: print there with io:format(user, ...). Errors, besides those of Call:
//   kUnsupported        the other node has nothing of that name, or starts no processes for others, as one of Java
//   kBusy               as many functions and behaviours run there as may
//   kProcessTerminated  the Init of the process has failed; the text is its reason
//
//   auto pid = dist::Spawn(Process(), "cpp@127.0.0.1", "words", "start", {dist::Term::Of("text"), 3});
//   auto timer = dist::Spawn(Process(), "shell@127.0.0.1", "timer", "sleep", {1000}, {.link = true});
gen::Result<gen::PID> Spawn(gen::Process& self, gen::Atom other, std::string_view module,
                            std::string_view function, const std::vector<Term>& arguments,
                            const SpawnOptions& options = {});

// What SpawnMonitored returns.
struct Monitored {
  gen::PID pid;
  gen::Ref monitor;  // the ref of the MessageDownPID; for Demonitor
};
// Does what Spawn does, and makes the caller monitor the process from its beginning, so that the caller gets its exit
// reason however early it ends. An Init that fails is still an error of the call.
gen::Result<Monitored> SpawnMonitored(gen::Process& self, gen::Atom other, std::string_view module,
                                      std::string_view function, const std::vector<Term>& arguments,
                                      const SpawnOptions& options = {});

// Asks the node `other` for a name on `host` that no other node has. For programs whose name nobody needs to know, or
// that run many times at once. `options` are the options of the node that is then started with this name, mostly with
// `listen` false; the node keeps the name as long as it runs. Blocks for at most twice the handshake's time-out.
// Errors: kIncorrect for the host and the options, kUnsupported if `other` gives no names, and those of Diagnose.
//
//   const std::string name = dist::AskForName("127.0.0.1", "shell@127.0.0.1", erlang).value();
//   auto node = node::Start(name, {.network = dist::Erlang(erlang)}).value();
gen::Result<std::string> AskForName(const std::string& host, const std::string& other,
                                    const ErlangOptions& options = {});

// Finds out why two nodes do not connect. It asks EPMD on the host of `other`, connects and shakes hands as a node
// `own` would, without starting such a node, and returns a text that says what works or which side has to change what.
// Blocks for at most twice the handshake's time-out.
gen::Result<std::string> Diagnose(const std::string& own, const std::string& other,
                                  const ErlangOptions& options = {});

}  // namespace ergon::dist
