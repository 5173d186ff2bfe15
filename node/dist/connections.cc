#include <ergon/node/dist/connections.h>

#include <mutex>
#include <optional>
#include <utility>

namespace ergon::dist {

std::shared_ptr<Connection> Connections::Find(gen::Atom node) const {
  std::shared_lock lock(mutex_);
  const auto found = connections_.find(node);
  return found == connections_.end() ? nullptr : found->second;
}

std::shared_ptr<Connection> Connections::Make(gen::Atom node) {
  auto made = std::make_shared<Connection>(node, context_, tasks_, settings_, listener_);
  connections_[node] = made;
  return made;
}

std::shared_ptr<Connection> Connections::Get(gen::Atom node) {
  if (auto found = Find(node)) return found;
  std::shared_ptr<Connection> made;
  {
    std::unique_lock lock(mutex_);
    if (closed_) return nullptr;
    const auto found = connections_.find(node);
    if (found != connections_.end()) return found->second;
    made = Make(node);
  }
  dial_(made);
  return made;
}

std::vector<std::shared_ptr<Connection>> Connections::All() const {
  std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [node, connection] : connections_) all.push_back(connection);
  return all;
}

void Connections::Remove(const Connection& connection) {
  std::unique_lock lock(mutex_);
  const auto found = connections_.find(connection.peer());
  if (found != connections_.end() && found->second.get() == &connection) connections_.erase(found);
}

void Connections::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
}

HandshakeAnswer Connections::AnswerTo(std::string_view peer) const {
  {
    std::shared_lock lock(mutex_);
    if (closed_) return HandshakeAnswer::kNotAllowed;
  }
  const std::optional<gen::Atom> node = gen::Atom::Find(peer);
  const auto known = node ? Find(*node) : nullptr;
  if (known == nullptr) return HandshakeAnswer::kOk;
  std::lock_guard lock(known->mutex());
  switch (known->state()) {
    case Connection::State::kConnecting:
      return GivesWayTo(peer) ? HandshakeAnswer::kOkSimultaneous : HandshakeAnswer::kNok;
    case Connection::State::kUp:
      return HandshakeAnswer::kAlive;
    case Connection::State::kDown:
      break;
  }
  return HandshakeAnswer::kOk;
}

void Connections::Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer) {
  const gen::Atom node(peer.name);
  std::shared_ptr<Connection> connection;
  std::shared_ptr<Connection> former;
  {
    std::unique_lock lock(mutex_);
    if (closed_) {
      stream->Close();
      return;
    }
    const auto found = connections_.find(node);
    if (found != connections_.end()) {
      std::lock_guard its_lock(found->second->mutex());
      if (found->second->state() == Connection::State::kConnecting) {
        connection = found->second;
      } else if (found->second->state() == Connection::State::kUp && !peer.replaces &&
                 !found->second->IsByPeer() && !GivesWayTo(peer.name)) {
        stream->Close();  // this node's attempt has come to an end meanwhile
        return;
      } else {
        former = found->second;
      }
    }
    if (connection == nullptr) connection = Make(node);
  }
  if (former != nullptr) former->Fail("the same node has connected anew");
  connection->Attach(std::move(stream), peer, true);
}

void Connections::AttachDialled(const std::shared_ptr<Connection>& connection,
                                std::shared_ptr<Stream> stream, const HandshakePeer& peer) {
  std::shared_ptr<Connection> next = connection;
  {
    std::unique_lock lock(mutex_);
    std::lock_guard its_lock(connection->mutex());
    // The peer's attempt has come to an end meanwhile.
    if (connection->state() == Connection::State::kUp && !closed_ && !GivesWayTo(peer.name)) {
      next = Make(connection->peer());
    }
  }
  if (next != connection) connection->Fail("the same node was connected anew");
  next->Attach(std::move(stream), peer, false);
}

}  // namespace ergon::dist
