// A pool that the test manages from outside by messages of high priority.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/node.h>

#include <kit/eventually.h>
#include <kit/recorder.h>
#include <kit/stats.h>
#include <kit/worker.h>

namespace ergon::kit {

class ManagedPool;

// Requests to a ManagedPool. The first three are answered with the new size.
struct Grow {
  int count = 0;
};
struct Shrink {
  int count = 0;
};
struct ShrinkNow {
  int count = 0;
};
struct Size {};
struct WorkerPids {};
// Anything else, in the pool's own turn.
struct Manage {
  std::function<gen::CallResult(ManagedPool&)> then;
};
// As a message: the pool ends itself.
struct EndPool {
  gen::Reason reason;
};

// What a pool shares with the test. Any thread.
struct PoolScript {
  Recorder messages;                // of type Job, that the pool handled itself
  Recorder calls;                   // of type Ask, that the pool handled itself
  std::atomic<int> downs{0};        // MessageDownPID
  std::atomic<int> event_downs{0};  // MessageDownEvent
  std::atomic<int> exits{0};        // MessageExitPID
  std::atomic<int> events{0};       // HandleEvent
  std::atomic<int> terminates{0};
  std::atomic<ManagedPool*> pool{nullptr};              // the behaviour itself, once Init has run
  std::function<void(ManagedPool&)> on_init = {};       // set before the spawn
  std::function<void(ManagedPool&)> on_terminate = {};  // set before the spawn
};
using PoolScriptPtr = std::shared_ptr<PoolScript>;

// Takes its options as the first argument of Init.
class ManagedPool : public act::Pool {
 public:
  explicit ManagedPool(PoolScriptPtr script) : script_(std::move(script)) {}

  using Pool::AddWorkers;
  using Pool::Call;
  using Pool::Change;
  using Pool::CreateAlias;
  using Pool::Link;
  using Pool::Log;
  using Pool::Monitor;
  using Pool::MonitorEvent;
  using Pool::Node;
  using Pool::RemoveWorkers;
  using Pool::RemoveWorkersNow;
  using Pool::Self;
  using Pool::Send;
  using Pool::SendAfter;
  using Pool::SendEvery;
  using Pool::SendWithPriority;
  using Pool::SetTrapExit;
  using Pool::Sleep;
  using Pool::Spawn;
  using Pool::Stats;
  using Pool::WorkerCount;
  using Pool::Workers;

 protected:
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    script_->pool = this;
    if (script_->on_init) script_->on_init(*this);
    return args.Get<act::PoolOptions>(0);
  }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* job = message.As<Job>()) {
      script_->messages.Add(Self(), from, job->value);
    } else if (const auto* end = message.As<EndPool>()) {
      return gen::Stop(end->reason);
    } else if (message.Is<gen::MessageDownPID>()) {
      script_->downs.fetch_add(1);
    } else if (message.Is<gen::MessageDownEvent>()) {
      script_->event_downs.fetch_add(1);
    } else if (message.Is<gen::MessageExitPID>()) {
      script_->exits.fetch_add(1);
    } else {
      return Pool::HandleMessage(from, message);
    }
    return gen::Continue();
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (const auto* grow = request.As<Grow>()) return Answer(AddWorkers(grow->count));
    if (const auto* shrink = request.As<Shrink>()) return Answer(RemoveWorkers(shrink->count));
    if (const auto* now = request.As<ShrinkNow>()) return Answer(RemoveWorkersNow(now->count));
    if (request.Is<Size>()) return gen::Reply(std::int64_t{WorkerCount()});
    if (request.Is<WorkerPids>()) return gen::Reply(Workers());
    if (const auto* manage = request.As<Manage>()) return manage->then(*this);
    if (const auto* ask = request.As<Ask>()) {
      script_->calls.Add(Self(), from, ask->value);
      return gen::Reply(kit::Answer{ask->value, Self()});
    }
    return Pool::HandleCall(from, ref, request);
  }

  gen::Status HandleEvent(const gen::MessageEvent&) override {
    script_->events.fetch_add(1);
    return gen::Continue();
  }

  void Terminate(const gen::Reason&) override {
    if (script_->on_terminate) script_->on_terminate(*this);
    script_->terminates.fetch_add(1);
  }

 private:
  static gen::CallResult Answer(gen::Result<std::int64_t> size) {
    return size ? gen::Reply(*size) : gen::ReplyError(size.error());
  }

  PoolScriptPtr script_;
};

// A pool as the test sees it. Must not outlive the node.
class PoolHandle {
 public:
  PoolHandle(gen::Node& node, gen::PID pid) : node_(&node), pid_(pid) {}

  [[nodiscard]] gen::PID pid() const { return pid_; }

  gen::Result<std::int64_t> Grow(int count) { return Ask<std::int64_t>(kit::Grow{count}); }
  gen::Result<std::int64_t> Shrink(int count) { return Ask<std::int64_t>(kit::Shrink{count}); }
  gen::Result<std::int64_t> ShrinkNow(int count) {
    return Ask<std::int64_t>(kit::ShrinkNow{count});
  }
  // The error goes with the process: these throw if it is gone.
  [[nodiscard]] std::int64_t Size() { return Ask<std::int64_t>(kit::Size{}).value(); }
  // The oldest place first: the order of their turns as long as nothing has been sent.
  [[nodiscard]] std::vector<gen::PID> Workers() {
    return Ask<std::vector<gen::PID>>(WorkerPids{}).value();
  }
  // Runs a function in the pool's turn and returns what it returns: R, or gen::Result<R>.
  template <class R, class F>
  gen::Result<R> Run(F function) {
    return Ask<R>(Manage{[function](ManagedPool& pool) -> gen::CallResult {
      gen::Result<R> result = function(pool);
      return result ? gen::Reply(std::move(*result)) : gen::ReplyError(result.error());
    }});
  }
  gen::Result<void> End(gen::Reason reason) {
    return node_->SendWithPriority(pid_, EndPool{std::move(reason)}, gen::MessagePriority::kHigh);
  }

  // Throws if the pool is gone.
  [[nodiscard]] kit::Stats Stats() const {
    return kit::Stats(node_->Inspect(pid_, {}, {.timeout = kDeadline}).value());
  }
  // Waits until the pool is at rest, its numbers add up and `handled` messages in all were handled
  // through it.
  [[nodiscard]] bool EventuallyHandled(std::int64_t handled) const {
    return EventuallyStats([handled](const kit::Stats& stats) {
      return stats.AtRest() && stats.Conserved() && stats["messages_handled"] == handled;
    });
  }
  [[nodiscard]] bool EventuallyAtRest() const {
    return EventuallyStats(
        [](const kit::Stats& stats) { return stats.AtRest() && stats.Conserved(); });
  }
  // Waits until as many workers as it should have are ready.
  [[nodiscard]] bool EventuallyComplete(std::int64_t size) const {
    return Eventually([&] {
      const kit::Stats stats = Stats();
      return stats["pool_size"] == size && stats["workers_ready"] == size;
    });
  }

 private:
  template <class Condition>
  [[nodiscard]] bool EventuallyStats(Condition condition) const {
    const bool reached = Eventually([&] { return condition(Stats()); });
    if (!reached) MESSAGE(Stats().ToString());
    return reached;
  }

  template <class R, class T>
  gen::Result<R> Ask(T request) {
    return node_->Call<R>(pid_, std::move(request),
                          {.timeout = kDeadline, .priority = gen::MessagePriority::kHigh});
  }

  gen::Node* node_;
  gen::PID pid_;
};

}  // namespace ergon::kit
