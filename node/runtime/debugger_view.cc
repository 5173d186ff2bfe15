#include <ergon/node/runtime/debugger_view.h>

#include <ergon/core/turns/worker.h>
#include <ergon/gen/atom.h>

namespace ergon::node {
namespace {

constinit core::Roster g_nodes;

}  // namespace

// Through the anchor: what nothing uses, a linker may leave out.
DebuggerView::DebuggerView(const Addresses& of_node)
    : addresses(&of_node), table(&of_node.table()), on_roster(*ergon_debugger_anchor.nodes, this) {
  ergon_debugger_anchor.workers.store(&core::Worker::All(), std::memory_order_relaxed);
  ergon_debugger_anchor.atoms.store(gen::detail::AtomChunks(), std::memory_order_relaxed);
}

}  // namespace ergon::node

// Nodes may be started by static initialisers. `used`: who optimises the whole program may not leave it out.
// `visibility`: gdb finds it in a shared library without debug information.
[[gnu::used,
  gnu::visibility("default")]] constinit ergon::node::DebuggerAnchor ergon_debugger_anchor = {
    .layout = ergon::node::DebuggerLayout::kNumbers,
    .nodes = &ergon::node::g_nodes,
    .workers = nullptr,
    .atoms = nullptr};
