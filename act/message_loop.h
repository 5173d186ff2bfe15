// From an envelope to a handler: the one dispatch that all behaviours share.
#pragma once

#include <string>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/event.h>
#include <ergon/gen/exit_signal.h>
#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/message.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/response.h>
#include <ergon/gen/status.h>

namespace ergon::act {

// The handlers of a behaviour. They are called inside turns of the process, one at a time. An exception that
// leaves a handler ends the process with the reason "panic: <what>".
class Callbacks {
 public:
  virtual gen::Status HandleMessage(gen::PID from, gen::Message& message) = 0;
  virtual gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) = 0;
  virtual gen::Status HandleResponse(gen::Ref ref, gen::Response& response) = 0;
  virtual gen::Status HandleEvent(const gen::MessageEvent& event) = 0;
  virtual gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) = 0;

 protected:
  Callbacks() = default;
  Callbacks(const Callbacks&) = default;
  Callbacks& operator=(const Callbacks&) = default;
  ~Callbacks() = default;
};

// Calls the handler for one envelope and sends its answer:
//   kMessage, kDown, kExit   HandleMessage
//   kRequest                 HandleCall; its answer goes to the caller
//   kResponse, kError        HandleResponse
//   kEvent                   HandleEvent
//   kInspect                 HandleInspect; its result goes to the caller
// Other kinds belong to special behaviours and do nothing here. The handler may forward the envelope; then
// the caller of Dispatch must not touch it afterwards. `forwarded`, if not null, is set to whether the handler
// has forwarded or taken a request; for other kinds it stays as it is.
gen::Status Dispatch(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope,
                     bool* forwarded = nullptr);

// Does what Dispatch does, for behaviours with work of their own: pools and supervisors. If the handler of a
// request stops the process, the caller gets kProcessTerminated at once, because the end of such a behaviour
// may take a while.
gen::Status DispatchToUser(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope);

using gen::IsRequest;
using gen::ReasonOfExit;
using gen::RefOf;
using gen::SenderOf;

// Answers a kInspect envelope.
void AnswerInspection(gen::ProcessHost& host, const core::Envelope& envelope,
                      gen::Inspection inspection);

// -- what behaviours do with a message that no handler takes --

// The senders of such messages decide how many there are, so the log gets only some lines of a process in each period
// (gen::LogLimit). `lines` are the process's own; all three kinds count together.

// Logs a warning that names the type (gen::Message::Describe) and the sender; for a MessageDownEvent only a line at
// debug level.
gen::Status UnhandledMessage(gen::Process& process, gen::LimitedLines& lines, gen::PID from,
                             const gen::Message& message);
gen::Status UnhandledEvent(gen::Process& process, gen::LimitedLines& lines,
                           const gen::MessageEvent& event);
// Logs at debug level only: a process that makes requests without looking at the answers means it.
gen::Status UnhandledResponse(gen::Log log, gen::Ref ref, const gen::Response& response);
// Logs as UnhandledMessage and answers kUnsupported with the same text, so that the caller does not wait for its
// time-out.
gen::CallResult UnhandledRequest(gen::Process& process, gen::LimitedLines& lines, gen::PID from,
                                 const gen::Message& request);
// Logs, at the end of a process, how many lines were left out last.
void TellUnhandled(gen::Process& process, const gen::LimitedLines& lines);

}  // namespace ergon::act
