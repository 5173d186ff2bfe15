// What nobody can guess, for the handshake.
#pragma once

#include <cstdint>

namespace ergon::dist {

// 32 random bits of the kernel's. Throws std::system_error when it has none to give. Any thread.
[[nodiscard]] std::uint32_t RandomChallenge();

}  // namespace ergon::dist
