// Answers to requests of other nodes.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>

namespace ergon::dist {

// Any thread. The functions and their errors are those of node::Transport.
class AnswerSender {
 public:
  AnswerSender(const node::Addresses& addresses, const Values& values, Connections& connections)
      : addresses_(addresses), values_(values), connections_(connections) {}

  gen::Result<void> Respond(gen::PID remote, std::uint64_t ref, core::EnvelopePtr response);
  [[nodiscard]] bool IsAwaited(gen::PID remote, std::uint64_t ref) const;

 private:
  // Appends {Tag, Answer}. On an error the answer is that error, so that the caller does not wait in vain.
  gen::Result<void> WriteAnswer(std::string& payload, const PeerState::Request& request,
                                core::Envelope& response, const Values::Writer* how,
                                gen::Result<Form>& form) const;

  const node::Addresses& addresses_;
  const Values& values_;
  Connections& connections_;
};

}  // namespace ergon::dist
