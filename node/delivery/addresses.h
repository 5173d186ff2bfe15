// Who is meant by what: the PIDs, names and aliases of a node.
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
  // Of the process of this generation in a slot.
  [[nodiscard]] gen::PID PidIn(const ProcessSlot& slot, std::uint32_t generation) const noexcept {
    return PidOf(std::uint64_t{generation} << 32 | slot.index());
  }
  // The node as a sender.
  [[nodiscard]] gen::PID NodePid() const noexcept { return PidOf(kNodeId); }
  [[nodiscard]] gen::Ref RefOf(std::uint64_t id) const noexcept { return {id, node_, creation_}; }
  [[nodiscard]] gen::Ref MakeRef() const;

  // Where a process lives, or has lived: another may have the slot now. Null: there is no such slot.
  [[nodiscard]] ProcessSlot* FindSlot(gen::PID pid) const noexcept {
    return IncarnationOf(pid) == incarnation_ ? table_.Find(pid.id) : nullptr;
  }
  // The live process with this PID, or null. It may end at any time.
  [[nodiscard]] ProcessSlot* Find(gen::PID pid) const noexcept {
    ProcessSlot* slot = FindSlot(pid);
    return slot != nullptr && slot->HasProcess(pid) ? slot : nullptr;
  }
  // The same for a process of this node, by the number in its PID.
  [[nodiscard]] ProcessSlot* FindHere(std::uint64_t id) const noexcept {
    ProcessSlot* slot = table_.Find(id);
    return slot != nullptr && slot->HasProcess(PidOf(id)) ? slot : nullptr;
  }
  // What leads to the node of a PID. Null: it is of this node, or there is no way to others.
  [[nodiscard]] Transport* TransportTo(gen::PID pid) const noexcept {
    return pid.node == node_ || pid.node.empty() ? nullptr : transport_;
  }
  // By the transport, before it lets anybody in. Null: there is no way to other nodes.
  void SetTransport(Transport* transport) noexcept { transport_ = transport; }
  // The process that a target means now; see gen::Messenger::Resolve. A name of another node is not looked for.
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const;
  // Why nothing can be delivered there.
  [[nodiscard]] gen::Error WhyUnreachable(gen::PID to) const;

  [[nodiscard]] Names& names() noexcept { return names_; }
  [[nodiscard]] const Names& names() const noexcept { return names_; }
  [[nodiscard]] Aliases& aliases() noexcept { return aliases_; }
  [[nodiscard]] const Aliases& aliases() const noexcept { return aliases_; }
  [[nodiscard]] ProcessTable& table() noexcept { return table_; }
  [[nodiscard]] const ProcessTable& table() const noexcept { return table_; }

  // The node has stopped: nobody is left to deliver to.
  [[nodiscard]] bool IsStopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  void NoteStopped() noexcept { stopped_.store(true, std::memory_order_release); }

 private:
  friend class DebuggerLayout;

  // Which node, and which time that it was started: as one number, for comparisons.
  [[nodiscard]] static std::uint64_t IncarnationOf(gen::PID pid) noexcept {
    return std::uint64_t{pid.creation} << 32 | pid.node.Index();
  }

  const gen::Atom node_;
  const std::uint32_t creation_;
  const std::uint64_t incarnation_;  // IncarnationOf its PIDs
  ProcessTable& table_;
  Names names_;
  Aliases aliases_;
  Transport* transport_ = nullptr;
  std::atomic<bool> stopped_{false};
};

}  // namespace ergon::node
