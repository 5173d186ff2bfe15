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
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/cluster/groups/peer_members.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/groups/group_transport.h>

namespace ergon::dist {

// On each node a process with the name of the scope speaks for the groups; on this node it is the node itself. When two
// of them meet, each tells the other all its members (kSync), and from then on who joins and leaves. Each monitors the
// other: when the other ends, or the connection, the members that it has told leave.
//
// An Erlang node asks nodes that connect for their groups, but not hidden ones. So this node asks on each connection,
// and again as long as there is no answer: pg may be started later than its node, and may be started anew.
//
// A state machine without sockets and clocks. Only the thread of the network knows and changes the members of other
// nodes; any thread adds to what is told to them.
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
    // Sends a signal to a node, as long as there is a connection. Any thread; it must not call back.
    std::function<void(gen::Atom node, const Signal& signal)> send;
    // Asks for a call of AskAgain after a while.
    std::function<void()> remind;
    // A message of that node was left out because it names a process of another node (see GroupMessage::of_another).
    std::function<void(gen::Atom node, gen::PID of_another)> not_believed{};
  };
  explicit ProcessGroups(Needs needs) : needs_(std::move(needs)) {}

  void Joined(gen::Atom group, gen::PID local) override;
  void Left(gen::Atom group, gen::PID local, std::size_t times) override;

  // -- the thread of the network --
  // There is a connection with that node, or none any more.
  void Connected(gen::Atom node);
  void Lost(gen::Atom node);
  // Handles a term for the process that speaks for the groups here. Returns false if it is not a message of groups.
  bool Handle(gen::Atom node, std::string_view term);
  // A monitor of this node tells of an end there. Returns false if its number is not that of a scope process.
  bool HandleDown(gen::Atom node, std::uint64_t number);
  // For tests: PeerMembers::Looks, of all nodes that are connected.
  [[nodiscard]] std::uint64_t Looks() const noexcept;
  // Asks the nodes that have not answered, and answers the nodes that had to wait. Returns false if there are none.
  bool AskAgain();

 private:
  // What is known of another node.
  struct Peer {
    explicit Peer(node::RemoteMembers& all) : members(all) {}

    gen::PID scope;             // the process that speaks for its groups; empty: not known
    std::uint64_t monitor = 0;  // the number of this node's monitor of that process
    bool has_answered = false;  // it has told who is in its groups
    bool has_left_out = false;  // a group whose name cannot be an atom here; the log says so
    // All members of this node are told once to each scope process. Should there be ever new ones, each has to wait for
    // the next AskAgain, and the last one is told.
    bool was_told_lately = false;
    bool is_to_be_told = false;
    PeerMembers members;
  };

  // `scope` speaks for the groups of the peer, maybe instead of another process.
  void Meet(gen::Atom node, Peer& peer, gen::PID scope);
  void HandleMessage(gen::Atom node, Peer& peer, const GroupMessage& message);
  // The scope process has ended: the members that it has told leave.
  void Forget(gen::Atom node, Peer& peer);
  void HandleSync(gen::Atom node, Peer& peer, const GroupMessage& message);
  struct KnownGroup {
    gen::Atom name;
    const std::vector<gen::PID>& pids;  // of the message
  };
  // Returns the groups of the message whose names may be atoms here. The log names another one once for each
  // connection.
  std::vector<KnownGroup> GroupsOf(gen::Atom node, Peer& peer, const GroupMessage& message);

  // Asks the peer for its members.
  void Ask(gen::Atom node, const Peer& peer);
  void SendSync(gen::Atom node, gen::PID scope);
  // Answers the scope process of the peer, which asks for the members here.
  void Answer(gen::Atom node, Peer& peer);
  // Returns whether all members fit into one message.
  [[nodiscard]] bool FitIntoOne() const;
  void SendTo(gen::Atom node, gen::PID scope, std::string_view payload);
  [[nodiscard]] std::string Reference(std::uint64_t number) const;

  const Needs needs_;

  // -- the thread of the network --
  std::map<gen::Atom, Peer> peers_;  // all nodes that are connected
  gen::LogLimit left_out_lines_;     // of peers that connect again and again

  // Signals are sent with this lock, so that each peer is told of all changes after its first kSync, in their
  // order. It comes behind the locks of groups, and before those of connections.
  std::mutex mutex_;
  MembersByGroup local_;
  std::map<gen::Atom, gen::PID> told_;  // who gets to know of changes, by node
  bool has_kept_one_ = false;           // a group whose name cannot be an atom in Erlang
};

}  // namespace ergon::dist
