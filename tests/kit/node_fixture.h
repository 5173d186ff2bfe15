// A node of its own for each test, and short words for what tests do all the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/node/node.h>

#include <kit/balance.h>
#include <kit/eventually.h>
#include <kit/gate.h>
#include <kit/log_capture.h>
#include <kit/pool.h>
#include <kit/print.h>
#include <kit/prober.h>
#include <kit/recorder.h>
#include <kit/stats.h>
#include <kit/worker.h>

namespace ergon::kit {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Starts in the constructor and stops in the destructor, where it checks that no message is
// unaccounted for.
class NodeFixture {
 public:
  explicit NodeFixture(gen::NodeOptions options = {})
      : node(node::Start("test@localhost", log.Into(std::move(options))).value()) {}
  ~NodeFixture() {
    node.Stop();
    CheckBalance(node);
  }

  // The options of a pool of `size` scripted workers, with back-off times that fit a test.
  [[nodiscard]] act::PoolOptions Options(int size, int worker_mailbox_size = 0) const {
    return {.pool_size = size,
            .worker_factory = gen::Factory<Worker>(workers),
            .worker_mailbox_size = worker_mailbox_size,
            .restart_backoff_min = std::chrono::microseconds(100),
            .restart_backoff_max = std::chrono::milliseconds(1)};
  }
  // Starts a ManagedPool.
  [[nodiscard]] PoolHandle StartPool(const act::PoolOptions& options) {
    return {node, TryPool(options).value()};
  }
  [[nodiscard]] PoolHandle StartPool(int size, int worker_mailbox_size = 0) {
    return StartPool(Options(size, worker_mailbox_size));
  }
  [[nodiscard]] gen::Result<gen::PID> TryPool(const act::PoolOptions& options) {
    return node.Spawn(gen::Factory<ManagedPool>(pools), {}, gen::MakeArgs(options));
  }

  // Waits until each of the workers handles a message that waits at the gate. They must be the
  // whole pool, idle, and are sent to directly.
  void HoldEach(Gate& gate, const std::vector<gen::PID>& processes, int value = -1) {
    const int before = gate.Entered();
    for (gen::PID pid : processes) node.Send(pid, Job{value, Hold(gate)}).value();
    REQUIRE(
        Eventually([&] { return gate.Entered() == before + static_cast<int>(processes.size()); }));
  }

  [[nodiscard]] bool IsAlive(gen::PID pid) const { return node.ProcessInfo(pid).has_value(); }
  [[nodiscard]] bool EventuallyGone(gen::PID pid) const {
    return Eventually([&] { return !IsAlive(pid); });
  }
  // The living children of a process, sorted.
  [[nodiscard]] std::vector<gen::PID> ChildrenOf(gen::PID parent) const {
    std::vector<gen::PID> children;
    for (gen::PID pid : node.ProcessList()) {
      const auto info = node.ProcessInfo(pid);
      if (info && info->parent == parent) children.push_back(pid);
    }
    std::sort(children.begin(), children.end());
    return children;
  }

  LogCapture log;
  ScriptPtr workers = std::make_shared<Script>();
  PoolScriptPtr pools = std::make_shared<PoolScript>();
  node::Node node;
};

}  // namespace ergon::kit
