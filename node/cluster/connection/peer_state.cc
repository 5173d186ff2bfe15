#include <ergon/node/cluster/connection/peer_state.h>

#include <string_view>

#include <fmt/core.h>

namespace ergon::dist {
namespace {

constexpr std::string_view WordsOf(PeerState::ErgonQuestion question) {
  switch (question) {
    case PeerState::ErgonQuestion::kImportant:
      return "important delivery";
    case PeerState::ErgonQuestion::kSubscribe:
      return "a subscription to an event";
    case PeerState::ErgonQuestion::kRoom:
      return "a look at mailboxes";
    case PeerState::ErgonQuestion::kInspect:
      return "an inspection";
    case PeerState::ErgonQuestion::kLink:
      return "a link by a name or an alias (unlike a monitor by a name)";
    case PeerState::ErgonQuestion::kCallOfAlias:
      return "a call to an alias";
    case PeerState::ErgonQuestion::kNone:
      break;
  }
  return "this";
}

}  // namespace

gen::Error NoErgonNode(PeerState::ErgonQuestion question, gen::Atom node) {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{} works between Ergon nodes only, and {} is no Ergon node",
                                WordsOf(question), node));
}

gen::Error NoSpawningNode(gen::Atom node) {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{} starts no processes for other nodes", node));
}

}  // namespace ergon::dist
