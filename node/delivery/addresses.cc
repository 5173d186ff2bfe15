#include <ergon/node/delivery/addresses.h>

#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

gen::Ref Addresses::MakeRef() const { return RefOf(NextUniqueId()); }

gen::Result<gen::PID> Addresses::Resolve(const gen::Target& target) const {
  if (const auto* pid = target.AsPID()) return *pid;
  if (IsStopped()) return gen::ErrNodeTerminated;
  gen::PID found;
  if (const auto* name = target.AsProcessID()) {
    if (!name->node.empty() && name->node != node_) {
      const gen::PID there = PidOfName(*name);
      const Transport* const transport = TransportTo(there);
      if (transport == nullptr || name->name.empty()) return WhyUnreachable(there);
      auto checked = transport->CheckName(*name);
      if (!checked) return std::move(checked.error());
      return there;
    }
    found = names_.Find(name->name);
  } else if (const std::string* text = target.AsUnknownName()) {
    auto checked = target.Check();
    if (!checked) return std::move(checked.error());
    const std::optional<gen::Atom> atom = gen::Atom::Find(*text);  // it may be known by now
    if (atom) found = names_.Find(*atom);
  } else {
    const gen::Alias& alias = *target.AsAlias();
    if (alias.node == node_) {
      if (alias.creation == creation_) found = aliases_.Find(alias.id);
    } else if (!alias.node.empty()) {
      if (transport_ == nullptr) return WhyUnreachable({alias.id, alias.node, alias.creation});
      found = PidOfAlias(alias);
    }
  }
  if (!found) return gen::Error(gen::ErrorCode::kProcessUnknown, target.ToString());
  return found;
}

gen::Error Addresses::WhyUnreachable(gen::PID to) const {
  if (IsStopped()) return gen::ErrNodeTerminated;
  if (to.node != node_) {
    if (!to) return gen::Error(gen::ErrorCode::kProcessUnknown, "the empty PID");
    if (transport_ != nullptr) {
      return gen::Error(
          gen::ErrorCode::kUnsupported,
          fmt::format("this function is for processes of this node only, not for {}", to));
    }
    return gen::Error(gen::ErrorCode::kNoConnection,
                      fmt::format("{}: this node has no network (NodeOptions::network)", to.node));
  }
  if (to.creation != creation_) return gen::ErrProcessIncarnation;
  const ProcessSlot* slot = table_.Find(to.id);
  return slot != nullptr && slot->HadProcess(to) ? gen::ErrProcessTerminated
                                                 : gen::ErrProcessUnknown;
}

}  // namespace ergon::node
