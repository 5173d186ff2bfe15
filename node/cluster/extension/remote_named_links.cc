#include <ergon/node/cluster/extension/remote_named_links.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {

void RemoteNamedLinks::HandleLink(Connection& connection, const ErgonMessage& message,
                                  gen::PID from, gen::PID watched) {
  const std::uint64_t number = node::NextUniqueId();
  {
    // First: a process that ends takes the entry away.
    const auto lock = connection.Lock();
    const PeerWatcher maker{number, from, watched, {}, true};
    if (!connection.peer_state().watchers.Add(maker, message.reference)) return;
  }
  node::ProcessCold::Watcher watcher{from, addresses_.RefOf(number), from, true};
  if (watched && !message.name.empty()) {
    watcher.what = gen::ProcessID{gen::Atom(message.name), addresses_.node()};
  } else if (watched && !message.alias.empty()) {
    const auto id = OwnNumberIn(message.alias, addresses_.node(), addresses_.creation());
    watcher.what = gen::Alias{*id, addresses_.node(), addresses_.creation()};
  }
  if (watched && relations_.AddWatcher(watcher, watched)) return;
  relations_.TellWatcher(watcher, gen::Reason::NoProcess());
}

void RemoteNamedLinks::HandleMakerEnd(Connection& connection, const ErgonMessage& message) {
  PeerWatcher watcher;
  {
    const auto lock = connection.Lock();
    PeerWatchers& watchers = connection.peer_state().watchers;
    const PeerWatcher* const found = watchers.FindByReference(message.reference);
    if (found == nullptr || !found->is_link) return;
    watcher = *found;
    (void)watchers.Erase(watcher.number);
  }
  relations_.EndOfMaker(watcher.watched, addresses_.RefOf(watcher.number), watcher.remote,
                        ReadReason(message.term, &atoms_));
}

void RemoteNamedLinks::HandleUnlinked(Connection& connection, const ErgonMessage& message) {
  const auto number = OwnNumberIn(message.reference, addresses_.node(), addresses_.creation());
  if (!number) return;
  gen::PID local;
  {
    const auto lock = connection.Lock();
    auto& watches = connection.peer_state().watches;
    const auto found = watches.find(*number);
    if (found == watches.end() || !found->second.is_link) return;
    local = found->second.local;
    watches.erase(found);
  }
  relations_.ForgetLinkByName(local, addresses_.RefOf(*number));
}

void RemoteNamedLinks::Refuse(Connection& connection) {
  std::vector<std::pair<std::uint64_t, gen::PID>> links;  // with their makers
  {
    const auto lock = connection.Lock();
    auto& watches = connection.peer_state().watches;
    for (auto at = watches.begin(); at != watches.end();) {
      if (at->second.is_link) links.emplace_back(at->first, at->second.local);
      at = at->second.is_link ? watches.erase(at) : std::next(at);
    }
  }
  const gen::Error error = NoErgonNode(PeerState::ErgonQuestion::kLink, connection.peer());
  for (const auto& [number, local] : links) {
    relations_.LoseLinkByName(local, addresses_.RefOf(number),
                              gen::Reason::Error(error.ToString()));
  }
}

}  // namespace ergon::dist
