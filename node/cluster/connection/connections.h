// The connections of a node, by the name of the other one.
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
#include <vector>

#include <asio/io_context.hpp>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/handshake.h>
#include <ergon/node/erlang/terms/atom_budget.h>

namespace ergon::dist {

class Connections {
 public:
  // `dial` connects one that is new, and calls AttachDialled or FailToDial, on the thread of the network.
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
  // One that is not down, or was not a moment ago; it is made, and dialled, if there is none. Null: after Close.
  [[nodiscard]] std::shared_ptr<Connection> Get(gen::Atom node);
  // Calls `append` with the lock of such a connection, and returns what it does. kNodeTerminated: there are no
  // connections any more.
  template <class Append>
  gen::Result<void> With(gen::Atom node, const Append& append) {
    const Locked locked = Lock(node);
    return locked.connection == nullptr ? gen::Result<void>(gen::ErrNodeTerminated)
                                        : append(*locked.connection);
  }
  // Null: there is none.
  [[nodiscard]] std::shared_ptr<Connection> Find(gen::Atom node) const;
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> All() const;
  // It is down: the next Get makes another one.
  void Remove(const Connection& connection);
  // No more of them.
  void Close();

  // -- the thread of the network --
  // What is answered to a peer that connects: of two nodes that dial each other, the one with the greater name goes
  // on, as the protocol has it. An attempt of which the peer cannot have heard, in the pause after a failure or at EPMD,
  // is none: whoever cannot be dialled could not connect either as long as somebody here tries.
  [[nodiscard]] HandshakeAnswer AnswerTo(std::string_view peer) const;
  // That name would be one more than Settings::max_peer_names: the answer is kNotAllowed.
  [[nodiscard]] bool IsOneTooMany(std::string_view peer) const;
  // Two nodes that dial each other may nevertheless both come to an end, when one has heard of the other's attempt
  // before it began with its own. So that both keep the same attempt, and nothing is sent by the other one, the node
  // with the lesser name decides: what it has first. The other node keeps a proved stream of the peer's in reserve
  // until its own attempt has ended.
  //
  // That of one handshake of a peer that has dialled.
  struct Claimed {
    std::shared_ptr<Connection> connection = nullptr;  // which waits for it; null: none
  };
  // A peer that has dialled has proved itself, and is told so if there is something: then Attach or LoseClaim follows.
  [[nodiscard]] std::optional<Claimed> Claim(const HandshakePeer& peer);
  void LoseClaim(const Claimed& claimed);
  void Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer, const Claimed& claimed);
  // Whether the peer has come already while this node dials it.
  [[nodiscard]] static bool IsClaimed(Connection& connection);
  // The peer hears of this node's attempt from now on, or not any more: it has refused it, and goes on with its own.
  static void Announce(Connection& connection, bool is_announced);
  // This node has dialled for `connection`, and the peer has proved itself.
  void AttachDialled(Connection& connection, std::shared_ptr<Stream> stream,
                     const HandshakePeer& peer);
  // This node's attempt has failed, which ends the connection if there is no other.
  void FailToDial(Connection& connection, const std::string& why);

 private:
  // The table has parts, each with a lock that is also the lock of all connections in it: a message takes one lock to
  // find its connection and to use the connection.
  static constexpr std::size_t kParts = 64;
  struct Part {
    // Shared with the connections, which may be there longer.
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
    std::unordered_map<gen::Atom, std::shared_ptr<Connection>> connections;
    bool closed = false;
  };
  struct Locked {
    Connection* connection = nullptr;
    std::unique_lock<std::mutex> lock{};
  };
  [[nodiscard]] Part& PartOf(gen::Atom node) { return parts_[node.Index() % kParts]; }
  [[nodiscard]] const Part& PartOf(gen::Atom node) const { return parts_[node.Index() % kParts]; }
  // See With. Null: after Close.
  Locked Lock(gen::Atom node);
  // With the lock of the part.
  std::shared_ptr<Connection> Make(Part& part, gen::Atom node, bool is_dialled);
  // Of both attempts that of the peer counts.
  [[nodiscard]] bool GivesWayTo(std::string_view peer) const {
    return settings_.node.Text() < peer;
  }
  // With the connection's lock.
  [[nodiscard]] static bool Stays(const Connection& connection, const HandshakePeer& peer);
  [[nodiscard]] static bool IsConnecting(Connection& connection);
  // Whether `claimed` was one of a connection that has still to come about, which it is no more.
  static bool Release(const Claimed& claimed);
  static void Reserve(Connection& connection, std::shared_ptr<Stream> stream,
                      const HandshakePeer& peer);
  // One attempt has ended: the other one goes on, or there is none.
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
