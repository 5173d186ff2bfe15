// Process groups: their members, and the processes that monitor them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/groups/group_transport.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// A membership stands in its group and in the notes of its process (ProcessCold::GroupNotes). Both change under the
// group's lock, so that a process that ends finds its membership in the group, or never gets it. Under the same lock
// notices are sent to the processes that monitor the group: their notices come in the order of the changes, and none
// between a change and the members that MonitorGroup returns.
//
// A member of another node stands in its group only; the transport, which has added it, removes it when it has left,
// has ended, or cannot be reached any more.
//
// The lock of a group comes before that of a process's cold part, before that of all groups, and before those of the
// transport.
//
// Any thread; a slot is that of the process whose turn it is.
class Groups final : public RemoteMembers {
 public:
  // All of them outlive this.
  Groups(const Addresses& addresses, Delivery& delivery)
      : addresses_(addresses), delivery_(delivery) {}
  // Sets the transport, before there are processes. Null: there are no other nodes.
  void SetTransport(GroupTransport* transport) noexcept { transport_ = transport; }

  gen::Result<void> Join(gen::Atom name, gen::PID pid);
  gen::Result<void> Leave(gen::Atom name, gen::PID pid);
  [[nodiscard]] std::vector<gen::PID> Members(gen::Atom name) const;
  [[nodiscard]] std::vector<gen::Atom> Names() const;
  // What an observer shows of a group.
  struct Info {
    gen::Atom name;
    std::size_t members_in_all = 0;
    std::size_t members_here = 0;   // of this node
    std::vector<gen::PID> members;  // the first that have joined
  };
  // Returns the first `most` groups in the order of their names, each with up to `most_members` of its members, and how
  // many groups there are. It copies no more members than that.
  [[nodiscard]] std::pair<std::vector<Info>, std::size_t> Infos(std::size_t most,
                                                                std::size_t most_members) const;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom name);

  // Sends to all members. Calls `make` for each copy, and `count` for each copy that is received, or dropped and
  // counted. Returns how many were received. Returns kUnsupported or kIncorrect if there are members on other nodes, to
  // which such a message cannot go; then no member has got it.
  gen::Result<std::size_t> Send(gen::PID from, gen::Atom name,
                                const std::function<core::EnvelopePtr()>& make,
                                const std::function<void()>& count) const;

  gen::Result<std::vector<gen::PID>> Monitor(ProcessSlot& self, gen::Atom name);
  gen::Result<void> Demonitor(ProcessSlot& self, gen::Atom name);
  // Returns whether a notice with this id belongs to a monitor that still exists.
  [[nodiscard]] static bool IsMonitoredAs(ProcessSlot& self, std::uint64_t id);

  // Removes a process that has ended from its groups, which `notes` lists; no thread can change them any more.
  void Release(gen::PID pid, const ProcessCold::GroupNotes& notes);

  std::vector<std::uint64_t> JoinFromAfar(gen::Atom name,
                                          const std::vector<gen::PID>& remote) override;
  void LeaveFromAfar(gen::Atom name, const std::vector<std::uint64_t>& memberships) override;

 private:
  using PIDs = std::vector<gen::PID>;
  struct Group {
    std::mutex mutex;                            // of what follows
    bool ended = false;                          // it was empty, and was removed from the groups
    std::map<std::uint64_t, gen::PID> members;   // by number, that is in the order of joining
    std::size_t members_here = 0;                // of these, the processes of this node
    std::uint64_t newest = 0;                    // the number of the last one that has joined
    std::uint64_t last = 0;                      // the number of the one whose turn it was
    std::map<std::uint64_t, gen::PID> monitors;  // by the unique id of their notices
    // A copy for those that send to all, or look at all, without the lock. Null: to be made anew.
    std::shared_ptr<const PIDs> snapshot;
  };
  // A group that has not ended, with its lock; or no group.
  struct Locked {
    std::shared_ptr<Group> group;
    std::unique_lock<std::mutex> lock;  // released first
  };

  [[nodiscard]] Locked Find(gen::Atom name) const;
  [[nodiscard]] Locked FindOrMake(gen::Atom name);
  [[nodiscard]] std::shared_ptr<const PIDs> MembersOf(gen::Atom name) const;
  [[nodiscard]] static std::shared_ptr<const PIDs> MembersOf(Group& group);  // with its lock
  // Ends the group if it is empty. Call it when a member or a monitor was removed.
  void EndIfEmpty(gen::Atom name, Group& group);
  // Returns the groups that have members, in any order: others are only monitored.
  [[nodiscard]] std::vector<std::pair<gen::Atom, std::shared_ptr<Group>>> WithMembers() const;
  // For the processes that monitor the group. With the group's lock, as Tell: made before the group changes, so that
  // what throws for want of memory has changed nothing.
  using Notices = std::vector<std::pair<gen::PID, core::EnvelopePtr>>;
  template <class Notice>
  [[nodiscard]] Notices MakeNotices(gen::Atom name, const Group& group, const PIDs& pids) const;
  void Tell(Notices notices) const;
  void EndMonitor(gen::Atom name, std::uint64_t id);
  [[nodiscard]] bool IsRemote(gen::PID pid) const noexcept { return pid.node != addresses_.node(); }

  const Addresses& addresses_;
  Delivery& delivery_;
  GroupTransport* transport_ = nullptr;
  mutable std::shared_mutex mutex_;
  std::unordered_map<gen::Atom, std::shared_ptr<Group>> groups_;
};

}  // namespace ergon::node
