// A process as its own handlers see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/args.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/event.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/group_messenger.h>
#include <ergon/gen/log.h>
#include <ergon/gen/receiver.h>
#include <ergon/gen/relation_options.h>

namespace ergon::gen {

class Node;
class Process;

namespace detail {
template <class Function>
auto StartTask(Process& owner, Function&& function);
}
// Only for the process's own handlers, inside its turns. Elsewhere (on other threads and in handlers of other
// processes) a function that returns a Result returns kNotAllowed, with a text that names the process and the
// function; Sleep, Yield, all setters and the functions of the environment end the program with such a text. Use the
// functions of the node there, or send the process a message. Self, Name, Parent, Leader, Node, Log, LogLevel, Now,
// MakeRef, Resolve, TrapExit, Groups, GroupMembers and OneOf may be called from any thread while the process lives.
// SendPriority, ImportantDelivery and Trace do not look where they are called: elsewhere they are a data race.
//
// A handler must not hold a lock while its process is suspended, that is across Call, Inspect, Receive, Sleep, Yield,
// Spawn and what spawns (Async, gen::Parallel, a pool that grows, StartChild), Await, SendOrWait, the beginning and the
// end of a gen::Blocking, a Send with yield_on_send, and with other nodes any Send, Forward, MonitorEvent and
// LinkEvent. Every other handler that wants the lock would block a worker's thread, until none is left to resume this
// process; and the handler may resume on another thread, which must not unlock it. gen::Mutex detects this.
class Process : public GroupMessenger {
 public:
  [[nodiscard]] virtual PID Self() const = 0;
  // Returns the registered name; empty if the process has none.
  [[nodiscard]] virtual Atom Name() const = 0;
  [[nodiscard]] virtual PID Parent() const = 0;
  // Returns the leader of the process's tree: the process itself if Node::Spawn has made it, else its parent's leader;
  // or whom ProcessOptions::leader has named. In an application it is the process that stands for the application.
  [[nodiscard]] virtual PID Leader() const = 0;
  // Returns the node that the process lives on. Any thread may use the node while the node runs.
  [[nodiscard]] virtual gen::Node& Node() const = 0;
  [[nodiscard]] virtual gen::Log Log() = 0;

  // Sends a request without waiting for the answer. The handler goes on, and HandleResponse gets the outcome with the
  // ref returned here, with priority high, exactly once: the answer, or the error that a Call would return, such as the
  // process's own, kProcessTerminated, kTimeout, kNoConnection, or kProcessMailboxFull if a mailbox drops the request.
  // After an error returned here no outcome comes. Errors: see Messenger, and:
  //   kIncorrect  options.timeout
  // An open request holds no stack, so very many may be open. Open requests are forgotten when this process ends.
  template <class T>
  Result<Ref> Request(const Target& to, T&& request, const CallOptions& options = {}) {
    auto envelope = MakeRequest(std::forward<T>(request), options, to);
    auto ref = RequestTarget(to, envelope, options);
    if (!ref) detail::GiveBack<T>(envelope, request);
    return ref;
  }

  // Only in a process made of a function: suspends it until a message of one of these types is there, and returns that
  // message. Messages of other types wait in the order of their arrival for a Receive that wants them, and count in the
  // mailbox's bound (not if it has an order of its own). When the process ends they are dropped, and counted.
  //
  //   auto next = self.Receive<Job, gen::Asked<Status>, gen::MessageDownPID>(1s);
  //
  // With one type Receive returns a value of that type, with several types a std::variant. A type stands for a message,
  // a notice or an exit signal (SetTrapExit); MessageEvent stands for a published value; Asked<T> for a request, which
  // Reply answers; SentBy<T> adds the sender; OtherMessage, as the last type, stands for the rest.
  //
  //   kTimeout            no such message came within `timeout`, 0 or more; 0: Receive only looks
  //   kProcessTerminated  the process is being ended: return from the function
  //   kTooManyCalls       no stack left for one more suspended process (about 32,000)
  //   kNotAllowed         the process has handlers
  //   kIncorrect          a negative time-out
  //
  // Each process suspended in Receive keeps a stack. For very many processes use act::Actor; also for Request, whose
  // outcome Receive does not take.
  template <class... T>
  Result<typename detail::ReceivedAs<T...>::Type> Receive(
      std::chrono::nanoseconds timeout = kInfinite) {
    static_assert(sizeof...(T) != 0, "Receive: which types of messages?");
    detail::ReceiverOf<T...> receiver;
    auto received = ReceiveEnvelope(receiver, timeout);
    if (!received) return std::move(received.error());
    return std::move(receiver.value());
  }
  // Answers a request that was received. Returns kResponseIgnored if the caller has stopped waiting.
  template <class Request, class T>
  Result<void> Reply(const Asked<Request>& request, T&& reply) {
    if constexpr (TypedRequest<Request>) {
      static_assert(std::is_same_v<detail::UnwrappedType<T>, ReplyOf<Request>>,
                    "Reply: the request names another type of answer");
    }
    return SendResponse(request.from, request.ref, std::forward<T>(reply));
  }

