// Requests to EPMD, the Erlang port mapper, and its answers. Pure: no socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>

namespace ergon::dist {

inline constexpr std::uint16_t kEpmdPort = 4369;
// Returns ERL_EPMD_PORT of the environment, or kEpmdPort. Returns kIncorrect, which names the value, if it is no port.
[[nodiscard]] gen::Result<std::uint16_t> EpmdPort();

// Requests, with their length. `alive` is the part of a checked name before the @. The name stays
// registered as long as the connection to EPMD is open.
[[nodiscard]] std::string EpmdRegister(std::string_view alive, std::uint16_t port, bool hidden);
// EPMD closes the connection after its answer.
[[nodiscard]] std::string EpmdLookUp(std::string_view alive);

// What EPMD knows of a node.
struct EpmdNode {
  std::uint16_t port = 0;
  bool hidden = false;
  // The versions of the handshake that the node speaks. We speak only kHandshakeVersion.
  std::uint16_t lowest_version = 0;
  std::uint16_t highest_version = 0;
};
inline constexpr std::uint16_t kHandshakeVersion = 6;

// These read an answer. `answer` is all that has come so far; they return nothing if there is more to come. Errors say
// what EPMD has answered: the name is taken (kTaken), the node is not there (kNoConnection), or it is no answer
// (kIncorrect).
//
// ParseRegistered returns the creation that EPMD has chosen for the node.
[[nodiscard]] gen::Result<std::optional<std::uint32_t>> ParseRegistered(std::string_view answer,
                                                                        std::string_view alive);
[[nodiscard]] gen::Result<std::optional<EpmdNode>> ParseLookUp(std::string_view answer,
                                                               std::string_view alive);

}  // namespace ergon::dist
