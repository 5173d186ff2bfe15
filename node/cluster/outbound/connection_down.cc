#include <ergon/node/cluster/outbound/connection_down.h>

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/error.h>
#include <ergon/gen/reason.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

void ConnectionDown::LogLoss(gen::Atom node, const Connection::Rest& rest) {
  const auto line =
      needs_.failures.LineOf(node, rest.why, rest.unsent, std::chrono::steady_clock::now());
  if (!line) return;
  if (rest.is_fault || line->unsent != 0) {
    gen::Log(needs_.log).Warning("{}", line->text);
  } else {
    gen::Log(needs_.log).Info("{}", line->text);
  }
}

// Whoever is not told waits for ever. So a program that has no memory to tell them ends.
void ConnectionDown::Handle(Connection& connection, const Connection::Rest& rest) noexcept {
  needs_.connections.Remove(connection);
  const gen::Atom node = connection.peer();
  try {
    LogLoss(node, rest);
  } catch (...) {  // a line less
  }
  if (rest.unsent != 0) {
    needs_.totals.lost_with_connections.Add(rest.unsent);
    needs_.drops.NoteLostConnection(rest.unsent);
  }
  needs_.groups.Lost(node);
  const gen::Error error(gen::ErrorCode::kNoConnection, fmt::format("{}: {}", node, rest.why));
  EndRelations(rest);
  for (const auto& [id, call] : rest.peer_state.calls) {
    needs_.delivery.RespondError(call.local, id, error);
  }
  needs_.events.Lost(node, rest.peer_state);
  needs_.messages.TellRoom(rest.waiters);
}

void ConnectionDown::EndRelations(const Connection::Rest& rest) {
  rest.peer_state.watchers.VisitAll([&](const PeerWatcher& watcher) {
    const gen::Ref ref = needs_.addresses.RefOf(watcher.number);
    if (watcher.is_link) {
      needs_.relations.LoseMaker(watcher.watched, ref, watcher.remote);
      return;
    }
    needs_.relations.RemoveWatcher(watcher.remote, watcher.watched, ref);
    needs_.code.EndOfWatcher(watcher.number);
  });
  for (const auto& [id, watch] : rest.peer_state.watches) {
    if (watch.is_link) {
      needs_.relations.LoseLinkByName(watch.local, needs_.addresses.RefOf(id),
                                      gen::Reason::NoConnection());
      continue;
    }
    needs_.relations.TellWatcher(
        {watch.local, needs_.addresses.RefOf(id), node::TargetOf(watch.remote)},
        gen::Reason::NoConnection(), rest.is_foreign);
  }
  rest.peer_state.links.VisitLinked(
      [&](gen::PID local, gen::PID remote) { EndLink(local, remote, rest.is_foreign); });
}

// The process may have unlinked itself meanwhile and made the link anew, through the next connection. That link stays:
// its other side knows it. LinkSender::Link notes it with the same lock. (Of a link that the process is just making,
// and that is not noted yet, it is told; then the link is there.)
void ConnectionDown::EndLink(gen::PID local, gen::PID remote, bool in_order) {
  core::EnvelopePtr signal =
      needs_.connections.WithOrNone(remote.node, [&](Connection* next) -> core::EnvelopePtr {
        if (next != nullptr && next->peer_state().links.IsLinked({local, remote})) return nullptr;
        return needs_.relations.TakeLostLink(local, remote, in_order);
      });
  if (signal != nullptr) needs_.exit_signals.Deliver(local, std::move(signal));
}

}  // namespace ergon::dist
