// One process, one runtime: a second copy of these libraries, as in a plugin, would have atoms, envelopes and
// thread-locals of its own, and would take those of the first one for its own.
#pragma once

namespace ergon::core {

// Ends the program with a word, when the program or the library that this is linked into is loaded, if another copy is
// there already. Include this where the runtime keeps what has to be there once: whoever uses that links the check.
void RefuseSecondRuntime() noexcept;

namespace detail {
[[gnu::used]] static void (*const kLinkedCheck)() noexcept = &RefuseSecondRuntime;
}

}  // namespace ergon::core
