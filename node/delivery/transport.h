// The way to other nodes: everything that is for a process of another node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/network.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

// Signals from one process to another arrive in the order in which they were given here. A connection that does not
// exist yet is made. When it is lost, or cannot be made, every link, monitor and request gets one signal, notice or
// error, with `noconnection`.
//
// Any thread. In all functions `local` is a process of this node, or the node itself (Addresses::NodePid), and `remote`
// is a process of another node, or for messages and requests also a name or an alias there.
class Transport {
 public:
  virtual ~Transport() = default;

  // Writes what waits, for three seconds at most, and closes all connections; links and monitors of other nodes get
  // noconnection there. Call it when all processes of the node have ended. Calling it twice has no effect.
  virtual void Close() = 0;
  // Returns kIncorrect, with a text that names it, for a name that no process of another node can be asked for by.
  [[nodiscard]] virtual gen::Result<void> CheckName(const gen::ProcessID& name) const = 0;
  // Returns what each connection does now, as lines of text for people.
  [[nodiscard]] virtual std::vector<std::string> Describe() const = 0;
  // Checks options of the network that are given while the node runs. Returns a function that applies and logs them,
  // and cannot fail; or kIncorrect, with a text that names the place, the key and the value. One caller at a time.
  [[nodiscard]] virtual gen::Result<std::function<void()>> PrepareChange(
      const std::vector<gen::NetworkOption>& options) = 0;

  // Sends a message or a request. Takes the envelope, or returns an error and leaves the envelope to the caller:
  // kUnsupported: the network does not know its type, or it is an important message, or a request that this node got
  // from another one; kIncorrect: it is larger than a frame may be; kBusy: too much waits for that node already.
  virtual gen::Result<void> Deliver(gen::PID remote, core::EnvelopePtr& envelope) = 0;
  // Sends a message and asks the receiver's node whether it is in the mailbox: `local` gets an empty answer to `id`, or
  // the error. The envelope, which may have another sender, stays the caller's in any case. Errors as Deliver, also for
  // a node that does not confirm messages.
  virtual gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message,
                                          gen::PID local, std::uint64_t id) = 0;
  // Gives `local` an empty answer to `id` when there is room again for messages to that node, or none is needed any
  // more; maybe at once.
  virtual void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) = 0;
  // Answers a request of `remote`. Returns kResponseIgnored if nobody waits for the answer.
  virtual gen::Result<void> Respond(gen::PID remote, std::uint64_t ref,
                                    core::EnvelopePtr response) = 0;
  [[nodiscard]] virtual bool IsAwaited(gen::PID remote, std::uint64_t ref) const = 0;

  // Links the two. `local` has noted the link, and forgets it by itself.
  virtual void Link(gen::PID local, gen::PID remote) = 0;
  virtual void Unlink(gen::PID local, gen::PID remote) = 0;
  // Sends the exit signal of `local`, which was linked with `remote`.
  virtual void Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) = 0;
  // Reports that `local` has linked itself with `remote`, a name or an alias there, under `ref`: `local` gets the exit
  // signal with `ref` (Relations::LoseLinkByName), unless it ends the link with Demonitor. Returns kUnsupported, and
  // sends nothing to `local`, if that node does not run Ergon.
  virtual gen::Result<void> LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
  // Sends the exit signal of `local`, which had made that link.
  virtual void ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                          const gen::Reason& reason) = 0;
  // Reports that the process here with which `maker` had linked itself by a name or an alias, and which knows the link
  // as `ref`, has ended it.
  virtual void EndLinkOf(gen::PID maker, gen::Ref ref) = 0;
  // Sends an exit signal by which `local` asks `remote` to end. `trace`: 0 for none.
  virtual gen::Result<void> ExitRequest(gen::PID local, gen::PID remote, const gen::Reason& reason,
                                        gen::TraceId trace) = 0;
  // Monitors `remote`, or a name there (IsName); `local` gets the notice with `ref`.
  virtual void Monitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
  virtual void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
};

}  // namespace ergon::node
