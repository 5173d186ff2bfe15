// The addresses of a node: which process a PID, a name or an alias means.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/names.h>
#include <ergon/node/process_state/table.h>

namespace ergon::node {

class Transport;

// Any thread.
class Addresses {
 public:
  static constexpr std::uint64_t kNodeId = 1;  // slot 1, which no process gets, generation 0

  Addresses(gen::Atom node, std::uint32_t creation, ProcessTable& table)
      : node_(node),
        creation_(creation),
        incarnation_(IncarnationOf({0, node, creation})),
        table_(table) {}

  [[nodiscard]] gen::Atom node() const noexcept { return node_; }
  [[nodiscard]] std::uint32_t creation() const noexcept { return creation_; }
  [[nodiscard]] gen::PID PidOf(std::uint64_t id) const noexcept { return {id, node_, creation_}; }
  // Returns the PID of the process of this generation in a slot.
  [[nodiscard]] gen::PID PidIn(const ProcessSlot& slot, std::uint32_t generation) const noexcept {
    return PidOf(std::uint64_t{generation} << 32 | slot.index());
  }
  // Returns the PID of the node itself, as a sender.
  [[nodiscard]] gen::PID NodePid() const noexcept { return PidOf(kNodeId); }
  [[nodiscard]] gen::Ref RefOf(std::uint64_t id) const noexcept { return {id, node_, creation_}; }
  [[nodiscard]] gen::Ref MakeRef() const;

  // Returns the slot where a process lives or has lived, which may have another process now; null if there is no such
  // slot.
  [[nodiscard]] ProcessSlot* FindSlot(gen::PID pid) const noexcept {
    return IncarnationOf(pid) == incarnation_ ? table_.Find(pid.id) : nullptr;
  }
  // Returns the slot of the live process with this PID, or null. The process may end at any time.
  [[nodiscard]] ProcessSlot* Find(gen::PID pid) const noexcept {
    ProcessSlot* slot = FindSlot(pid);
    return slot != nullptr && slot->HasProcess(pid) ? slot : nullptr;
  }
  // Returns the same for a process of this node, by the number in its PID.
  [[nodiscard]] ProcessSlot* FindHere(std::uint64_t id) const noexcept {
    ProcessSlot* slot = table_.Find(id);
    return slot != nullptr && slot->HasProcess(PidOf(id)) ? slot : nullptr;
  }
  // Returns the transport to the node of a PID; null if it is this node, or if there are no other nodes.
  [[nodiscard]] Transport* TransportTo(gen::PID pid) const noexcept {
    return pid.node == node_ || pid.node.empty() ? nullptr : transport_;
  }
  // Called by the transport before it accepts connections. Null: there are no other nodes.
  void SetTransport(Transport* transport) noexcept { transport_ = transport; }
  // Returns the process that a target means now; see gen::Messenger::Resolve. Does not look for a name of another node.
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const;
  // Returns why nothing can be delivered to a PID.
  [[nodiscard]] gen::Error WhyUnreachable(gen::PID to) const;

  [[nodiscard]] Names& names() noexcept { return names_; }
  [[nodiscard]] const Names& names() const noexcept { return names_; }
  [[nodiscard]] Aliases& aliases() noexcept { return aliases_; }
  [[nodiscard]] const Aliases& aliases() const noexcept { return aliases_; }
  [[nodiscard]] ProcessTable& table() noexcept { return table_; }
  [[nodiscard]] const ProcessTable& table() const noexcept { return table_; }

  // Returns whether the node has stopped: no process is left to deliver to.
  [[nodiscard]] bool IsStopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  void NoteStopped() noexcept { stopped_.store(true, std::memory_order_release); }

 private:
  friend class DebuggerLayout;

  // Returns the node and its creation as one number, for comparisons.
  [[nodiscard]] static std::uint64_t IncarnationOf(gen::PID pid) noexcept {
    return std::uint64_t{pid.creation} << 32 | pid.node.Index();
  }

  const gen::Atom node_;
  const std::uint32_t creation_;
  const std::uint64_t incarnation_;  // of this node's PIDs
  ProcessTable& table_;
  Transport* transport_ = nullptr;
  std::atomic<bool> stopped_{false};
  // Whoever looks for a name or an alias writes a lock: not on the line that each send reads.
  alignas(64) Names names_;
  Aliases aliases_;
};

}  // namespace ergon::node
