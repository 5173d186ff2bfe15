// A node in a cluster of Erlang/OTP: its processes and those of the other nodes send, call, link and monitor each
// other as if they were on one.
//
//   gen::NodeOptions options;
//   options.network = dist::Erlang({.cookie = "secret"});
//   options.types.Register<Count>().Register<Counted>();
//   auto node = node::Start("cpp@127.0.0.1", options).value();
//
//   1> gen_server:call({words, 'cpp@127.0.0.1'}, {count, <<"to be or not to be">>}).
//
// Processes there are addressed by the PIDs that came with their messages, or by name:
//
//   Send(gen::ProcessID{"logger", "shell@127.0.0.1"}, Line{"hello"});
//
// or by an alias that came with a message: a gen::Alias of another Ergon node, a dist::Reference of Erlang. A Call to an
// alias is for those of Ergon nodes; a Monitor and a SendExit want the PID. To an Erlang node these are kUnsupported;
// when it is not known yet what the node is, a Call to an alias may be answered there all the same.
//
// Inspect asks processes of other Ergon nodes, too, and is answered before what waits there; so does InspectAs, for types
// that both nodes have registered, as act::PoolStats for act::Stats. To an Erlang node they are kUnsupported: ask
// sys:get_status by Rpc.
//
// A Link by a name or an alias of another Ergon node ends with that name or alias, as on one node. Its maker unlinks the
// same, the other process the maker's PID. To an Erlang node, which has no such links, it is kUnsupported: Monitor the
// name. When it is not known yet what the node is, the error comes as an exit signal.
//
// Messages are values of registered types (erlang/archive.h says how they look in Erlang), of integers, double, bool,
// std::string, gen::Atom, gen::PID, or dist::Term, which is any term. What comes and has the form of a registered type
// is one; integers come as std::int64_t, binaries as std::string, and what is nothing else as dist::Term.
//
// A Send to another node has succeeded when the message is on its way: as in Erlang, nobody tells whether it has arrived;
// a monitor, a Call or SendImportant does. Its errors are, besides those of gen::Messenger, kUnsupported (the type is not
// registered), and for threads kBusy: too much waits for that node. A process is suspended then, but for Request, which
// waits for nothing and returns kBusy, too. Priorities end at the border: what comes has that of its type
// (gen::WireTypeOptions), normal mostly.
//
// SendImportant to a process of another Ergon node succeeds when that node has said that the message is in the receiver's
// mailbox; else its error is what happened there, as kProcessMailboxFull or kProcessUnknown. It suspends a process
// meanwhile, and blocks a thread. kNoConnection: the connection was lost before that was known, so that it may have
// arrived. kUnsupported: the other node is none of Ergon, where nobody says it. kNotAllowed: a gen::Mutex is held, or
// Node::SendImportant was called in a handler. The same goes for all that a process with SetImportantDelivery sends, but a
// SendToGroup, which is kUnsupported where members are on other nodes. SendOrWait waits for the answer as long as it is
// told, then kTimeout, but not until there is room in the mailbox there.
//
// Events (Process::MonitorEvent) may be those of other Ergon nodes; to another node that is kUnsupported.
//
// Groups (gen::GroupMessenger) are those of the default scope of Erlang's pg: their members are those of all nodes that are
// connected, as far as pg is started there. A SendToGroup of what cannot go to other nodes is kUnsupported or kIncorrect
// where there are such members, and then nobody has got it.
//
// When a Call or a Request to another node has no answer in time, nobody knows here whether it is handled: the text of kTimeout
// says so, and promises nothing. A node of Ergon skips it if it has not begun with it when it learns that nobody waits any
// more, within a quarter of ErlangOptions::tick_time; Erlang handles it.
//
// A Call is gen_server:call, and what comes by gen_server:call is a request for HandleCall; a Send to a gen_server arrives in
// its handle_info. An error that a process answers with is {error, Reason} in Erlang, as {error, mailbox_full}; an answer
// {error, Reason} from there is the error of the Call, unless a registered type has the tag `error`.
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

// For NodeOptions::network. What is wrong with the options is told by node::Start.
[[nodiscard]] std::shared_ptr<const gen::Network> Erlang(ErlangOptions options = {});

// -- the cluster; any thread --

// The nodes that this one is connected with.
[[nodiscard]] std::vector<gen::Atom> Nodes(gen::Node& node);
// A moment's view of one connection.
struct ConnectionInfo {
  gen::Atom node;                // the other one
  bool is_up = false;            // false: it is being made
  bool is_ergon = false;         // the other node is one of Ergon; false: not, or not known yet
  std::size_t queued_bytes = 0;  // not given to the system yet
  std::size_t most_queued_bytes = 0;  // the most at a time since the connection was made
  // Suspended because there are as many as ErlangOptions::send_queue_bytes, or were until now.
  std::size_t waiting_senders = 0;
  // Messages, requests and news of groups that the other node has sent in the name of processes of a third one. A message
  // is delivered without a sender, a request as a message; the rest is left out. The log has some of them.
  std::uint64_t not_believed = 0;
};
[[nodiscard]] std::vector<ConnectionInfo> InspectConnections(gen::Node& node);
// Ends the connection with a node, as if it were lost. False: there was none.
bool Disconnect(gen::Node& node, gen::Atom other);

