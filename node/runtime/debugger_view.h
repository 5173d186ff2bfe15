// What a debugger finds of a node, in a program that runs or in its core file (scripts/gdb/ergon.py).
#pragma once

#include <atomic>

#include <ergon/core/foundations/roster.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/runtime/debugger_layout.h>

namespace ergon::node {

// The view of a node, which a debugger can find while this lives.
struct DebuggerView {
  explicit DebuggerView(const Addresses& of_node);

  // First, and in this order.
  const Addresses* const addresses;
  const ProcessTable* const table;
  const core::OnRoster on_roster;
};

// Where a debugger begins. The debugger finds it by its name, so the program's symbols must not be stripped.
struct DebuggerAnchor {
  const DebuggerNumber* layout;
  core::Roster* nodes;  // of DebuggerViews
  // Null before the first node starts.
  std::atomic<const core::Roster*> workers;  // of core::Workers
  std::atomic<const void*> atoms;            // gen::detail::AtomChunks
};

}  // namespace ergon::node

extern "C" ergon::node::DebuggerAnchor ergon_debugger_anchor;
