// What leaves a node: everything that is for a process of another one.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/foreign_aliases.h>

namespace ergon::node {

// A name that is registered on another node, as a PID that travels with envelopes: whose it is, only that node
// knows. No process has the creation 0. Aliases are such PIDs, too (foreign_aliases.h).
[[nodiscard]] inline gen::PID PidOfName(const gen::ProcessID& name) noexcept {
  return {name.name.Index(), name.node, 0};
}
[[nodiscard]] inline bool IsName(gen::PID pid) noexcept {
  return pid.creation == 0 && !IsAlias(pid);
}
[[nodiscard]] inline gen::ProcessID NameOf(gen::PID pid) noexcept {
  return {gen::Atom::FromIndex(static_cast<std::uint32_t>(pid.id)), pid.node};
}
// What such a PID was made of, or the PID itself.
[[nodiscard]] inline gen::Target TargetOf(gen::PID pid) noexcept {
  return IsName(pid) ? gen::Target(NameOf(pid)) : gen::Target(pid);
}
// For people: a process, a name or an alias of another node.
[[nodiscard]] inline std::string TextOf(gen::PID pid) {
  if (!IsAlias(pid)) return TargetOf(pid).ToString();
  const auto alias = ForeignAliasOf(pid);
  return alias ? alias->ToString() : "a former alias";
}

// Signals from one process to another one arrive in the order in which they were given here. A connection that is
// not there yet is made. When it is lost, or cannot be made, every link, monitor and request hears of it once, with
// `noconnection`.
//
// Any thread. In all functions `local` is a process of this node, or the node itself (Addresses::NodePid), and
// `remote` is one of another node, or for messages and requests also a name or an alias there.
class Border {
 public:
  virtual ~Border() = default;

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
  // `local` asks `remote` to end.
  virtual gen::Result<void> ExitRequest(gen::PID local, gen::PID remote,
                                        const gen::Reason& reason) = 0;
  // `local` watches `remote`, or a name there (IsName); it is told with `ref`.
  virtual void Monitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
  virtual void Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) = 0;
};

}  // namespace ergon::node
