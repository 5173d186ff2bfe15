#include <ergon/node/dist/connections.h>

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace ergon::dist {

std::shared_ptr<Connection> Connections::Find(gen::Atom node) const {
  std::shared_lock lock(mutex_);
  const auto found = connections_.find(node);
  return found == connections_.end() ? nullptr : found->second;
}

std::shared_ptr<Connection> Connections::Make(gen::Atom node, bool is_dialled) {
  auto made =
      std::make_shared<Connection>(node, context_, tasks_, settings_, listener_, is_dialled);
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
    made = Make(node, true);
  }
  dial_(made);
  return made;
}

// No reference is counted, as a rule: the table keeps the connection until its lock is held, and who takes it out of the
// table has had that lock before, to say that it is down. Who has to wait for the lock does not keep the table locked
// meanwhile: those who change the table would wait for all of them.
Connections::Locked Connections::Lock(gen::Atom node) {
  for (;; std::this_thread::yield()) {
    Locked found;
    {
      std::shared_lock lock(mutex_);
      const auto at = connections_.find(node);
      if (at != connections_.end()) {
        found.connection = at->second.get();
        found.lock = std::unique_lock(found.connection->mutex(), std::try_to_lock);
        if (!found.lock.owns_lock()) {
          found.kept = at->second;
        } else if (found.connection->state() != Connection::State::kDown) {
          return found;
        } else {
          found.lock.unlock();  // while the table keeps it
        }
      }
    }
    if (found.kept != nullptr) {
      found.lock.lock();
      if (found.connection->state() != Connection::State::kDown) return found;
    } else if (Get(node) == nullptr) {
      return {};
    }
    // There was none; or it is down, and will not be in the table in a moment.
  }
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

// Of a connection that is up, whether it stays although the peer has proved itself on another stream. The peer has not
// heard of the end of its attempt, or was restarted: then it does not.
bool Connections::Stays(const Connection& connection, const HandshakePeer& peer) {
  return connection.state() == Connection::State::kUp && !peer.replaces && !connection.IsByPeer() &&
         connection.peer_creation() == peer.creation;
}

bool Connections::Claim(const HandshakePeer& peer) {
  const gen::Atom node(peer.name);
  std::unique_lock lock(mutex_);
  if (closed_) return false;
  const auto found = connections_.find(node);
  const auto connection = found == connections_.end() ? Make(node, false) : found->second;
  std::lock_guard its_lock(connection->mutex());
  if (Stays(*connection, peer)) return false;
  if (connection->state() == Connection::State::kConnecting) {
    ++connection->attempts().claims;
  }
  return true;
}

void Connections::LoseClaim(const std::string& peer) {
  const auto connection = Find(gen::Atom(peer));
  if (connection == nullptr || !IsConnecting(*connection)) return;
  Connection::Attempts& attempts = connection->attempts();
  if (attempts.claims == 0) return;  // it was for a connection that is not this one
  --attempts.claims;
  AttachReserve(*connection, "its handshake has broken off");
}

bool Connections::IsClaimed(Connection& connection) {
  const Connection::Attempts& attempts = connection.attempts();
  return !IsConnecting(connection) || attempts.claims != 0 || attempts.reserve != nullptr;
}

void Connections::Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer) {
  const gen::Atom node(peer.name);
  std::shared_ptr<Connection> connection;
  std::shared_ptr<Connection> former;
  {
    std::unique_lock lock(mutex_);
    const auto found = connections_.find(node);
    if (found != connections_.end()) {
      std::lock_guard its_lock(found->second->mutex());
      if (found->second->state() == Connection::State::kConnecting) {
        connection = found->second;
      } else if (Stays(*found->second, peer)) {
        stream->Close();
        return;
      } else {
        former = found->second;
      }
    }
    if (closed_) {
      stream->Close();
      return;
    }
    if (connection == nullptr) connection = Make(node, false);
  }
  if (former != nullptr) former->Fail("the same node has connected anew");
  Connection::Attempts& attempts = connection->attempts();
  if (attempts.claims != 0) --attempts.claims;
  if (attempts.is_dialling && !GivesWayTo(peer.name)) {
    Reserve(*connection, std::move(stream), peer);
  } else {
    connection->Attach(std::move(stream), peer, true);
  }
}

void Connections::AttachDialled(Connection& connection, std::shared_ptr<Stream> stream,
                                const HandshakePeer& peer) {
  Connection::Attempts& attempts = connection.attempts();
  attempts.is_dialling = false;
  if (attempts.claims != 0 && GivesWayTo(peer.name)) {
    Reserve(connection, std::move(stream), peer);
  } else {
    connection.Attach(std::move(stream), peer, false);
  }
}

void Connections::FailToDial(Connection& connection, const std::string& why) {
  if (!IsConnecting(connection)) return;
  connection.attempts().is_dialling = false;
  AttachReserve(connection, why);
}

void Connections::Reserve(Connection& connection, std::shared_ptr<Stream> stream,
                          const HandshakePeer& peer) {
  Connection::Attempts& attempts = connection.attempts();
  attempts.reserve = std::move(stream);
  attempts.reserve_peer = peer;
}

void Connections::AttachReserve(Connection& connection, const std::string& why) const {
  Connection::Attempts& attempts = connection.attempts();
  if (attempts.reserve != nullptr) {
    const HandshakePeer peer = attempts.reserve_peer;
    connection.Attach(std::move(attempts.reserve), peer, !GivesWayTo(peer.name));
  } else if (!attempts.is_dialling && attempts.claims == 0) {
    connection.Fail(why);
  }
}

bool Connections::IsConnecting(Connection& connection) {
  std::lock_guard lock(connection.mutex());
  return connection.state() == Connection::State::kConnecting;
}

}  // namespace ergon::dist
