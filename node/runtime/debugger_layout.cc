#include <ergon/node/runtime/debugger_layout.h>

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/core/foundations/roster.h>
#include <ergon/core/messages/await_layout.h>
#include <ergon/core/messages/mailbox_layout.h>
#include <ergon/core/messages/rotation_layout.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/core/turns/turn_layout.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/pool_slot.h>
#include <ergon/node/process_state/table.h>

// Classes without virtual bases: the compilers know the offsets of their members.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace ergon::node {
namespace {

consteval DebuggerNumber Number(std::string_view name, std::uint64_t value) {
  DebuggerNumber number{.name = {}, .value = value};
  name.copy(number.name, sizeof(number.name) - 1);
  // A longer name does not compile.
  if (name.size() >= sizeof(number.name)) throw "a name is too long";
  return number;
}

consteval DebuggerNumber StateNumber(std::string_view name, gen::ProcessState state) {
  return Number(name, static_cast<std::uint64_t>(state));
}

static_assert(sizeof(gen::Atom) == sizeof(std::uint32_t));  // an atom is its Index()

}  // namespace

constinit const DebuggerNumber DebuggerLayout::kNumbers[] = {
    Number("place.who", offsetof(core::Roster::Place, who)),
    Number("place.next", offsetof(core::Roster::Place, next)),
    Number("addresses.node", offsetof(Addresses, node_)),
    Number("addresses.stopped", offsetof(Addresses, stopped_)),

    Number("table.slot_bytes", offsetof(ProcessTable, kind_) + offsetof(SlotKind, bytes)),
    Number("table.chunks", offsetof(ProcessTable, chunks_)),
    Number("table.chunk_slots", ProcessTable::kChunkSize),
    Number("table.max_chunks", ProcessTable::kMaxChunks),

    Number("slot.generation", offsetof(DebuggerLayout, generation_)),
    Number("slot.closed", offsetof(DebuggerLayout, end_step_)),
    Number("slot.sequence", offsetof(DebuggerLayout, sequence_)),
    Number("slot.behavior", offsetof(DebuggerLayout, behavior_)),
    Number("slot.suspended", offsetof(DebuggerLayout, suspended_)),
    Number("slot.express", offsetof(DebuggerLayout, express_queued_)),
    Number("slot.pool", offsetof(DebuggerLayout, pool_)),
    Number("slot.cold", offsetof(DebuggerLayout, cold_)),
    Number("slot.extras", offsetof(DebuggerLayout, extras_)),
    Number("slot.parked", offsetof(DebuggerLayout, parked_)),
    Number("slot.state", offsetof(DebuggerLayout, activity_) + offsetof(Activity, state_)),
    Number("slot.handles", offsetof(DebuggerLayout, activity_) + offsetof(Activity, type_)),
    Number("slot.await", offsetof(DebuggerLayout, await_) + core::AwaitLayout::kWord),
    Number("await.tag_mask", core::AwaitLayout::kTagMask),
    Number("await.running", core::AwaitLayout::kRunning),
    Number("await.parked", core::AwaitLayout::kParked),
    Number("slot.main", offsetof(DebuggerLayout, mailbox_) + core::MailboxLayout::kWord),
    Number("slot.main_taken", offsetof(DebuggerLayout, mailbox_) + core::MailboxLayout::kTaken),
    Number("slot.main_queued", offsetof(DebuggerLayout, mailbox_) + core::MailboxLayout::kQueued),
    Number("slot.main_capacity",
           offsetof(DebuggerLayout, mailbox_) + core::MailboxLayout::kCapacity),
    Number("main.top_bits", core::MailboxLayout::kTopBits),
    Number("main.closed", core::MailboxLayout::kClosed),
    Number("main.idle", core::MailboxLayout::kIdle),
    Number("main.redirected_idle", core::MailboxLayout::kRedirectedIdle),
    Number("main.refused_idle", core::MailboxLayout::kRefusedIdle),

    Number("pool.size", offsetof(PoolSlot, rotation) + core::RotationLayout::kSize),
    Number("pool.array", offsetof(PoolSlot, rotation) + core::RotationLayout::kArray),
    Number("array.capacity", core::RotationLayout::kCapacity),
    Number("array.entries", core::RotationLayout::kEntries),

    Number("cold.name", offsetof(ProcessCold, name)),
    Number("cold.queue_lane", offsetof(ProcessCold, queue_lane)),
    Number("cold.held", offsetof(ProcessCold, counts) + offsetof(RareCounts, held)),
    Number("cold.own_in_main", offsetof(ProcessCold, counts) + offsetof(RareCounts, own_in_main)),
    Number("queue_lane.generation", offsetof(QueueLane, generation_)),
    Number("queue_lane.bound", offsetof(QueueLane, bound_)),

    Number("extras.starting_child", offsetof(ProcessExtras, starting_child)),
    Number("call.word", offsetof(ProcessExtras, edge) + offsetof(CallEdge, word_)),
    Number("call.to", offsetof(ProcessExtras, edge) + offsetof(CallEdge, to_)),
    Number("call.type", offsetof(ProcessExtras, edge) + offsetof(CallEdge, type_)),
    Number("call.stage_shift", CallEdge::kStageShift),
    Number("call.moved", offsetof(ProcessExtras, edge) + offsetof(CallEdge, moved_)),
    Number("call.moved_to", offsetof(ProcessExtras, edge) + offsetof(CallEdge, moved_to_)),
    Number("type.info", offsetof(core::TypeDescriptor, info)),

    StateNumber("state starting", gen::ProcessState::kStarting),
    StateNumber("state idle", gen::ProcessState::kIdle),
    StateNumber("state ready", gen::ProcessState::kReady),
    StateNumber("state running", gen::ProcessState::kRunning),
    StateNumber("state waiting", gen::ProcessState::kWaiting),
    StateNumber("state terminating", gen::ProcessState::kTerminating),

    Number("worker.running", core::TurnLayout::kWorkerRunning),
    Number("worker.fiber", core::TurnLayout::kWorkerFiber),
    Number("fiber.context", core::TurnLayout::kFiberContext),
    Number("fiber.stack", core::TurnLayout::kFiberStack),
    Number("fiber.stack_bytes", core::TurnLayout::kFiberStackBytes),
    Number("fiber.guard_bytes", core::Fiber::kGuardBytes),

    Number("atoms.chunk", gen::detail::kAtomChunk),
    Number("string.bytes", sizeof(std::string)),
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
    Number("string.text", 0),  // a pointer, then the length
#endif
    Number("", 0)};

}  // namespace ergon::node