// Whether the other node can be reached, as net_adm:ping: connects if there is no connection. In a process it suspends,
// elsewhere it blocks. kNoConnection: it cannot, and why.
gen::Result<void> Ping(gen::Messenger& self, gen::Atom other, const gen::CallOptions& options = {});

// Calls a function on another node: of Erlang, as rpc:call, or one that an Ergon node has registered
// (ErlangOptions::functions). Errors, besides those of Call:
//   kApplication        a function of Erlang has failed; the text is what rpc:call returns behind badrpc
//   any                 a function of an Ergon node has failed with it
//   kUnsupported        the Ergon node has registered no such function
//   kBusy               as many as may be run there already
//   kProcessTerminated  the function's process has ended before it returned, or the function has thrown
// On an Ergon node the function ends when its caller does, or waits no more, which it learns within a quarter of
// ErlangOptions::tick_time, or when the connection is lost.
//
//   auto reversed = dist::Rpc(Process(), "shell@127.0.0.1", "lists", "reverse", {dist::Term::List({1, 2})});
gen::Result<Term> Rpc(gen::Messenger& self, gen::Atom other, std::string_view module,
                      std::string_view function, const std::vector<Term>& arguments,
                      const gen::CallOptions& options = {});

// The process that has a name on another node, of Erlang or of Ergon, as erlang:whereis says there. In a process it
// suspends, elsewhere it blocks. kProcessUnknown: nobody has the name. kUnsupported: a port of Erlang has it. The others are
// those of Rpc. The process may have ended when the answer is there; Monitor tells of that.
gen::Result<gen::PID> WhereIs(gen::Messenger& self, const gen::ProcessID& name,
                              const gen::CallOptions& options = {});

// How a process is spawned on another node.
struct SpawnOptions {
  // With it, once its Init is done; it ends, too, if the caller does before that, or the connection is lost. With a process
  // of Erlang from its beginning.
  bool link = false;
  gen::CallOptions call = {};
};

// Starts a process on another node: a behaviour that an Ergon node has registered (ErlangOptions::behaviors), and returns
// when its Init is done; or a function of Erlang, as spawn/4, and returns when it has begun. If the caller does not wait so
// long, or has ended, the process there is ended. Watch it with Monitor, or from its beginning with SpawnMonitored. The
// group leader of one of Erlang is the caller, which does not do what io:format asks for: print there with
// io:format(user, ...). Errors, besides those of Call:
//   kUnsupported        the other node has nothing of that name
//   kBusy               as many as may be run there already
//   kProcessTerminated  its Init has failed; the text is its reason
//
//   auto pid = dist::Spawn(Process(), "cpp@127.0.0.1", "words", "start", {dist::Term::Of("text"), 3});
//   auto timer = dist::Spawn(Process(), "shell@127.0.0.1", "timer", "sleep", {1000}, {.link = true});
gen::Result<gen::PID> Spawn(gen::Process& self, gen::Atom other, std::string_view module,
                            std::string_view function, const std::vector<Term>& arguments,
                            const SpawnOptions& options = {});

// The same, with a monitor of the caller from the beginning, so that the reason of its end is told however early it ends.
// An Init that fails is still an error of the call.
struct Monitored {
  gen::PID pid;
  gen::Ref monitor;  // that of its MessageDownPID; for Demonitor
};
gen::Result<Monitored> SpawnMonitored(gen::Process& self, gen::Atom other, std::string_view module,
                                      std::string_view function, const std::vector<Term>& arguments,
                                      const SpawnOptions& options = {});

// A name on `host` that no other node has, as the node `other` makes one up for who has none: for programs of which nobody
// needs to know the name, or of which many run at once. `options` are those of the node that is then started with it,
// mostly with `listen` false; it keeps the name as long as it runs. Blocks, twice the handshake's time-out at most. Errors:
// kIncorrect for the host and the options, and those of Diagnose; kUnsupported: `other` gives no names.
//
//   const std::string name = dist::AskForName("127.0.0.1", "shell@127.0.0.1", erlang).value();
//   auto node = node::Start(name, {.network = dist::Erlang(erlang)});
gen::Result<std::string> AskForName(const std::string& host, const std::string& other,
                                    const ErlangOptions& options = {});

// Why two nodes do not connect: asks EPMD of the other's host, connects and shakes hands as a node `own` would, without
// being one, and says what works or which side has to change what. Blocks until it knows, twice the handshake's time-out
// at most.
gen::Result<std::string> Diagnose(const std::string& own, const std::string& other,
                                  const ErlangOptions& options = {});

}  // namespace ergon::dist
