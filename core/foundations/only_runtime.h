// One process, one runtime: a second copy of these libraries, as in a plugin, would have atoms, envelopes and
// thread-locals of its own, and would mistake those of the first copy for its own.
#pragma once

namespace ergon::core {

// Ends the program with a message, when the program or the library that this is linked into is loaded, if another copy
// is there already. Include this in files where the runtime keeps what must exist only once: every user of such a file
// links the check.
void RefuseSecondRuntime() noexcept;

namespace detail {
[[gnu::used]] static void (*const kLinkedCheck)() noexcept = &RefuseSecondRuntime;
}

}  // namespace ergon::core
