// Where a debugger finds things: offsets and constants with names, so that it needs no debug information.
//
// scripts/gdb/ergon.py reads them by their names, and says which one this version of Ergon does not have.
#pragma once

#include <cstdint>

#include <ergon/node/process/runner.h>

namespace ergon::node {

struct DebuggerNumber {
  char name[32];  // with a 0 at its end; empty: the end of the list
  std::uint64_t value;
};

// Never made. Derived, because many members are protected in ProcessRunner.
class DebuggerLayout : public ProcessRunner {
 public:
  static const DebuggerNumber kNumbers[];
};

}  // namespace ergon::node
