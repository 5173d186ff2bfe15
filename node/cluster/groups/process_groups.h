// The groups of this node as a part of those of its cluster, spoken as Erlang's module pg does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/cluster/groups/peer_members.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/groups/group_transport.h>

namespace ergon::dist {

// On each node a process, which has the name of the scope, speaks for the groups; here it is the node itself. Of two that
// know each other, each has told the other all members that it has (kSync), and tells it from then on who joins and
// leaves; and it monitors the other, whose end, or that of the connection, ends what it has told.
//
// An Erlang node asks those that connect for their groups, but not hidden ones. So this one asks on each connection,
// and again as long as there is no answer: pg may be started later than its node, and start anew.
//
// A state machine without sockets and clocks. What members there are of other nodes, only the thread of the network
// knows and changes; what is told there, any thread adds to.
class ProcessGroups final : public node::GroupTransport {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::RemoteMembers& members;
    AtomBudget& atoms;
    gen::LogSink& log;
    gen::PID self;  // the node
    std::size_t max_term_depth;
    std::size_t max_frame_bytes;
    // Appends a signal for a node, as long as there is a connection. Any thread; it must not call back.
    std::function<void(gen::Atom node, const Signal& signal)> send;
    // AskAgain is to be called after a while.
    std::function<void()> remind;
    // A message of that node was left out, since it names a process of another one (see GroupMessage::of_another).
    std::function<void(gen::Atom node, gen::PID of_another)> not_believed{};
  };
  explicit ProcessGroups(Needs needs) : needs_(std::move(needs)) {}

  void Joined(gen::Atom group, gen::PID local) override;
  void Left(gen::Atom group, gen::PID local, std::size_t times) override;

  // -- the thread of the network --
  // There is a connection with that node, or none any more.
  void Connected(gen::Atom node);
  void Lost(gen::Atom node);
  // A term for the one who speaks for the groups here. False: it is no message of another such one.
  bool Handle(gen::Atom node, std::string_view term);
  // A monitor of ours has told of an end there, by its number. False: it is none of these.
  bool HandleDown(gen::Atom node, std::uint64_t number);
  // For tests: PeerMembers::Looks, of all nodes that are connected.
  [[nodiscard]] std::uint64_t Looks() const noexcept;
  // Asks the nodes that have not answered, and answers those that have had to wait. False: there is none.
  bool AskAgain();

 private:
  // What is known of another node.
  struct Peer {
    explicit Peer(node::RemoteMembers& all) : members(all) {}

    gen::PID scope;             // who speaks for its groups; none: it is not known
    std::uint64_t monitor = 0;  // the number of ours
    bool has_answered = false;  // it has told who is in its groups
    bool has_left_out = false;  // a group whose name can be none here; it is in the log
    // All members of this node are told once to each scope process. Should there be ever new ones, each has to wait for
    // the next AskAgain, and the last one is told.
    bool was_told_lately = false;
    bool is_to_be_told = false;
    PeerMembers members;
  };

  // The peer is the process `scope`, maybe another one than before.
  void Meet(gen::Atom node, Peer& peer, gen::PID scope);
  void HandleMessage(gen::Atom node, Peer& peer, const GroupMessage& message);
  // It is not there any more, and nobody whom it has told of.
  void Forget(gen::Atom node, Peer& peer);
  void HandleSync(gen::Atom node, Peer& peer, const GroupMessage& message);
  struct KnownGroup {
    gen::Atom name;
    const std::vector<gen::PID>& pids;  // of the message
  };
  // Those of the message whose names are atoms, and may be ones here; others are told of once for each connection.
  std::vector<KnownGroup> GroupsOf(gen::Atom node, Peer& peer, const GroupMessage& message);

  // For its members.
  void Ask(gen::Atom node, const Peer& peer);
  void SendSync(gen::Atom node, gen::PID scope);
  // Its scope process asks for them.
  void Answer(gen::Atom node, Peer& peer);
  // All members, if they fit into one message.
  [[nodiscard]] bool FitIntoOne() const;
  void SendTo(gen::Atom node, gen::PID scope, std::string_view payload);
  [[nodiscard]] std::string Reference(std::uint64_t number) const;

  const Needs needs_;

  // -- the thread of the network --
  std::map<gen::Atom, Peer> peers_;  // all nodes that are connected

  // Signals are appended with it, so that each peer is told of the changes in their order, and of all of them that are
  // not in what it was told first. Behind the locks of groups, before those of connections.
  std::mutex mutex_;
  MembersByGroup local_;
  std::map<gen::Atom, gen::PID> told_;  // who gets to know of changes, by node
  bool has_kept_one_ = false;           // a group whose name is none in Erlang
};

}  // namespace ergon::dist
