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
// Only for the process's own handlers, inside its turns. Elsewhere, on other threads and in handlers of
// other processes, what returns a Result returns kNotAllowed, with a text that names the process and
// the function; what returns none (Sleep, Yield, Env and all that set something) ends the program with
// such a text. Use the functions of the node there, or send the process a message. Self, Name, Parent,
// Leader, Node, Log, Now, MakeRef, TrapExit, Groups, GroupMembers and OneOf may be called from any thread while the
// process lives.
//
// No lock may be held while the process is suspended, that is across Call, Inspect, Sleep, Yield,
// Spawn, node::Await, and the beginning and the end of a gen::Blocking: whoever else wants it would
// block a worker's thread, until there is none left to go on with this process, and the handler may
// return to another thread, which must not unlock it. gen::Mutex finds out.
class Process : public GroupMessenger {
 public:
  [[nodiscard]] virtual PID Self() const = 0;
  // The registered name; empty if there is none.
  [[nodiscard]] virtual Atom Name() const = 0;
  [[nodiscard]] virtual PID Parent() const = 0;
  // The first process of its tree: itself if Node::Spawn has made it, else its parent's leader; or the one
  // that ProcessOptions::leader has named. Of an application's processes, the one that stands for the
  // application.
  [[nodiscard]] virtual PID Leader() const = 0;
  // The node it lives on. Any thread may use the node while it runs.
  [[nodiscard]] virtual gen::Node& Node() const = 0;
  [[nodiscard]] virtual gen::Log Log() = 0;

  // Call without waiting: the handler goes on, and the outcome comes to HandleResponse with the ref
  // returned here, of high priority, exactly once: the answer, the error that the process answered
  // with, kProcessTerminated when it ends before it has answered, or kTimeout. An error returned
  // here is all there is; see Messenger, and:
  //   kIncorrect  options.timeout
  // No stack is held meanwhile, so that very many requests may be open. They are forgotten when
  // this process ends.
  template <class T>
  Result<Ref> Request(const Target& to, T&& request, const CallOptions& options = {}) {
    return RequestTarget(to, MakeRequest(std::forward<T>(request), options, to), options);
  }

  // Only in a process made of a function: suspends it until a message of one of these types is there, and
  // returns that. Others wait in the order of their arrival for a Receive that wants them, and count in the
  // mailbox's bound (a mailbox with an order of its own has none for them); when the process ends they are
  // dropped, and counted.
  //
  //   auto next = self.Receive<Job, gen::Asked<Status>, gen::MessageDownPID>(1s);
  //
  // With one type it returns that, with several a std::variant. A type stands for a message, a notice or an
  // exit signal (SetTrapExit); MessageEvent for a published value; Asked<T> for a request, which Reply
  // answers; SentBy<T> tells the sender; OtherMessage, as the last one, stands for whatever is left.
  //
  //   kTimeout            none came within `timeout`, 0 or more; 0: only looks
  //   kProcessTerminated  the process is being ended: return from the function
  //   kTooManyCalls       no stack left for one more suspended process (about 32,000)
  //   kNotAllowed         the process has handlers
  //   kIncorrect          a negative time-out
  //
  // Each process that is suspended in it keeps a stack. For very many use act::Actor, and for
  // Request, whose outcome is not received.
  template <class... T>
  Result<typename detail::ReceivedAs<T...>::Type> Receive(
      std::chrono::nanoseconds timeout = kInfinite) {
    static_assert(sizeof...(T) != 0, "Receive: which types of messages?");
    detail::ReceiverOf<T...> receiver;
    auto received = ReceiveEnvelope(receiver, timeout);
    if (!received) return std::move(received.error());
    return std::move(receiver.value());
  }
  // Answers a request that was received. kResponseIgnored: nobody waits any more.
  template <class Request, class T>
  Result<void> Reply(const Asked<Request>& request, T&& reply) {
    if constexpr (TypedRequest<Request>) {
      static_assert(std::is_same_v<StoredType<T>, ReplyOf<Request>>,
                    "Reply: the request names another type of answer");
    }
    return SendResponse(request.from, request.ref, std::forward<T>(reply));
  }

