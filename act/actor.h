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
// The handlers run one at a time, so that members need no lock, but not always on the same thread.
// They may block this process with Call and Sleep; other processes go on meanwhile. Override what
// is needed, as private members. An exception that leaves a handler ends the process with the
// reason "panic: <what> (handling <type of the message>)"; of an exception that is no std::exception, <what>
// is "an exception of type <type>". In Init and Terminate there is no message, and no such end of the text.
class Actor : public ProcessApi, protected SplitCallbacks {
 public:
  Actor();
  ~Actor() override;

 protected:
  // First, with the arguments of the spawn. Stop(reason) or an exception makes the spawn fail.
  virtual gen::Status Init(const gen::Args& args);

  // A message, a down notice, or an exit signal (if SetTrapExit(true)). `message` is valid until
  // this returns. The default logs a warning and goes on.
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;

  // A request; `from` waits for the answer, which may also be sent later, with `ref`
  // (gen::NoReply), by this process or by another one that has been given both. Should this process
  // end before, the caller is told so, unless the other one holds the request (HandOver). The default
  // logs a warning and answers the error kUnsupported.
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;

  // After SetSplitHandle(true), in place of those two for what was sent to the process's registered
  // name or to one of its aliases, which may have been deleted since. The defaults call those two.
  gen::Status HandleMessageName(gen::Atom name, gen::PID from, gen::Message& message) override;
  gen::Status HandleMessageAlias(gen::Alias alias, gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCallName(gen::Atom name, gen::PID from, gen::Ref ref,
                                 gen::Message& request) override;
  gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID from, gen::Ref ref,
                                  gen::Message& request) override;
  void SetSplitHandle(bool split) { split_handle_ = split; }
  [[nodiscard]] bool SplitHandle() const { return split_handle_; }

  // The outcome of a Request of this process, with the ref that it returned. `response` is valid
  // until this returns. The default logs it at debug level.
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;

  // A published value of an event that this process monitors. The default logs a warning.
  gen::Status HandleEvent(const gen::MessageEvent& event) override;

  // Tells those who look from outside how it is; empty `items`: everything. What is not asked for
  // (gen/inspection_items.h) is left out of the answer, so a handler may always tell everything. The
  // default: the fields of gen::ProcessInfo.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;

  // Last, exactly once, if Init has returned Continue() in time.
  virtual void Terminate(const gen::Reason& reason);

  // -- going on --

  // `return ContinueWith([this] { ... return gen::Continue(); });` in Init or a handler: the function is
  // called next, before any message or signal that waits; after HandleCall (ReplyAndContinue) when the
  // caller has its answer, after Init in its first turn, for which Spawn does not wait. For what takes
  // long, or may fail, and must not come between two others. It may return ContinueWith again, or Stop. It
  // is not called when the process is killed before. Only the result of Init, of a handler, or of such a
  // function counts: what calls ContinueWith and returns another goes on without.
  [[nodiscard]] gen::Status ContinueWith(std::function<gen::Status()> next) {
    Host().SetNext(std::move(next));
    return gen::Status::Next();
  }

  // When there was no message, request or event to handle for so long (or up to a quarter longer),
  // HandleIdle is called, and again after as long. What is stashed is something to handle. 0: never, as at
  // first. Each process with such a time has four timers of the node in that time. kIncorrect: a negative
  // time.
  gen::Result<void> SetIdleTimeout(std::chrono::nanoseconds idle);
  // The default ends the process with reason normal: who is not needed gives its memory back, and is
  // spawned again when it is (passivation). What arrives at that moment is not handled: its sender is told,
  // or it is counted.
  virtual gen::Status HandleIdle();

  // -- becoming something else --
  //
  // Another set of handlers takes the place of the actor's own, from the next message on. Where the
  // set has no function the actor's own handler is called, and always for events and inspections.
  // The handler that is running goes on to its end; it and what it has captured stay until then.
  //
  //   Become({.message = [this](gen::PID from, gen::Message& message) {
  //     return HandleWhileOpen(from, message);
  //   }});

  // In place of the current set, if there is one.
  void Become(HandlerSet handlers);
  // On top of it: Unbecome goes back to it.
  void BecomeStacked(HandlerSet handlers);
  // Back to the set before, or to the actor's own handlers. False: these are current.
  bool Unbecome();

 private:
  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  // Apart from the above, so that a plain message saves no registers for it.
  [[gnu::noinline]] gen::Status ProcessOther(core::Envelope& envelope);
  void ProcessTerminate(const gen::Reason& reason) final;

  HandlerStack handlers_;
  std::unique_ptr<IdleTime> idle_;  // null: not asked for
  bool initialized_ = false;
  bool split_handle_ = false;
};

}  // namespace ergon::act
