// The parts of a node that its processes use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace ergon::core {
class Clock;
class Dispatcher;
class TimerQueue;
}  // namespace ergon::core

namespace ergon::gen {
class Node;
}  // namespace ergon::gen

namespace ergon::node {

class Addresses;
class BackPressure;
class BlockingThreads;
class CallEdges;
class DedicatedDispatchers;
class DelayedSends;
class Delivery;
class Descriptions;
class Drops;
class ExitSignals;
class ForkGuard;
class Groups;
class IoThread;
class Latency;
class Lineage;
class NodeLog;
class PeriodicSends;
class Population;
class Publishing;
class Registry;
class Relations;
class PoolSettings;
class RequestClaims;
class SendRecorder;
class Spawning;
class Ticks;
class WaitGraph;
class WithdrawnRequests;
struct MessageTotals;

// All of it outlives the processes.
struct Rooms {
  // Returns whether a time-out may be measured by the coarse clock, four times as quick as the exact one: that of Init
  // ends up to core::kCoarseLag early; calls add that, and end late.
  [[nodiscard]] bool MayBeCoarse(std::chrono::nanoseconds timeout) const noexcept {
    return timeout >= std::chrono::seconds(1) && !has_own_clock;
  }

  // delivery
  Addresses& addresses;
  Delivery& delivery;
  BackPressure& back_pressure;
  CallEdges& call_edges;
  RequestClaims& request_claims;
  WithdrawnRequests& withdrawn;
  Drops& drops;
  MessageTotals& totals;
  Ticks& ticks;
  // relations
  Relations& relations;
  ExitSignals& exit_signals;
  Registry& registry;
  Publishing& publishing;
  Groups& groups;
  // time
  core::TimerQueue& timers;
  const core::Clock& clock;
  bool has_own_clock;  // NodeOptions::clock
  DelayedSends& delayed_sends;
  PeriodicSends& periodic_sends;
  // diagnosis
  WaitGraph& wait_graph;
  Descriptions& descriptions;
  SendRecorder& send_recorder;
  Latency* latency;  // null: nothing is measured, see NodeOptions::measure_latency
  NodeLog& log;
  // population
  Population& population;
  Spawning& spawning;
  Lineage& lineage;
  const std::atomic<std::uint32_t>& mailbox_size;  // of a process whose options say nothing
  const PoolSettings& pool_settings;
  core::Dispatcher& dispatcher;  // of all processes that are not detached
  DedicatedDispatchers& dedicated_dispatchers;
  BlockingThreads& blocking_threads;
  const ForkGuard& fork_guard;
  // The node's I/O; null with a clock of its own.
  const std::unique_ptr<IoThread>& io;
  gen::Node& node;
};

}  // namespace ergon::node