  // Runs a function in a process of its own, linked to this one, and goes on. Include <ergon/gen/task.h>, which
  // tells more:
  //
  //   auto sum = Async([numbers] { return Sum(numbers); });
  //   ...
  //   gen::Result<int> result = sum->Await(1s);
  //
  // The function may take its gen::Process&. Errors: those of Spawn.
  template <class Function>
  auto Async(Function&& function) {
    return detail::StartTask(*this, std::forward<Function>(function));
  }

  // Starts a child and returns when its Init is done; Inits may nest as deep as one likes. Errors:
  //   kIncorrect          an option; the text names the field and the value
  //   kProcessTerminated  Init stopped or threw; the text is its reason
  //   kTimeout            Init took longer than options.init_timeout; the process is killed
  //   kTaken              SpawnRegister: the name is in use
  virtual Result<PID> Spawn(const ProcessFactory& factory, const ProcessOptions& options = {},
                            const Args& args = {}) = 0;
  virtual Result<PID> SpawnRegister(Atom name, const ProcessFactory& factory,
                                    const ProcessOptions& options = {}, const Args& args = {}) = 0;

  // A process has at most one name. kTaken: the name is in use; kNotAllowed: it has a name.
  virtual Result<void> RegisterName(Atom name) = 0;
  virtual Result<void> UnregisterName() = 0;
  virtual Result<Alias> CreateAlias() = 0;
  // kProcessUnknown: not an alias of this process.
  virtual Result<void> DeleteAlias(Alias alias) = 0;

  // Links are symmetric: when one of the two ends, the other gets an exit signal with its reason.
  // Linking twice is one link. Linking to a process that is gone sends the signal "noproc". A link by a name or an
  // alias ends with the name or alias, too: this process gets the signal "unregistered", the other one none.
  // The signal has priority max, see Monitor; options.order changes that.
  virtual Result<void> Link(const Target& to, const LinkOptions& options = {}) = 0;
  // A PID: of all links with this process. A name or an alias: of the link by it; if there is none, as by the PID.
  virtual Result<void> Unlink(const Target& to) = 0;
  // Asks for one MessageDown... when the process ends; at once, with "noproc", if it is gone. The notice
  // has priority high: it overtakes messages of priority normal that the process has sent before, unless that is one of
  // Erlang, or options.order is NoticeOrder::kInOrder.
  virtual Result<Ref> Monitor(const Target& to, const MonitorOptions& options = {}) = 0;
  // No notice with this ref is handled after it. kProcessUnknown: no such monitor, or it has fired.
  virtual Result<void> Demonitor(Ref ref) = 0;

  // Makes this process the producer of an event; the returned token entitles to publish it. kTaken:
  // there is such an event; kIncorrect: the name, or an option.
  virtual Result<Ref> RegisterEvent(Atom name, const EventOptions& options = {}) = 0;
  // Subscribers get a MessageDownEvent or an exit signal. kProcessUnknown: not an event of this
  // process.
  virtual Result<void> UnregisterEvent(Atom name) = 0;
  // Publishes a value and returns how many subscribers it was sent to; one with a full mailbox, or
  // behind a connection in which too much waits, does not get it, which is counted. All subscribers
  // see the values of an event in the same order, whoever publishes them. The token may be handed to
  // other processes. kNotAllowed: wrong token.
  template <class T>
  Result<std::size_t> SendEvent(Atom name, Ref token, T&& value) {
    return PublishEnvelope(name, token,
                           MakeMessage(std::forward<T>(value), MessagePriority::kNormal));
  }
  // Subscribes: returns what the event's buffer holds, oldest first, and every value that is published from now on
  // arrives in HandleEvent (at a pool: of a worker), until the event or this process ends, or DemonitorEvent. None is
  // missing in between. Who subscribes again to an event of this node gets each value once and in order: of the buffer
  // what it has not had, which arrives, too, behind what waits, if its mailbox is not empty. When the event ends a
  // MessageDownEvent comes. kProcessUnknown: no such event; kTaken: done already. The event may be one of another node
  // of Ergon, which this process waits for, 5 s at most: kTimeout, kNoConnection, kUnsupported. Its types have to be
  // registered (NodeOptions::types); a value that is nothing for other nodes, or does not fit its type here, ends the
  // subscription with words. After an error a value may have come all the same.
  virtual Result<std::vector<MessageEvent>> MonitorEvent(const Event& event) = 0;
  // No notice of the event's end is handled after it; values that wait in the mailbox are.
  // kProcessUnknown: not subscribed.
  virtual Result<void> DemonitorEvent(const Event& event) = 0;
  // As MonitorEvent, but the end of the event is an exit signal: see MessageExitEvent. A process may
  // link to an event and monitor it; it gets each value once, and nothing is returned then by the
  // second of the two.
  virtual Result<std::vector<MessageEvent>> LinkEvent(const Event& event) = 0;
  virtual Result<void> UnlinkEvent(const Event& event) = 0;

