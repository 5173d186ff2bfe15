// Reads what another node asks to be run here.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/remote_job.h>
#include <ergon/node/cluster/exports/remote_places.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/erlang/exports.h>
#include <ergon/node/erlang/terms/atom_budget.h>

namespace ergon::dist {

// The words with which Erlang refuses a spawn_request.
inline constexpr std::string_view kNotSupported = "notsup";
inline constexpr std::string_view kNoPlace = "system_limit";

// The thread of the network.
class JobReader {
 public:
  JobReader(const Settings& settings, const node::Addresses& addresses, AtomBudget& atoms,
            RemotePlaces& places)
      : settings_(settings), addresses_(addresses), atoms_(atoms), places_(places) {}

  // Returns the job, with a place, of a kSpawnRequest. Null, with a word for Erlang in `refusal`: it is not run here.
  [[nodiscard]] RemoteJobPtr ReadSpawn(Connection& connection, const Signal& signal,
                                       std::string_view& refusal);
  // Returns the job, with a place, of a request to RemoteCode::kCalls, or why it is not run here.
  [[nodiscard]] gen::Result<RemoteJobPtr> ReadCall(Connection& connection,
                                                   const PeerState::Request& request,
                                                   std::string_view term);

 private:
  [[nodiscard]] const detail::RemoteFunction* FindFunction(std::string_view module,
                                                           std::string_view function,
                                                           std::size_t arity) const;
  [[nodiscard]] const detail::RemoteBehavior* FindBehavior(std::string_view module,
                                                           std::string_view function) const;

  const Settings& settings_;
  const node::Addresses& addresses_;
  AtomBudget& atoms_;
  RemotePlaces& places_;
};

}  // namespace ergon::dist
