// The part of a process that only some need: those that call, spawn, log, set timers, or have an environment.
//
// It belongs to a slot, not to a process: made when first needed, never freed while the node lives. So any thread may
// look at it at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include <ergon/core/time/wait_timer.h>
#include <ergon/gen/log.h>
#include <ergon/node/process_state/call_edge.h>
#include <ergon/node/process_state/environments.h>
#include <ergon/node/process_state/own_sends.h>

namespace ergon::node {

class ProcessSlot;

// What is logged for the process in a slot.
class SlotLog final : public gen::LogSink {
 public:
  explicit SlotLog(const ProcessSlot& slot) : slot_(slot) {}
  [[nodiscard]] gen::LogLevel Level() const override;
  void Write(gen::LogLevel level, std::string_view text) override;

 private:
  const ProcessSlot& slot_;
};

struct ProcessExtras {
  explicit ProcessExtras(const ProcessSlot& slot) : log(slot) {}

  CallEdge edge;  // the first member: an address less to be computed in a call
  std::unique_ptr<core::WaitTimer> wait_timer;  // the process's own; made when first needed
  // The id of the child whose Init runs inside this process's turn, or 0. A signal that ends this process ends that
  // child, too, so that an Init that waits does not delay the end; see ProcessRunner::HeedParents.
  std::atomic<std::uint64_t> starting_child{0};
  OwnSends own_sends;
  SharedEnvironment environment;  // null: nothing; see ProcessSlot::environment
  SlotLog log;
};

// Returns whether a process with these extras, null for none, has all that it needs to wait.
[[nodiscard]] inline bool CanWait(const ProcessExtras* extras) noexcept {
  return extras != nullptr && extras->wait_timer != nullptr;
}

}  // namespace ergon::node
