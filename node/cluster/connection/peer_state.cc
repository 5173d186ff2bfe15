#include <ergon/node/cluster/connection/peer_state.h>

#include <string_view>

#include <fmt/core.h>

namespace ergon::dist {
namespace {

constexpr std::string_view WordsOf(PeerState::OwnQuestion question) {
  switch (question) {
    case PeerState::OwnQuestion::kImportant:
      return "important delivery";
    case PeerState::OwnQuestion::kSubscribe:
      return "a subscription to an event";
    case PeerState::OwnQuestion::kRoom:
      return "a look at mailboxes";
    case PeerState::OwnQuestion::kInspect:
      return "an inspection";
    case PeerState::OwnQuestion::kLink:
      return "a link by a name or an alias (a monitor by the name is not)";
    case PeerState::OwnQuestion::kCallOfAlias:
      return "a call to an alias";
    case PeerState::OwnQuestion::kNone:
      break;
  }
  return "this";
}

}  // namespace

gen::Error NoErgonNode(PeerState::OwnQuestion question, gen::Atom node) {
  return gen::Error(
      gen::ErrorCode::kUnsupported,
      fmt::format("{} is for nodes of Ergon only, and {} is none", WordsOf(question), node));
}

}  // namespace ergon::dist
