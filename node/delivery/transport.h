// What leaves a node: everything that is for a process of another one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/network.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

// Signals from one process to another one arrive in the order in which they were given here. A connection that is
// not there yet is made. When it is lost, or cannot be made, every link, monitor and request hears of it once, with
// `noconnection`.
//
// Any thread. In all functions `local` is a process of this node, or the node itself (Addresses::NodePid), and
// `remote` is one of another node, or for messages and requests also a name or an alias there.
class Transport {
 public:
  virtual ~Transport() = default;

  // Writes what waits, for a second at most, and closes all connections: links and monitors of other nodes are told
  // there. Call it when all processes of the node have ended. Calling it twice has no effect.
  virtual void Close() = 0;
  // Returns what each connection does now, as lines of text for people.
  [[nodiscard]] virtual std::vector<std::string> Describe() const = 0;
  // Looks at options of the network that are given while the node runs. Returns what puts them into effect and tells the
  // log, and cannot fail; or kIncorrect, with a text that names the place, the key and the value. One caller at a time.
  [[nodiscard]] virtual gen::Result<std::function<void()>> PrepareChange(
      const std::vector<gen::NetworkOption>& options) = 0;

  // A message, or a request. Takes the envelope, or says why not and leaves it to the caller: kUnsupported, its type is
  // not known to the network, or it is an important message, or a request that this node was asked by another one;
  // kIncorrect, it is larger than a frame may be; kBusy, there waits too much for that node already.
  virtual gen::Result<void> Deliver(gen::PID remote, core::EnvelopePtr& envelope) = 0;
  // A message of which its receiver's node says whether it is in the mailbox: `local` gets an empty answer to `id`, or
  // the error. The envelope, whose sender may be another one, is the caller's in any case. Errors as Deliver, also for a
  // node that does not say such things.
  virtual gen::Result<void> SendImportant(gen::PID remote, const core::Envelope& message,
                                          gen::PID local, std::uint64_t id) = 0;
  // When there is room again for messages to that node, or none is needed any more, `local` gets an empty answer to
  // `id`. Maybe at once.
  virtual void AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) = 0;
  // Answers a request of `remote`; kResponseIgnored when nobody waits.
  virtual gen::Result<void> Respond(gen::PID remote, std::uint64_t ref,
                                    core::EnvelopePtr response) = 0;
  [[nodiscard]] virtual bool IsAwaited(gen::PID remote, std::uint64_t ref) const = 0;

  // `local` has noted the link, and forgets it by itself.
  virtual void Link(gen::PID local, gen::PID remote) = 0;
  virtual void Unlink(gen::PID local, gen::PID remote) = 0;
  // `local` has ended, and was linked with `remote`.
  virtual void Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) = 0;
  // `local` has linked itself with `remote`, a name or an alias there, and has noted it as `ref`: it is told with that
  // (Relations::LoseLinkByName), unless it ends the link with Demonitor. kUnsupported, and it is told nothing: that node is
  // none of Ergon.
  virtual gen::Result<void> LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
  // `local` has ended, and had made that link.
  virtual void ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                          const gen::Reason& reason) = 0;
  // Who was linked with so by `maker`, and knows it as `ref`, has ended the link.
  virtual void EndLinkOf(gen::PID maker, gen::Ref ref) = 0;
  // `local` asks `remote` to end. `trace`: 0 for none.
  virtual gen::Result<void> ExitRequest(gen::PID local, gen::PID remote, const gen::Reason& reason,
                                        gen::TraceId trace) = 0;
  // `local` watches `remote`, or a name there (IsName); it is told with `ref`.
  virtual void Monitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
  virtual void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
};

}  // namespace ergon::node
