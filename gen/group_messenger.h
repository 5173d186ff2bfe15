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

// A group is a name for processes that are found together, as in OTP's pg. Processes join and leave a group
// (Process::JoinGroup, Node::JoinGroup). A group is neither made nor deleted: it exists while it has members.
//
// A process may be in many groups, and several times in one. Each time is a membership, which appears in GroupMembers,
// gets its own copy of what is sent to the group, has its turn in OneOf, and is left on its own.
//
// A process that ends leaves all its groups: after its Terminate, and before any process that is linked to it, monitors
// it or waits for its end (Node::WaitProcess) learns of the end. So these do not find it in a group any more.
//
// A name is an Atom: making an Atom of more than Atom::kMaxBytes throws std::length_error. The name of a group and the
// registered name of a process have nothing to do with each other.
//
// Groups, GroupMembers and OneOf may be called from any thread; the other functions as Send.
class GroupMessenger : public Messenger {
 public:
  // Returns the names of all groups that have members, in the order of their texts.
  [[nodiscard]] virtual std::vector<Atom> Groups() const = 0;
  // Returns the members in the order of joining; empty if there are none.
  [[nodiscard]] virtual std::vector<PID> GroupMembers(Atom group) const = 0;
  // Returns the member whose turn it is: one after the other, in the order of joining, for all callers together. No
  // member is left out or comes twice in a round while others join and leave. For requests:
  //
  //   auto worker = OneOf("thumbnails");
  //   if (worker) done = Call(*worker, Thumbnail{...});
  //
  //   kProcessUnknown  the group has no members
  //   kIncorrect       an empty name
  //   kNodeTerminated  the node has stopped
  [[nodiscard]] virtual Result<PID> OneOf(Atom group) = 0;

  // Sends a copy of `value` for each membership there is now, first to members on other nodes, then to those here, each
  // in the order of joining, and returns how many copies were sent; 0 when the group has no members. A copy that its
  // member does not take is counted as dropped: its mailbox is full, or it is a pool that has too much to do. One that
  // is just ending gets none. The sender gets a copy, too, if it is a member. If two processes send to a group, its
  // members may get the two messages in different orders; SendEvent has one order for all. An exception of the copy
  // constructor is thrown on; some members may have their copies by then.
  //   kIncorrect       an empty name
  //   kNodeTerminated  the node has stopped
  template <class T>
  Result<std::size_t> SendToGroup(Atom group, T&& value) {
    static_assert(std::is_copy_constructible_v<StoredType<T>>, "each member gets a copy");
    const StoredType<T> kept(std::forward<T>(value));
    return SendEnvelopesToGroup(group,
                                [&] { return detail::MakeMessage(kept, DefaultPriority()); });
  }

  // Sends `value` to the member whose turn it is (OneOf), and returns the member that has got it. A member that has no
  // room, or is just ending, is skipped: then the members after it are tried, each once. Errors, after which nothing
  // was sent, and an rvalue is as before:
  //   kProcessMailboxFull  no member takes it, and at least one is full
  //   kOverloaded, kProcessTerminated  no member takes it: the one tried is a pool that refuses more, or is just ending
  //   or as OneOf, or Send
  template <class T>
  Result<PID> SendToOneOf(Atom group, T&& value) {
    auto envelope = detail::MakeMessage(std::forward<T>(value), DefaultPriority());
    auto sent = SendEnvelopeToOneOf(group, envelope);
    if (!sent) [[unlikely]]
      detail::GiveBack<T>(envelope, value);
    return sent;
  }

  // -- without types --

  // Sends what `make` returns. `make` is called for each copy, on this thread.
  virtual Result<std::size_t> SendEnvelopesToGroup(
      Atom group, const std::function<core::EnvelopePtr()>& make) = 0;
  // Sends an envelope. `envelope` is null afterwards, unless this fails.
  Result<PID> SendEnvelopeToOneOf(Atom group, core::EnvelopePtr& envelope);
};

}  // namespace ergon::gen
