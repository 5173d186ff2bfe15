// Sending to groups of processes: what a process and a node have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/message.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// A group is a name for processes that are found together, as in OTP's pg. Processes join and leave it
// (Process::JoinGroup, Node::JoinGroup); nobody makes or deletes it: it is there while it has members.
//
// A process may be in many groups, and several times in one. Each time is a membership, which stands in
// GroupMembers, gets its own copy of what is sent to the group, has its turn in OneOf, and is left on its own.
//
// A process that ends leaves all its groups: after its Terminate, and before anybody who is linked to it, monitors it
// or waits for its end (Node::WaitProcess) learns of that. So they do not find it in a group any more.
//
// A name is an Atom: one of more than Atom::kMaxBytes throws std::length_error while that is made. A group's
// name and the registered name of a process have nothing to do with each other.
//
// Groups, GroupMembers and OneOf may be called from any thread; the others as Send.
class GroupMessenger : public Messenger {
 public:
  // The names of all groups that have members, in the order of their texts.
  [[nodiscard]] virtual std::vector<Atom> Groups() const = 0;
  // In the order of joining. Empty: nobody.
  [[nodiscard]] virtual std::vector<PID> GroupMembers(Atom group) const = 0;
  // The member whose turn it is: one after the other, in the order of joining, for all who ask together. Nobody is
  // left out or comes twice in a round while others join and leave. For requests:
  //
  //   auto worker = OneOf("thumbnails");
  //   if (worker) done = Call(*worker, Thumbnail{...});
  //
  //   kProcessUnknown  nobody is in the group
  //   kIncorrect       an empty name
  //   kNodeTerminated  the node has stopped
  [[nodiscard]] virtual Result<PID> OneOf(Atom group) = 0;

  // Sends a copy of `value` for each membership there is now, in the order of joining, and returns to how many it
  // was sent; 0 when nobody is there. A member with a full mailbox does not get it, which is counted, and one that
  // is just ending neither. The sender gets a copy, too, if it is a member. Of two senders' messages one member may
  // get the one first, another the other: see SendEvent for one order for all. What the copy constructor throws is
  // thrown, when some have got theirs already.
  //   kIncorrect       an empty name
  //   kNodeTerminated  the node has stopped
  template <class T>
  Result<std::size_t> SendToGroup(Atom group, T&& value) {
    static_assert(std::is_copy_constructible_v<StoredType<T>>, "each member gets a copy");
    const StoredType<T> kept(std::forward<T>(value));
    return SendEnvelopesToGroup(group, [&] { return MakeMessage(kept, DefaultPriority()); });
  }

  // Sends `value` to the member whose turn it is (OneOf), and returns who has got it. One that has no room, or is just
  // ending, is passed by: then those after it are tried, each once. Errors, after which nothing was sent, and an
  // rvalue is as before:
  //   kProcessMailboxFull  nobody takes it, and somebody is full
  //   kOverloaded, kProcessTerminated  nobody takes it: who was tried is a pool that refuses more, or is just ending
  //   or as OneOf, or Send
  template <class T>
  Result<PID> SendToOneOf(Atom group, T&& value) {
    auto envelope = MakeMessage(std::forward<T>(value), DefaultPriority());
    auto sent = SendEnvelopeToOneOf(group, envelope);
    if (!sent) [[unlikely]]
      detail::GiveBack<T>(envelope, value);
    return sent;
  }

  // -- without types --

  // `make` is called for each copy, on this thread.
  virtual Result<std::size_t> SendEnvelopesToGroup(
      Atom group, const std::function<core::EnvelopePtr()>& make) = 0;
  // `envelope` is null afterwards, unless this fails.
  Result<PID> SendEnvelopeToOneOf(Atom group, core::EnvelopePtr& envelope);
};

}  // namespace ergon::gen