  // Runs a function in a process of its own, linked to this one, and goes on. Needs <ergon/gen/task.h>: see there.
  template <class Function>
  auto Async(Function&& function) {
    return detail::StartTask(*this, std::forward<Function>(function));
  }

  // Starts a child, which outlives this process unless the options link them. Returns when its Init is done. Errors:
  //   kIncorrect          an option; the text names the field and the value
  //   kProcessTerminated  Init stopped or threw; the text is its reason
  //   kTimeout            Init took longer than options.init_timeout, and waited then; the process is killed
  //   kTaken              SpawnRegister: the name is in use. If its holder has been killed or ends with its parent, the
  //                       call first waits for that end, options.init_timeout at most; for an ancestor's only if killed
  virtual Result<PID> Spawn(const ProcessFactory& factory, const ProcessOptions& options = {},
                            const Args& args = {}) = 0;
  virtual Result<PID> SpawnRegister(Atom name, const ProcessFactory& factory,
                                    const ProcessOptions& options = {}, const Args& args = {}) = 0;

  // Registers this process under `name`. A process has at most one name. Returns kTaken if the name is in use,
  // kNotAllowed if the process has a name already, and kIncorrect if `name` is empty.
  virtual Result<void> RegisterName(Atom name) = 0;
  // Gives the name up. Returns kProcessUnknown if the process has no name.
  virtual Result<void> UnregisterName() = 0;
  // Makes one more address of this process: see gen::Alias.
  virtual Result<Alias> CreateAlias() = 0;
  // Returns kProcessUnknown if `alias` is not an alias of this process.
  virtual Result<void> DeleteAlias(Alias alias) = 0;

  // Links this process with another. Links are symmetric: when one of the two ends, the other gets an exit signal with
  // its reason. Linking twice makes one link. Linking to a process that is gone sends the signal "noproc". A link by a
  // name or an alias ends with that name or alias, too: this process gets the signal "unregistered", the other none.
  // The signal has priority max, unless the other process lives on an Erlang node: see Monitor, and options.order.
  virtual Result<void> Link(const Target& to, const LinkOptions& options = {}) = 0;
  // Removes links. With a PID: all links with that process. With a name or an alias: the link by it, or if there is
  // none, all links with the process that it means.
  virtual Result<void> Unlink(const Target& to) = 0;
  // Asks for one MessageDown... when the process ends, or at once, with "noproc", if the process is gone. The notice
  // has priority high: it overtakes messages of priority normal that the process has sent before, unless the process
  // lives on an Erlang node, or options.order is NoticeOrder::kInOrder.
  virtual Result<Ref> Monitor(const Target& to, const MonitorOptions& options = {}) = 0;
  // Ends a monitor: no notice with this ref is handled afterwards. kProcessUnknown: there is none, or it has fired.
  virtual Result<void> Demonitor(Ref ref) = 0;

  // Makes this process the producer of an event. The holder of the returned token may publish the event. Returns
  // kTaken if the event exists already, and kIncorrect for the name or an option.
  virtual Result<Ref> RegisterEvent(Atom name, const EventOptions& options = {}) = 0;
  // Ends an event of this process. Its subscribers get a MessageDownEvent or an exit signal. Returns kProcessUnknown
  // if it is not an event of this process.
  virtual Result<void> UnregisterEvent(Atom name) = 0;
  // Publishes a value and returns the number of subscribers it was sent to. A subscriber with a full mailbox, a pool
  // that has too much to do, or one behind a connection in which too much waits, does not get the value, which is
  // counted. All subscribers see the values of an event in the same order, whoever publishes them, and with the trace
  // id that this process has (trace.h). The token may be given to other processes. Returns kNotAllowed for a wrong
  // token, and kProcessUnknown if there is no such event. After an error an rvalue may be gone.
  template <class T>
  Result<std::size_t> SendEvent(Atom name, Ref token, T&& value) {
    return PublishEnvelope(name, token,
                           detail::MakeMessage(std::forward<T>(value), MessagePriority::kNormal));
  }
  // Subscribes to an event: returns the values in its buffer, oldest first. Every value published from now on arrives
  // in HandleEvent (at a pool: of a worker), until the event or this process ends, or DemonitorEvent. No value is
  // missing in between. A process that subscribes again gets each value once and in order: of the buffer only those
  // that it has not had (a value lost to a full mailbox counts as had). If messages wait in its mailbox, these values
  // come behind those messages to HandleEvent, not returned. The event's end is a MessageDownEvent. kProcessUnknown:
  // there is no such event; kTaken: this process has subscribed already. The event may be on another Ergon node;
  // then this process waits for that node's answer, 5 s at most; further errors are kTimeout, kNoConnection and
  // kUnsupported. The types of its values must be registered (NodeOptions::types). A value that cannot leave its node,
  // or does not fit its type here, ends the subscription with a reason. After kTimeout a value may still arrive, once.
  virtual Result<std::vector<MessageEvent>> MonitorEvent(const Event& event) = 0;
  // Ends a subscription. No notice of the event's end is handled afterwards; values that wait in the mailbox are.
  // Returns kProcessUnknown if this process has not subscribed.
  virtual Result<void> DemonitorEvent(const Event& event) = 0;
  // As MonitorEvent, but the end of the event is an exit signal: see MessageExitEvent. A process may both link to an
  // event and monitor it. It gets each value once, and the second of the two calls returns no values.
  virtual Result<std::vector<MessageEvent>> LinkEvent(const Event& event) = 0;
  virtual Result<void> UnlinkEvent(const Event& event) = 0;

