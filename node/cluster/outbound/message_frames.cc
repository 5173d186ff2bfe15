#include <ergon/node/cluster/outbound/message_frames.h>

#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

std::string* OpenUnusualFrame(Scratch& scratch, gen::PID remote, gen::PID from,
                              std::string_view token) {
  std::string& frame = scratch.Empty();
  if (remote.creation != 0) {
    OpenMessage(frame, from, remote, token);
    return &frame;
  }
  if (node::IsName(remote)) {
    OpenMessageToName(frame, from, node::NameOf(remote).name.Text(), token);
    return &frame;
  }
  const auto alias = node::ForeignAliasOf(remote);
  if (!alias) return nullptr;
  std::string reference;
  AppendReference(reference, *alias);
  OpenMessageToAlias(frame, from, reference, token);
  return &frame;
}

gen::Error FormerAlias(gen::PID remote) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, node::TextOf(remote));
}

}  // namespace ergon::dist
