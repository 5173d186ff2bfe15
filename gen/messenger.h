// Sending and calling: what a process and a node have in common.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/inspection.h>
#include <ergon/gen/message.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/priority.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/response.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::gen {

// Errors common to all functions with a receiver:
//   kProcessUnknown       no such process, name or alias
//   kProcessTerminated    it has ended
//   kProcessMailboxFull   normal priority only: the bound of its mailbox is reached; nothing was sent
//   kProcessIncarnation   the PID belongs to a former incarnation of the node
//   kNodeTerminated       the node has stopped
//   kIncorrect            a name of more than Atom::kMaxBytes, or on another node one that is not UTF-8
//   kNotAllowed           a process's function was called outside of its own handlers
//   kOverloaded, kApplication, kDeadlock, kInternal   see act::Pool; kInternal also: a mailbox of one's own threw
//   kNoConnection, kUnsupported, kBusy, kTimeout      about another node: see erlang.h
// After success the message is handled, or counted as dropped with its reason (Node::Info). If a Send... or Request
// fails that was given an rvalue, as in Send(to, std::move(job)), `job` is as before, if it can be assigned, or moved
// without exceptions; not so SendEvery, SendResponse, SendToGroup and Call.
class Messenger {
 public:
  virtual ~Messenger() = default;

  // Sends `value`, moved or copied, with the sender's priority (normal, unless ProcessOptions::send_priority says
  // otherwise). Never blocks the thread. Suspends a process only while too much waits to go to another node, or by its
  // yield_on_send or SetImportantDelivery. Messages of one sender, receiver and priority arrive in the order sent.
  template <class T>
  Result<void> Send(PID to, T&& value) {
    return SendOrGiveBack<T>(to, detail::MakeMessage(std::forward<T>(value), DefaultPriority()),
                             value);
  }
  template <class T>
  Result<void> Send(const Target& to, T&& value) {
    return SendWithPriority(to, std::forward<T>(value), DefaultPriority());
  }
  template <class T>
  Result<void> SendWithPriority(const Target& to, T&& value, MessagePriority priority) {
    return SendOrGiveBack<T>(to, detail::MakeMessage(std::forward<T>(value), priority, to), value);
  }

  // As Send, with a trace id: see trace.h.
  template <class T>
  Result<void> SendTraced(const Target& to, T&& value, TraceId trace) {
    auto envelope = detail::MakeMessage(std::forward<T>(value), DefaultPriority(), to);
    if (trace != 0) MarkTraced(*envelope, trace);
    return SendOrGiveBack<T>(to, std::move(envelope), value);
  }

  // As Send, for a message that must reach its receiver: success means that the message is in the receiver's own
  // mailbox. A mailbox that would drop the message as it is full, or give it to a fallback process, refuses it with
  // kProcessMailboxFull. (For a pool: the mailbox of the worker whose turn it is, or the pool's own while it replaces
  // workers.) A message that is dropped later is counted, as any other. To another node: see erlang.h.
  template <class T>
  Result<void> SendImportant(const Target& to, T&& value) {
    auto envelope = detail::MakeMessage(std::forward<T>(value), DefaultPriority(), to);
    envelope->flags |= core::Envelope::kFlagImportant;
    return SendOrGiveBack<T>(to, std::move(envelope), value);
  }

  // As Send, but waits while the receiver's mailbox (at a pool: each worker's) or the way to its node is full; blocks a
  // thread, suspends a process. Who has waited longest is next. No wait for a mailbox that drops or has a fallback, or
  // for admission_limit (kOverloaded). After `timeout` (0: tries once; kInfinite: no limit) a full mailbox returns
  // kProcessMailboxFull, a full way kTimeout or kBusy. kDeadlock: to itself, or from the only worker to its pool.
  template <class T>
  Result<void> SendOrWait(const Target& to, T&& value, std::chrono::nanoseconds timeout) {
    auto envelope = detail::MakeMessage(std::forward<T>(value), DefaultPriority(), to);
    auto sent = SendEnvelopeOrWait(to, envelope, timeout);
    if (!sent) detail::GiveBack<T>(envelope, value);
    return sent;
  }

