#include <ergon/node/cluster/connection/connections.h>

#include <mutex>
#include <thread>
#include <utility>

namespace ergon::dist {

std::shared_ptr<Connection> Connections::Find(gen::Atom node) const {
  const Part& part = PartOf(node);
  std::lock_guard lock(*part.mutex);
  const auto found = part.connections.find(node);
  return found == part.connections.end() ? nullptr : found->second;
}

// No reference is counted: the table keeps the connection as long as the lock is held.
LockedConnection Connections::FindLocked(gen::Atom node) const {
  const Part& part = PartOf(node);
  std::unique_lock lock(*part.mutex);
  if (part.latest == nullptr || part.latest->peer() != node) {
    const auto found = part.connections.find(node);
    if (found == part.connections.end()) return {};
    part.latest = found->second.get();
  }
  return {*part.latest, std::move(lock)};
}

std::shared_ptr<Connection> Connections::Make(Part& part, gen::Atom node, bool is_dialled) {
  auto made = std::make_shared<Connection>(node, context_, tasks_, settings_, listener_, part.mutex,
                                           is_dialled);
  part.connections[node] = made;
  part.latest = nullptr;
  return made;
}

std::shared_ptr<Connection> Connections::Get(gen::Atom node) {
  Part& part = PartOf(node);
  std::shared_ptr<Connection> made;
  {
    std::lock_guard lock(*part.mutex);
    if (const auto found = part.connections.find(node); found != part.connections.end()) {
      return found->second;
    }
    if (part.closed) return nullptr;
    made = Make(part, node, true);
  }
  dial_(made);
  return made;
}

LockedConnection Connections::FindOrMake(gen::Atom node) {
  for (;; std::this_thread::yield()) {
    if (LockedConnection found = FindLocked(node)) {
      if (found->state() != Connection::State::kDown) return found;
      continue;  // it will not be in the table in a moment
    }
    if (Get(node) == nullptr) return {};
  }
}

std::vector<std::shared_ptr<Connection>> Connections::All() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (const Part& part : parts_) {
    std::lock_guard lock(*part.mutex);
    for (const auto& [node, connection] : part.connections) all.push_back(connection);
  }
  return all;
}

std::vector<std::string> Connections::Describe() const {
  std::vector<std::string> lines;
  for (const Part& part : parts_) {
    std::lock_guard lock(*part.mutex);
    for (const auto& [node, connection] : part.connections) {
      if (connection->state() != Connection::State::kDown) lines.push_back(connection->Describe());
    }
  }
  return lines;
}

void Connections::Remove(const Connection& connection) {
  Part& part = PartOf(connection.peer());
  std::lock_guard lock(*part.mutex);
  const auto found = part.connections.find(connection.peer());
  if (found != part.connections.end() && found->second.get() == &connection) {
    part.connections.erase(found);
    part.latest = nullptr;
  }
}

void Connections::Close() {
  for (Part& part : parts_) {
    std::lock_guard lock(*part.mutex);
    part.closed = true;
  }
}

bool Connections::IsOneTooMany(std::string_view peer) const {
  return names_.used() >= settings_.max_peer_names && !gen::Atom::Find(peer);
}

HandshakeAnswer Connections::AnswerTo(std::string_view peer) const {
  // The name of a peer that has not proved itself makes no atom.
  const gen::Atom node = gen::Atom::Find(peer).value_or(gen::Atom());
  const Part& part = PartOf(node);
  std::lock_guard lock(*part.mutex);
  if (part.closed || IsOneTooMany(peer)) return HandshakeAnswer::kNotAllowed;
  const auto known = part.connections.find(node);
  if (known == part.connections.end()) return HandshakeAnswer::kOk;
  switch (known->second->state()) {
    case Connection::State::kConnecting:
      if (!known->second->attempts().is_announced) return HandshakeAnswer::kOk;
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

std::optional<Connections::Claimed> Connections::Claim(const HandshakePeer& peer) {
  const auto name = names_.Make(peer.name);
  if (!name) return std::nullopt;  // it has become one too many since AnswerTo
  const gen::Atom node = *name;
  Part& part = PartOf(node);
  std::lock_guard lock(*part.mutex);
  if (part.closed) return std::nullopt;
  const auto found = part.connections.find(node);
  const auto connection = found == part.connections.end() ? Make(part, node, false) : found->second;
  if (Stays(*connection, peer)) return std::nullopt;
  if (connection->state() != Connection::State::kConnecting) return Claimed{};
  ++connection->attempts().claims;
  return Claimed{connection};
}

// Until a connection is up or down, nobody but the claims themselves changes their number.
bool Connections::Release(const Claimed& claimed) {
  if (claimed.connection == nullptr || !IsConnecting(*claimed.connection)) return false;
  --claimed.connection->attempts().claims;
  return true;
}

void Connections::LoseClaim(const Claimed& claimed) {
  if (Release(claimed)) AttachReserve(*claimed.connection, "its handshake has broken off");
}

void Connections::Announce(Connection& connection, bool is_announced) {
  if (IsConnecting(connection)) connection.attempts().is_announced = is_announced;
}

bool Connections::IsClaimed(Connection& connection) {
  const Connection::Attempts& attempts = connection.attempts();
  return !IsConnecting(connection) || attempts.claims != 0 || attempts.reserve != nullptr;
}

void Connections::Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer,
                         const Claimed& claimed) {
  (void)Release(claimed);
  const gen::Atom node(peer.name);
  std::shared_ptr<Connection> connection;
  std::shared_ptr<Connection> former;
  {
    Part& part = PartOf(node);
    std::lock_guard lock(*part.mutex);
    const auto found = part.connections.find(node);
    if (found != part.connections.end()) {
      if (found->second->state() == Connection::State::kConnecting) {
        connection = found->second;
      } else if (Stays(*found->second, peer)) {
        stream->Close();
        return;
      } else {
        former = found->second;
      }
    }
    if (part.closed) {
      stream->Close();
      return;
    }
    if (connection == nullptr) connection = Make(part, node, false);
  }
  if (former != nullptr) former->Fail("the same node has connected anew");
  if (connection->attempts().is_announced && !GivesWayTo(peer.name)) {
    Reserve(*connection, std::move(stream), peer);
  } else {
    connection->Attach(std::move(stream), peer, true);
  }
}

void Connections::AttachDialled(Connection& connection, std::shared_ptr<Stream> stream,
                                const HandshakePeer& peer) {
  Connection::Attempts& attempts = connection.attempts();
  attempts.is_dialling = attempts.is_announced = false;
  if (attempts.claims != 0 && GivesWayTo(peer.name)) {
    Reserve(connection, std::move(stream), peer);
  } else {
    connection.Attach(std::move(stream), peer, false);
  }
}

void Connections::FailToDial(Connection& connection, const std::string& why) {
  if (!IsConnecting(connection)) return;
  connection.attempts().is_dialling = connection.attempts().is_announced = false;
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
  return connection.Lock()->state() == Connection::State::kConnecting;
}

}  // namespace ergon::dist
