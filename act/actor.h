// A process with state and handlers: what most users derive from.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/become.h>
#include <ergon/act/message_loop.h>
#include <ergon/act/process_api.h>
#include <ergon/act/split_callbacks.h>

namespace ergon::act {

class IdleTime;

//   class Counter : public act::Actor {
//     gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
//       if (auto* add = message.As<Add>()) { value_ += add->amount; return gen::Continue(); }
//       return Actor::HandleMessage(from, message);  // logs what nobody handles
//     }
//     int value_ = 0;
//   };
//
// The handlers run one at a time, so members need no lock, but not always on the same thread. A handler
// may block this process with Call and Sleep; other processes go on meanwhile. Override the handlers that
// you need, as private members. An exception that leaves a handler ends the process with the reason
// "panic: <what> (handling <type of the message>)". <what> is the text of a std::exception or a gen::Error, or a text
// that was thrown; of others "an exception of type <type>". In Init and Terminate there is no message, and the reason
// has no "(handling ...)".
class Actor : public ProcessApi, protected SplitCallbacks {
 public:
  Actor();
  ~Actor() override;

 protected:
  // Called first, with the arguments of the spawn. Stop(reason) or an exception makes the spawn fail.
  virtual gen::Status Init(const gen::Args& args);

  // Handles a message, a down notice, or an exit signal (after SetTrapExit(true)). `message` is valid until
  // the handler returns. The default logs a warning, of which the log gets
  // some in each period (message_loop.h), and goes on.
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;

  // Handles a request. The caller `from` waits for the answer. After gen::NoReply() the answer may be sent
  // later, with `from` and `ref`, by this process or by another process that has been given both. If this
  // process ends without an answer, the caller gets an error, unless another process holds the request (HandOver).
  // The default logs likewise and answers the error kUnsupported.
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;

  // After SetSplitHandle(true), these four are called instead of HandleMessage and HandleCall for messages and
  // requests that were sent to the process's registered name or to one of its aliases. The alias may have been
  // deleted since. The defaults call HandleMessage and HandleCall.
  gen::Status HandleMessageName(gen::Atom name, gen::PID from, gen::Message& message) override;
  gen::Status HandleMessageAlias(gen::Alias alias, gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCallName(gen::Atom name, gen::PID from, gen::Ref ref,
                                 gen::Message& request) override;
  gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID from, gen::Ref ref,
                                  gen::Message& request) override;
  void SetSplitHandle(bool split) { split_handle_ = split; }
  [[nodiscard]] bool SplitHandle() const { return split_handle_; }

  // Handles the outcome of a Request of this process. `ref` is what Request returned. `response` is valid
  // until the handler returns. The default logs it at debug level.
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;

  // Handles a published value of an event that this process monitors. The default logs a warning, as HandleMessage.
  gen::Status HandleEvent(const gen::MessageEvent& event) override;

  // Returns a description of this process for an Inspect. Empty `items` ask for everything. Keys that are not
  // asked for (gen/inspection_items.h) are left out of the answer, so a handler may always return all its keys.
  // The default returns the fields of gen::ProcessInfo.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;

  // Called last, exactly once, if Init succeeded in time. The destructor runs later, when the process has ended: the
  // destructor may send; functions that wait, register or monitor return kProcessTerminated in it (Sleep: false).
  virtual void Terminate(const gen::Reason& reason);

  // -- going on --

  // Makes the process call `next` after this handler, before any message or signal that waits:
  // `return ContinueWith([this] { ... return gen::Continue(); });` in Init or a handler that returns a Status.
  // After HandleCall (ReplyAndContinue) `next` runs when the caller has its answer; after Init it runs in the
  // first turn, for which Spawn does not wait. Use it for work that takes long or may fail, and that no
  // message may precede. `next` may return ContinueWith again, or Stop. It is not called if the process is
  // killed before. Only the result of Init, of a handler, or of `next` counts: a handler that calls
  // ContinueWith and returns another status goes on without it.
  [[nodiscard]] gen::Status ContinueWith(std::function<gen::Status()> next) {
    Host().SetNext(std::move(next));
    return gen::Status::Next();
  }

  // Makes the process call HandleIdle when it had no message, request, event or notice of an end to handle for `idle`
  // (or up to a quarter longer), and again after each further `idle`. A stashed message counts as something to handle,
  // and so do requests that are without an outcome when the process looks, four times per `idle`: its own (Request),
  // and those of others that it has not answered yet.
  // 0 or gen::kInfinite: never, which is the default. A process with an idle time-out uses four timers of the
  // node, one after the other, per `idle`. Returns kIncorrect if `idle` is negative, and kNotAllowed elsewhere than in
  // the process's own handlers.
  gen::Result<void> SetIdleTimeout(std::chrono::nanoseconds idle);
  // Called after the idle time-out. The default ends the process with reason normal: a process that nobody
  // needs gives its memory back, and is spawned again when it is needed (passivation). A message that arrives
  // at that moment is not handled: its sender gets an error, or the message is counted.
  virtual gen::Status HandleIdle();

  // -- becoming something else --
  //
  // A set of handlers takes the place of the actor's own handlers, from the next message on. If the set
  // has no function for a message, the actor's own handler is called. Events and inspections always go to the
  // actor's own handlers. The handler that is running goes on to its end; it and its captures live until then.
  //
  //   Become({.message = [this](gen::PID from, gen::Message& message) {
  //     return HandleWhileOpen(from, message);
  //   }});

  // Replaces the current set, if there is one.
  void Become(HandlerSet handlers);
  // Puts `handlers` on top of the current set. Unbecome goes back to that set.
  void BecomeStacked(HandlerSet handlers);
  // Goes back to the set below, or to the actor's own handlers. Returns false if the actor's own handlers are
  // already current.
  bool Unbecome();

 private:
  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  // A separate function, so that the path of a plain message saves no registers for it.
  [[gnu::noinline]] gen::Status ProcessOther(core::Envelope& envelope);
  void ProcessTerminate(const gen::Reason& reason) final;

  HandlerStack handlers_;
  std::unique_ptr<IdleTime> idle_;  // null: not asked for
  bool initialized_ = false;
  bool split_handle_ = false;
};

}  // namespace ergon::act