  // Sends a request and waits for its answer, which must be of type R. R may be left out if the request has a type
  // Reply: Call(pool, Thumbnail{...}) is a Result<ThumbnailDone>. In a handler it suspends only this process; other
  // threads block. Besides the errors above:
  //   kTimeout            no answer within options.timeout. The text says, unless the process is on another node,
  //                       whether the request was being handled, or what the receiver was doing. "The request will
  //                       not be handled" is a promise: no handler has begun with it, and none will
  //   kDeadlock           the receiver waits for this process, directly or through others (up to 1,000), so that no
  //                       answer can come. Who called last gets the error at once; the text is the chain of processes
  //                       and types of messages. Requests whose handler has returned without an answer do not count:
  //                       others may answer them. Do not give a ref to others and then call its owner.
  //   kProcessTerminated  the process ended before it answered, or this one is being ended
  //   kUnexpectedType     the answer has another type; the text names both. An answer of std::int64_t fits
  //                       every type of integers that has its value
  //   kTooManyCalls       no stack left for one more suspended process (about 32,000)
  //   or the error that the process answered with.
  template <class R = NamedByRequest, class T>
  Result<AnswerOf<T, R>> Call(const Target& to, T&& request, const CallOptions& options = {}) {
    const PID* const pid = options.timeout.count() > 0 ? to.AsPID() : nullptr;
    auto envelope = MakeRequest(std::forward<T>(request), options, to);
    auto response = pid != nullptr ? CallEnvelope(*pid, std::move(envelope), options.timeout)
                                   : CallTarget(to, std::move(envelope), options);
    if (!response) return std::move(response.error());
    return detail::TakeAnswer<AnswerOf<T, R>>(**response);
  }
  template <class R = NamedByRequest, class T>
  Result<AnswerOf<T, R>> Call(const Target& to, T&& request, detail::BarePriority auto priority) {
    return CallWithPriority<R>(to, std::forward<T>(request), detail::Refuse(priority));
  }
  // As Call, with a request as important as a message of SendImportant. To another node it is a Call.
  template <class R = NamedByRequest, class T>
  Result<AnswerOf<T, R>> CallImportant(const Target& to, T&& request,
                                       const CallOptions& options = {}) {
    auto envelope = MakeRequest(std::forward<T>(request), options, to);
    envelope->flags |= core::Envelope::kFlagImportant;
    auto response = CallTarget(to, std::move(envelope), options);
    if (!response) return std::move(response.error());
    return detail::TakeAnswer<AnswerOf<T, R>>(**response);
  }
  template <class R = NamedByRequest, class T>
  Result<AnswerOf<T, R>> CallWithPriority(const Target& to, T&& request, MessagePriority priority) {
    return Call<R>(to, std::forward<T>(request), CallOptions{.priority = priority});
  }

  // Asks a process for the `items` (none: everything) that its HandleInspect and its behaviour return. An item also
  // asks for all keys that begin with it and a dot or colon. The process itself answers, between two messages, before
  // everything that waits.
  Result<Inspection> Inspect(const Target& to, std::vector<std::string> items = {},
                             const CallOptions& options = {});

  // Returns what Inspect returns as a struct of the behaviour's own, such as act::PoolStats. Returns kUnexpectedType if
  // the behaviour has no such struct.
  template <class T>
  Result<T> InspectAs(const Target& to, const CallOptions& options = {}) {
    auto response = CallTarget(to, detail::MakeInspection({}, core::TypeOf<T>()), options);
    if (!response) return std::move(response.error());
    return detail::TakeAnswer<T>(**response);
  }

  // Sends `value` after `delay`, 0 or more (else kIncorrect). `priority`: none: the sender's. The handle cancels the
  // send and says whether that was in time. If the send fails when the time has come, the message counts as dropped.
  // A delayed send of a process to its own PID is cancelled when the process ends.
  template <class T>
  Result<TimerHandle> SendAfter(const Target& to, T&& value, std::chrono::nanoseconds delay,
                                std::optional<MessagePriority> priority = std::nullopt) {
    auto kept = to.Kept();
    if (!kept) return std::move(kept.error());
    auto envelope =
        detail::MakeMessage(std::forward<T>(value), priority.value_or(DefaultPriority()), *kept);
    auto handle = SendEnvelopeAfter(*kept, envelope, delay);
    if (!handle) detail::GiveBack<T>(envelope, value);
    return handle;
  }

