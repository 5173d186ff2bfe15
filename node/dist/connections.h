// The connections of a node, by the name of the other one.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <asio/io_context.hpp>

#include <ergon/gen/atom.h>
#include <ergon/node/dist/connection.h>
#include <ergon/node/dist/handshake.h>
#include <ergon/node/dist/settings.h>
#include <ergon/node/dist/stream.h>

namespace ergon::dist {

class Connections {
 public:
  // `dial` connects one that is new, and calls its Attach or Fail, on the thread of the network.
  Connections(asio::io_context& context, Tasks& tasks, const Settings& settings,
              const Connection::Listener& listener,
              std::function<void(std::shared_ptr<Connection>)> dial)
      : context_(context),
        tasks_(tasks),
        settings_(settings),
        listener_(listener),
        dial_(std::move(dial)) {}

  // -- any thread --
  // One that is not down, or was not a moment ago; it is made, and dialled, if there is none. Null: after Close.
  [[nodiscard]] std::shared_ptr<Connection> Get(gen::Atom node);
  // Null: there is none.
  [[nodiscard]] std::shared_ptr<Connection> Find(gen::Atom node) const;
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> All() const;
  // It is down: the next Get makes another one.
  void Remove(const Connection& connection);
  // No more of them.
  void Close();

  // -- the thread of the network --
  // What is answered to a peer that connects: of two nodes that dial each other, the one with the greater name goes
  // on, as the protocol has it.
  [[nodiscard]] HandshakeAnswer AnswerTo(std::string_view peer) const;
  //
  // Two nodes that dial each other may both come to an end, when one has heard of the other's attempt before it began
  // with its own. Then both keep the attempt of the one with the greater name.
  //
  // A peer has dialled, and has proved itself on this stream.
  void Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer);
  // This node has dialled for `connection`, and the peer has proved itself.
  void AttachDialled(const std::shared_ptr<Connection>& connection, std::shared_ptr<Stream> stream,
                     const HandshakePeer& peer);

 private:
  std::shared_ptr<Connection> Make(gen::Atom node);  // with the lock
  // Of both attempts that of the peer counts.
  [[nodiscard]] bool GivesWayTo(std::string_view peer) const {
    return settings_.node.Text() < peer;
  }

  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  const Connection::Listener& listener_;
  const std::function<void(std::shared_ptr<Connection>)> dial_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<gen::Atom, std::shared_ptr<Connection>> connections_;
  bool closed_ = false;
};

}  // namespace ergon::dist
