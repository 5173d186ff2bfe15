#include <ergon/node/cluster/outbound/message_frames.h>

#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

std::string* OpenFrameToNameOrAlias(Scratch& scratch, gen::PID remote, gen::PID from) {
  std::string& frame = scratch.Empty();
  if (node::IsName(remote)) {
    OpenMessageToName(frame, from, node::NameOf(remote).name.Text());
    return &frame;
  }
  const auto alias = node::ForeignAliasOf(remote);
  if (!alias) return nullptr;
  std::string reference;
  AppendReference(reference, *alias);
  OpenMessageToAlias(frame, from, reference);
  return &frame;
}

gen::Error FormerAlias(gen::PID remote) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, node::TextOf(remote));
}

}  // namespace ergon::dist
