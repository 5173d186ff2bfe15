#include <ergon/node/cluster/connection/false_claims.h>

#include <string>

namespace ergon::dist {

void FalseClaims::Note(Connection& connection, std::string_view what, gen::PID from) {
  ++connection.Lock()->peer_state().not_believed;
  const auto more = lines_.Take();
  if (!more) return;
  gen::Log(log_).Warning(
      "network: {} is not believed: {} of {}, which is no process of that node{}",
      connection.peer(), what, from.node.empty() ? std::string("another node's") : from.ToString(),
      *more);
}

}  // namespace ergon::dist