  // Groups: see GroupMessenger. A process may join a group several times, and leaves it as often, the last membership
  // first; what is left of them ends with the process. kIncorrect, of all four: the group's name is empty.
  virtual Result<void> JoinGroup(Atom group) = 0;
  // kProcessUnknown: it is not in the group (any more).
  virtual Result<void> LeaveGroup(Atom group) = 0;
  // Returns the members, and from now on a MessageGroupJoined or MessageGroupLeft comes for each change, also those of
  // this process, until it ends, or DemonitorGroup. None is missing in between, and none comes twice. The group may
  // be empty, and become so. When a member ends, its leaving comes before the MessageDownPID of a Monitor. kTaken:
  // done already.
  virtual Result<std::vector<PID>> MonitorGroup(Atom group) = 0;
  // No notice about the group is handled after it, also of those that wait. kProcessUnknown: not monitored.
  virtual Result<void> DemonitorGroup(Atom group) = 0;

  // What is known by this name: to this process, or what it inherited when it was spawned from its
  // parent, its leader, and the node, in this order. Empty: nothing, or a value of another type than T.
  template <class T = std::string>
  [[nodiscard]] std::optional<T> Env(std::string_view name) const {
    return FindEnv(name).Get<T>();
  }
  // The same, whatever its type is.
  [[nodiscard]] virtual AnyValue FindEnv(std::string_view name) const = 0;
  [[nodiscard]] virtual Environment EnvList() const = 0;
  // For this process and those it spawns from now on. No value: this process knows the name no more.
  virtual void SetEnv(std::string_view name, AnyValue value) = 0;

  // With true, exit signals arrive in HandleMessage (as MessageExitPID; MessageExitProcessID, MessageExitAlias or
  // MessageExitEvent) instead of ending the process, except those of its parent.
  virtual void SetTrapExit(bool trap) = 0;
  [[nodiscard]] virtual bool TrapExit() const = 0;
  virtual void SetSendPriority(MessagePriority priority) = 0;
  [[nodiscard]] MessagePriority SendPriority() const { return DefaultPriority(); }
  // The trace id (trace.h) of what it sends, spawns and logs, until it handles the next message; 0: none.
  virtual void SetTrace(TraceId trace) = 0;
  // With true, all that it sends is important: see Messenger::SendImportant.
  virtual void SetImportantDelivery(bool important) = 0;
  [[nodiscard]] virtual bool ImportantDelivery() const = 0;
  virtual void SetLogLevel(gen::LogLevel level) = 0;
  // Of this process: what it has set, or the node's.
  [[nodiscard]] virtual gen::LogLevel LogLevel() const = 0;

  // Suspends this process only; with 0 or less, not at all. False: it could not, or not so long, because it
  // is being ended (then return from the handler) or because there is no stack left for one more suspended
  // process.
  virtual bool Sleep(std::chrono::nanoseconds duration) = 0;

  // Lets the others go first that are ready to run; this process waits in line meanwhile. For
  // handlers that run long.
  virtual void Yield() = 0;

  // A value that no other call on this node returns.
  [[nodiscard]] virtual Ref MakeRef() = 0;
  // The node's clock, in nanoseconds from an arbitrary start.
  [[nodiscard]] virtual std::int64_t Now() const = 0;

  // -- without types --

  // `request` is null after success, and untouched after an error. It may have a deadline of its
  // own, after which its receiver skips it; if it has none, the time-out is that too.
  virtual Result<Ref> RequestEnvelope(PID to, core::EnvelopePtr& request,
                                      std::chrono::nanoseconds timeout) = 0;
  // See Receive.
  virtual Result<void> ReceiveEnvelope(Receiver& receiver, std::chrono::nanoseconds timeout) = 0;

 protected:
  virtual Result<std::size_t> PublishEnvelope(Atom name, Ref token, core::EnvelopePtr value) = 0;
  Result<Ref> RequestTarget(const Target& to, core::EnvelopePtr request,
                            const CallOptions& options);
};

}  // namespace ergon::gen
