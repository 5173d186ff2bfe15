// Where a debugger finds what a process waits for.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/await_state.h>

namespace ergon::core {

struct AwaitLayout {
  static constexpr std::size_t kWord = offsetof(AwaitState, word_);  // in bytes
  // The low bits of the word that tell a wait from an outcome, and their values in a wait.
  static constexpr std::uint64_t kTagMask = AwaitState::kTagMask;
  static constexpr std::uint64_t kRunning = AwaitState::kRunning;
  static constexpr std::uint64_t kParked = AwaitState::kParked;
};

}  // namespace ergon::core