  // Joins a group, see GroupMessenger. A process may join a group several times, and leaves it as often, the last
  // membership first; what is left ends with the process. All four functions return kIncorrect if the name of the group
  // is empty.
  virtual Result<void> JoinGroup(Atom group) = 0;
  // Returns kProcessUnknown if this process is not in the group (any more).
  virtual Result<void> LeaveGroup(Atom group) = 0;
  // Returns the members. From now on a MessageGroupJoined or MessageGroupLeft comes for each change, also those of
  // this process, until this process ends, or DemonitorGroup. No change is missing in between, and none comes twice.
  // The group may be empty, and become empty. When a member ends, its leaving comes before the MessageDownPID of a
  // Monitor. Returns kTaken if this process monitors the group already.
  virtual Result<std::vector<PID>> MonitorGroup(Atom group) = 0;
  // No notice about the group is handled afterwards, nor one that waits. kProcessUnknown: it was not monitored.
  virtual Result<void> DemonitorGroup(Atom group) = 0;

  // Returns the value of `name`: this process's own (SetEnv, ProcessOptions::environment), else that of its parent, its
  // leader or the node, the first that had one at the spawn. Empty if there is none, or its type is not T (a stored
  // std::int64_t can be read as any integer type that holds its value).
  template <class T = std::string>
  [[nodiscard]] std::optional<T> Env(std::string_view name) const {
    return FindEnv(name).Get<T>();
  }
  [[nodiscard]] virtual AnyValue FindEnv(std::string_view name) const = 0;
  [[nodiscard]] virtual Environment EnvList() const = 0;
  // Sets a value for this process and those it spawns from now on. With an empty value this process forgets the name.
  virtual void SetEnv(std::string_view name, AnyValue value) = 0;

  // With true, exit signals arrive in HandleMessage (as MessageExitPID, ...ProcessID, ...Alias or MessageExitEvent) and
  // do not end the process, except those of its parent, and a SendExit with Reason::Kill().
  virtual void SetTrapExit(bool trap) = 0;
  [[nodiscard]] virtual bool TrapExit() const = 0;
  virtual void SetSendPriority(MessagePriority priority) = 0;
  [[nodiscard]] MessagePriority SendPriority() const { return DefaultPriority(); }
  // Sets the trace id (trace.h) of what this process sends, spawns and logs until it handles the next message; 0: none.
  virtual void SetTrace(TraceId trace) = 0;
  // With true, what this process sends is important (Messenger::SendImportant), except by SendAfter and SendEvery.
  virtual void SetImportantDelivery(bool important) = 0;
  [[nodiscard]] virtual bool ImportantDelivery() const = 0;
  // Sets the lowest level of this process's log lines. Each change is logged, with the level before.
  virtual void SetLogLevel(gen::LogLevel level) = 0;
  // Returns the log level of this process: its own, however it was set or inherited, or else the node's.
  [[nodiscard]] virtual gen::LogLevel LogLevel() const = 0;

  // Suspends this process only; with 0 or less it does not suspend. Returns false if it could not sleep, or not for so
  // long: because it is being ended (then return from the handler), or no stack is left for one more suspended process.
  virtual bool Sleep(std::chrono::nanoseconds duration) = 0;

  // Lets the processes that are ready to run go first; this one waits in line meanwhile. For handlers that run long.
  virtual void Yield() = 0;

  // Returns a ref that no other call on this node returns.
  [[nodiscard]] virtual Ref MakeRef() = 0;
  // Returns the time of the node's clock, in nanoseconds from an arbitrary start.
  [[nodiscard]] virtual std::int64_t Now() const = 0;

  // -- without types --

  // Sends a request. `request` is null after success, and untouched after an error. The request may have a deadline of
  // its own, after which its receiver skips it; otherwise the time-out is its deadline, too.
  virtual Result<Ref> RequestEnvelope(PID to, core::EnvelopePtr& request,
                                      std::chrono::nanoseconds timeout) = 0;
  // See Receive.
  virtual Result<void> ReceiveEnvelope(Receiver& receiver, std::chrono::nanoseconds timeout) = 0;

 protected:
  virtual Result<std::size_t> PublishEnvelope(Atom name, Ref token, core::EnvelopePtr value) = 0;
  Result<Ref> RequestTarget(const Target& to, core::EnvelopePtr& request,
                            const CallOptions& options);
};

}  // namespace ergon::gen
