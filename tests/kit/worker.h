// A worker that does what the test says, and writes down what it got.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>

#include <kit/gate.h>
#include <kit/recorder.h>

namespace ergon::kit {

class Worker;

// A message. `then` is run after it has been written down.
struct Job {
  int value = 0;
  std::function<gen::Status(Worker&)> then = {};
};

// A request. Without `then` it is answered with an Answer.
struct Ask {
  int value = 0;
  std::function<gen::CallResult(Worker&, gen::PID from, gen::Ref ref)> then = {};
};
struct Answer {
  int value = 0;
  gen::PID worker;
};

// What the workers of one pool share with the test. Any thread.
struct Script {
  Recorder jobs;    // messages, when their handlers start
  Recorder calls;   // requests, when their handlers start
  Recorder done;    // both, when their handlers have returned
  Recorder events;  // values of type int
  std::atomic<int> inits{0};
  std::atomic<int> terminates{0};

  // Run in Init of every worker, if set.
  void SetInit(std::function<gen::Status(Worker&)> init) {
    std::lock_guard lock(mutex_);
    init_ = std::move(init);
  }
  [[nodiscard]] std::function<gen::Status(Worker&)> init() const {
    std::lock_guard lock(mutex_);
    return init_;
  }
  void AddReason(gen::PID worker, const gen::Reason& reason) {
    std::lock_guard lock(mutex_);
    reasons_.emplace_back(worker, reason);
  }
  // What Terminate of a worker was called with, each time.
  [[nodiscard]] std::vector<gen::Reason> ReasonsOf(gen::PID worker) const {
    std::lock_guard lock(mutex_);
    std::vector<gen::Reason> found;
    for (const auto& [pid, reason] : reasons_) {
      if (pid == worker) found.push_back(reason);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::function<gen::Status(Worker&)> init_;
  std::vector<std::pair<gen::PID, gen::Reason>> reasons_;
};
using ScriptPtr = std::shared_ptr<Script>;

class Worker : public act::Actor {
 public:
  explicit Worker(ScriptPtr script) : script_(std::move(script)) {}

  using Actor::Call;
  using Actor::Inspect;
  using Actor::Log;
  using Actor::Node;
  using Actor::Parent;
  using Actor::Request;
  using Actor::Self;
  using Actor::Send;
  using Actor::SendExit;
  using Actor::SendOrWait;
  using Actor::SendResponse;
  using Actor::SendWithPriority;
  using Actor::SetTrapExit;
  using Actor::Sleep;
  using Actor::Spawn;

 protected:
  gen::Status Init(const gen::Args&) override {
    script_->inits.fetch_add(1);
    const auto init = script_->init();
    return init ? init(*this) : gen::Continue();
  }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    auto* job = message.As<Job>();
    if (job == nullptr) return Actor::HandleMessage(from, message);
    const int value = job->value;
    script_->jobs.Add(Self(), from, value);
    gen::Status status = job->then ? job->then(*this) : gen::Continue();
    script_->done.Add(Self(), from, value);
    return status;
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    auto* ask = request.As<Ask>();
    if (ask == nullptr) return Actor::HandleCall(from, ref, request);
    const int value = ask->value;
    script_->calls.Add(Self(), from, value);
    gen::CallResult result =
        ask->then ? ask->then(*this, from, ref) : gen::Reply(Answer{value, Self()});
    script_->done.Add(Self(), from, value);
    return result;
  }

  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    if (const int* value = event.As<int>()) script_->events.Add(Self(), {}, *value);
    return gen::Continue();
  }

  void Terminate(const gen::Reason& reason) override {
    script_->AddReason(Self(), reason);
    script_->terminates.fetch_add(1);
  }

 private:
  ScriptPtr script_;
};

// -- for Job::then --

// Waits at the gate. A worker that is ended meanwhile goes on at once.
inline auto Hold(const Gate& gate) {
  return [pid = gate.pid()](Worker& worker) {
    (void)worker.Call<bool>(pid, EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  };
}
// Blocks the thread at the gate.
inline auto Block(const ThreadGate& gate) {
  return [enter = gate.Holder()](Worker&) {
    enter();
    return gen::Continue();
  };
}
inline auto Crash(std::string what) {
  return [what](Worker&) -> gen::Status { throw std::runtime_error(what); };
}
inline auto End(gen::Reason reason) {
  return [reason](Worker&) -> gen::Status { return gen::Stop(reason); };
}
// One after the other.
template <class First, class Second>
auto Then(First first, Second second) {
  return [first, second](Worker& worker) {
    gen::Status status = first(worker);
    return status.stops() ? status : second(worker);
  };
}

// -- for Ask::then --

inline auto HoldAndAnswer(const Gate& gate, int value) {
  return [pid = gate.pid(), value](Worker& worker, gen::PID, gen::Ref) -> gen::CallResult {
    (void)worker.Call<bool>(pid, EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Reply(Answer{value, worker.Self()});
  };
}
inline auto CrashCall(std::string what) {
  return [what](Worker&, gen::PID, gen::Ref) -> gen::CallResult { throw std::runtime_error(what); };
}
inline auto NeverAnswer() {
  return [](Worker&, gen::PID, gen::Ref) { return gen::NoReply(); };
}

}  // namespace ergon::kit
