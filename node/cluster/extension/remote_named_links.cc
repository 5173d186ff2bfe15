#include <ergon/node/cluster/extension/remote_named_links.h>

#include <cstdint>
#include <iterator>
#include <mutex>
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
    std::lock_guard lock(connection.mutex());
    const std::string raw(message.reference);
    if (!connection.relations().AddWatcher(number, {from, watched, {}, raw, true})) return;
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
  PeerState::Watcher watcher;
  std::uint64_t number = 0;
  {
    std::lock_guard lock(connection.mutex());
    PeerState& relations = connection.relations();
    const auto known = relations.watcher_numbers.find(std::string(message.reference));
    if (known == relations.watcher_numbers.end()) return;
    number = known->second;
    const auto found = relations.watchers.find(number);
    if (!found->second.is_link) return;
    watcher = std::move(found->second);
    relations.watcher_numbers.erase(known);
    relations.watchers.erase(found);
  }
  relations_.EndOfMaker(watcher.watched, addresses_.RefOf(number), watcher.remote,
                        ReadReason(message.term, &atoms_));
}

void RemoteNamedLinks::HandleUnlinked(Connection& connection, const ErgonMessage& message) {
  const auto number = OwnNumberIn(message.reference, addresses_.node(), addresses_.creation());
  if (!number) return;
  gen::PID local;
  {
    std::lock_guard lock(connection.mutex());
    auto& watches = connection.relations().watches;
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
    std::lock_guard lock(connection.mutex());
    auto& watches = connection.relations().watches;
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