  // Sends a copy of `value` after each `period`, more than 0, until the handle cancels it, the calling process ends, or
  // the receiver ends if it was given as a PID or an alias of this node. The timers' thread makes the copies. After
  // Cancel no tick is handled: one that waits in a mailbox is skipped, and counted as expired. The n-th tick is due n
  // periods from now, without drift. At most one tick waits in a mailbox; those due meanwhile are left out. (Neither is
  // so with a receiver on another node, one that stashes ticks, or workers that get copies of them.) A tick without
  // room or receiver counts as dropped. `priority`: as of SendAfter. Ticks have the trace id that the process has now.
  template <class T>
  Result<TimerHandle> SendEvery(const Target& to, T&& value, std::chrono::nanoseconds period,
                                std::optional<MessagePriority> priority = std::nullopt) {
    static_assert(std::is_copy_constructible_v<StoredType<T>>, "each tick is a copy");
    auto kept = to.Kept();
    if (!kept) return std::move(kept.error());
    auto make = [value = StoredType<T>(std::forward<T>(value)), to = *kept, trace = Trace(),
                 lane = priority.value_or(DefaultPriority())] {
      return detail::MakeMessage(value, lane, to, trace);
    };
    return SendEnvelopesEvery(*kept, std::move(make), period);
  }

  // Sends an exit signal. It ends the receiver with `reason`, unless the receiver traps exits, the sender is not its
  // parent, and the reason is not Reason::Kill(): then the signal arrives there as a MessageExitPID.
  virtual Result<void> SendExit(const Target& to, Reason reason) = 0;

  // Answers a request whose handler returned NoReply(). Returns kResponseIgnored if the caller has stopped waiting.
  template <class T>
  Result<void> SendResponse(PID from, Ref ref, T&& value) {
    return SendResponseEnvelope(from, ref, detail::MakeResponse(std::forward<T>(value)));
  }
  Result<void> SendResponseError(PID from, Ref ref, Error error);

  // -- without types --
  [[nodiscard]] virtual Result<PID> Resolve(const Target& target) const = 0;  // whom it means now
  // Returns the priority of messages sent without one: normal, or what a process has set.
  [[nodiscard]] MessagePriority DefaultPriority() const noexcept { return default_priority_; }
  [[nodiscard]] virtual TraceId Trace() const { return 0; }  // likewise: none
  // An EnvelopePtr& is null afterwards, unless this fails.
  virtual Result<void> SendEnvelope(PID to, core::EnvelopePtr& envelope) = 0;
  virtual Result<void> SendEnvelopeOrWait(const Target& to, core::EnvelopePtr& envelope,
                                          std::chrono::nanoseconds timeout) = 0;
  virtual Result<core::EnvelopePtr> CallEnvelope(PID to, core::EnvelopePtr request,
                                                 std::chrono::nanoseconds timeout) = 0;
  virtual Result<void> SendResponseEnvelope(PID from, Ref ref, core::EnvelopePtr response) = 0;
  virtual Result<TimerHandle> SendEnvelopeAfter(const Target& to, core::EnvelopePtr& envelope,
                                                std::chrono::nanoseconds delay) = 0;
  virtual Result<TimerHandle> SendEnvelopesEvery(const Target& to,
                                                 std::function<core::EnvelopePtr()> make,
                                                 std::chrono::nanoseconds period) = 0;

 protected:
  void SetDefaultPriority(MessagePriority priority) noexcept { default_priority_ = priority; }
  void SetHasTrace(bool has_trace) noexcept { has_trace_ = has_trace; }

  template <class T>
  core::EnvelopePtr MakeRequest(T&& value, const CallOptions& options, const Target& to) const {
    return core::MakeEnvelopeWith<StoredType<T>>(
        {.tag = to.Tag(), .trace = has_trace_ && options.trace == 0 ? Trace() : options.trace},
        static_cast<std::uint8_t>(EnvelopeKind::kRequest),
        static_cast<core::Lane>(options.priority.value_or(DefaultPriority())),
        std::forward<T>(value));
  }
  template <class T>
  Result<void> SendOrGiveBack(const Target& to, core::EnvelopePtr envelope,
                              std::remove_reference_t<T>& value) {
    auto pid = Resolve(to);
    auto sent = pid ? SendEnvelope(*pid, envelope) : Result<void>(std::move(pid.error()));
    if (!sent) detail::GiveBack<T>(envelope, value);
    return sent;
  }
  template <class T>
  Result<void> SendOrGiveBack(PID to, core::EnvelopePtr envelope,
                              std::remove_reference_t<T>& value) {
    auto sent = SendEnvelope(to, envelope);
    if (!sent) [[unlikely]]
      detail::GiveBack<T>(envelope, value);
    return sent;
  }
  static Result<void> CheckTimeout(const CallOptions& options);
  Result<core::EnvelopePtr> CallTarget(const Target& to, core::EnvelopePtr request,
                                       const CallOptions& options);

 private:
  MessagePriority default_priority_ = MessagePriority::kNormal;
  bool has_trace_ = false;
};

}  // namespace ergon::gen
