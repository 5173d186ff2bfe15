// The connections of a node, by the name of the other node.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/locked_connection.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/handshake.h>
#include <ergon/node/erlang/terms/atom_budget.h>

namespace ergon::dist {

class Connections {
 public:
  // `dial` connects a new connection, and calls AttachDialled or FailToDial, on the thread of the network.
  Connections(asio::io_context& context, Tasks& tasks, const Settings& settings,
              const Connection::Listener& listener,
              std::function<void(std::shared_ptr<Connection>)> dial)
      : context_(context),
        tasks_(tasks),
        settings_(settings),
        listener_(listener),
        dial_(std::move(dial)),
        names_(settings.max_peer_names) {}

  // -- any thread --
  // Returns a connection that is not down, or was not a moment ago. Makes and dials one if there is none. Returns null
  // after Close.
  [[nodiscard]] std::shared_ptr<Connection> Get(gen::Atom node);
  // Calls `use` with such a connection and its lock, and returns what `use` returns. Returns kNodeTerminated after
  // Close.
  template <class Use>
  gen::Result<void> With(gen::Atom node, const Use& use) {
    const LockedConnection locked = Lock(node);
    return locked ? use(*locked) : gen::Result<void>(gen::ErrNodeTerminated);
  }
  // Returns null if there is no connection.
  [[nodiscard]] std::shared_ptr<Connection> Find(gen::Atom node) const;
  // Returns the connection and its lock; none if there is no connection. If it is down, its peer_state() is empty, and
  // what is sent is lost.
  [[nodiscard]] LockedConnection FindLocked(gen::Atom node) const;
  // Calls `use` with the connection and its lock, or with null if there is none: then none is made meanwhile. Returns
  // what `use` returns.
  template <class Use>
  auto WithOrNone(gen::Atom node, const Use& use) const {
    const Part& part = PartOf(node);
    std::lock_guard lock(*part.mutex);
    const auto found = part.connections.find(node);
    return use(found == part.connections.end() ? nullptr : found->second.get());
  }
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> All() const;
  // See node::Transport::Describe.
  [[nodiscard]] std::vector<std::string> Describe() const;
  // Removes a connection that is down. The next Get makes another one.
  void Remove(const Connection& connection);
  // Ends the making of connections for good.
  void Close();

  // -- the thread of the network --
  // Returns the answer to a peer that connects. Of two nodes that dial each other, the node with the greater name goes
  // on, as the protocol says. An attempt of this node that the peer cannot know of, in the pause after a failure or at
  // EPMD, does not count: else a peer that cannot be dialled could not connect either while this node tries.
  [[nodiscard]] HandshakeAnswer AnswerTo(std::string_view peer) const;
  // Returns whether the name would be one more than Settings::max_peer_names; then the answer is kNotAllowed.
  [[nodiscard]] bool IsOneTooMany(std::string_view peer) const;
  // Both attempts of two nodes that dial each other may nevertheless succeed, when one node has heard of the other's
  // attempt before it began its own. Both nodes have to keep the same attempt, and nothing may be sent on the other
  // one. So the node with the lesser name decides: it keeps the attempt that succeeds first. The other node keeps a
  // proved stream of the peer in reserve until its own attempt has ended.
  //
  // The claim of one handshake of a peer that has dialled.
  struct Claimed {
    std::shared_ptr<Connection> connection = nullptr;  // that waits for the claim; null: none
  };
  // Claims a connection for a peer that has dialled and proved itself. If there is a result, the peer is told that it
  // has succeeded, and Attach or LoseClaim follows.
  [[nodiscard]] std::optional<Claimed> Claim(const HandshakePeer& peer);
  void LoseClaim(const Claimed& claimed);
  void Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer, const Claimed& claimed);
  // Returns whether the peer has connected already, while this node was dialling it.
  [[nodiscard]] static bool IsClaimed(Connection& connection);
  // Notes whether the peer knows of this node's attempt from now on. It does not any more when it has refused the
  // attempt and goes on with its own.
  static void Announce(Connection& connection, bool is_announced);
  // Takes the stream of an attempt of this node, on which the peer has proved itself.
  void AttachDialled(Connection& connection, std::shared_ptr<Stream> stream,
                     const HandshakePeer& peer);
  // Notes that this node's attempt has failed. This ends the connection if there is no other attempt.
  void FailToDial(Connection& connection, const std::string& why);

 private:
  // The table has parts, each with a lock that is also the lock of all connections in it: a message takes one lock to
  // find its connection and to use the connection.
  static constexpr std::size_t kParts = 64;
  struct Part {
    // Shared with the connections, which may live longer.
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
    std::unordered_map<gen::Atom, std::shared_ptr<Connection>> connections;
    mutable Connection* latest = nullptr;  // of these, found last; null: look for it
    bool closed = false;
  };
  [[nodiscard]] Part& PartOf(gen::Atom node) { return parts_[node.Index() % kParts]; }
  [[nodiscard]] const Part& PartOf(gen::Atom node) const { return parts_[node.Index() % kParts]; }
  // See With. None: after Close. A stream of messages to one node does not look for it each time.
  LockedConnection Lock(gen::Atom node) {
    Part& part = PartOf(node);
    {
      std::unique_lock lock(*part.mutex);
      Connection* const latest = part.latest;
      if (latest != nullptr && latest->peer() == node &&
          latest->state() != Connection::State::kDown) [[likely]] {
        return {*latest, std::move(lock)};
      }
    }
    return FindOrMake(node);
  }
  LockedConnection FindOrMake(gen::Atom node);
  // With the lock of the part.
  std::shared_ptr<Connection> Make(Part& part, gen::Atom node, bool is_dialled);
  // Returns whether the attempt of the peer counts, of both attempts.
  [[nodiscard]] bool GivesWayTo(std::string_view peer) const {
    return settings_.node.Text() < peer;
  }
  // With the connection's lock.
  [[nodiscard]] static bool Stays(const Connection& connection, const HandshakePeer& peer);
  [[nodiscard]] static bool IsConnecting(Connection& connection);
  // Gives a claim back. Returns whether its connection is still to be made.
  static bool Release(const Claimed& claimed);
  static void Reserve(Connection& connection, std::shared_ptr<Stream> stream,
                      const HandshakePeer& peer);
  // Goes on with the stream in reserve after the end of the other attempt, or fails if there is none.
  void AttachReserve(Connection& connection, const std::string& why) const;

  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  const Connection::Listener& listener_;
  const std::function<void(std::shared_ptr<Connection>)> dial_;
  std::array<Part, kParts> parts_;
  AtomBudget names_;  // of peers that have dialled, and proved themselves
};

}  // namespace ergon::dist
