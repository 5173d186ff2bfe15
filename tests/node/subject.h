// A process made of functions, and a node to run it on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>
#include <ergon/node/node.h>

#include <kit/balance.h>
#include <kit/eventually.h>
#include <kit/log_capture.h>

namespace ergon::node {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

class Subject;

// What a subject does; what is empty does nothing special. What the functions refer to has to be
// declared before the node: they may still be called while that ends.
struct Handlers {
  std::function<gen::Status(Subject&, const gen::Args&)> init = {};
  std::function<gen::Status(Subject&, gen::PID, gen::Message&)> message = {};
  std::function<gen::CallResult(Subject&, gen::PID, gen::Ref, gen::Message&)> call = {};
  std::function<gen::Status(Subject&, const gen::MessageEvent&)> event = {};
  std::function<gen::Status(Subject&, gen::Ref, gen::Response&)> response = {};
  std::function<gen::Inspection(Subject&, const std::vector<std::string>&)> inspect = {};
  std::function<void(Subject&, const gen::Reason&)> terminate = {};
};

// Any subject runs the function in its turn; the request is answered with true.
struct Do {
  std::function<void(Subject&)> function;
};
// Any subject ends itself.
struct End {
  gen::Reason reason = {};
};

class Subject : public act::Actor {
 public:
  explicit Subject(Handlers handlers) : handlers_(std::move(handlers)) {}

  using Actor::Async;
  using Actor::Call;
  using Actor::CreateAlias;
  using Actor::Delegate;
  using Actor::DeleteAlias;
  using Actor::Demonitor;
  using Actor::DemonitorEvent;
  using Actor::DemonitorGroup;
  using Actor::Env;
  using Actor::EnvList;
  using Actor::Forward;
  using Actor::GroupMembers;
  using Actor::Groups;
  using Actor::HandOver;
  using Actor::Inspect;
  using Actor::InspectAs;
  using Actor::JoinGroup;
  using Actor::Leader;
  using Actor::LeaveGroup;
  using Actor::Link;
  using Actor::LinkEvent;
  using Actor::Log;
  using Actor::LogLevel;
  using Actor::MakeRef;
  using Actor::Monitor;
  using Actor::MonitorEvent;
  using Actor::MonitorGroup;
  using Actor::Name;
  using Actor::Node;
  using Actor::Now;
  using Actor::OneOf;
  using Actor::Parent;
  using Actor::RegisterEvent;
  using Actor::RegisterName;
  using Actor::Request;
  using Actor::Self;
  using Actor::Send;
  using Actor::SendAfter;
  using Actor::SendEvent;
  using Actor::SendEvery;
  using Actor::SendExit;
  using Actor::SendImportant;
  using Actor::SendOrWait;
  using Actor::SendPriority;
  using Actor::SendResponse;
  using Actor::SendResponseError;
  using Actor::SendToGroup;
  using Actor::SendToOneOf;
  using Actor::SendTraced;
  using Actor::SendWithPriority;
  using Actor::SetEnv;
  using Actor::SetImportantDelivery;
  using Actor::SetLogLevel;
  using Actor::SetSendPriority;
  using Actor::SetTrace;
  using Actor::SetTrapExit;
  using Actor::Sleep;
  using Actor::Spawn;
  using Actor::SpawnRegister;
  using Actor::Stash;
  using Actor::Trace;
  using Actor::TrapExit;
  using Actor::Unlink;
  using Actor::UnlinkEvent;
  using Actor::UnregisterEvent;
  using Actor::UnregisterName;
  using Actor::UnstashAll;
  using Actor::Yield;

 private:
  gen::Status Init(const gen::Args& args) override {
    return handlers_.init ? handlers_.init(*this, args) : gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* work = message.As<Do>()) {
      work->function(*this);
      return gen::Continue();
    }
    if (const auto* end = message.As<End>()) return gen::Stop(end->reason);
    return handlers_.message ? handlers_.message(*this, from, message)
                             : Actor::HandleMessage(from, message);
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* work = request.As<Do>()) {
      work->function(*this);
      return gen::Reply(true);
    }
    return handlers_.call ? handlers_.call(*this, from, ref, request)
                          : Actor::HandleCall(from, ref, request);
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    return handlers_.event ? handlers_.event(*this, event) : Actor::HandleEvent(event);
  }
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
    return handlers_.response ? handlers_.response(*this, ref, response)
                              : Actor::HandleResponse(ref, response);
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>& items) override {
    return handlers_.inspect ? handlers_.inspect(*this, items) : gen::Inspection();
  }
  void Terminate(const gen::Reason& reason) override {
    if (handlers_.terminate) handlers_.terminate(*this, reason);
  }

  Handlers handlers_;
};

inline gen::ProcessFactory Make(Handlers handlers) {
  return gen::Factory<Subject>(std::move(handlers));
}

// A list that any thread may add to.
template <class T>
class Notes {
 public:
  void Add(T value) {
    std::lock_guard lock(mutex_);
    list_.push_back(std::move(value));
  }
  [[nodiscard]] std::vector<T> All() const {
    std::lock_guard lock(mutex_);
    return list_;
  }
  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return list_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> list_;
};

// What tests send and ask, and how long they wait for an answer.
struct Ask {
  int value = 0;
};
struct Square {
  int value = 0;
};
inline constexpr gen::CallOptions kPatient{.timeout = kit::kDeadline};

// Notes the numbers that it gets.
inline Handlers Collect(Notes<int>& notes) {
  return {.message = [&notes](Subject&, gen::PID, gen::Message& message) {
    notes.Add(message.Take<int>());
    return gen::Continue();
  }};
}

// Sets a flag when it is destroyed: proves that a stack was unwound.
struct Unwound {
  explicit Unwound(std::atomic<int>& counter_in) : counter(&counter_in) {}
  Unwound(const Unwound&) = delete;
  Unwound& operator=(const Unwound&) = delete;
  ~Unwound() { counter->fetch_add(1); }
  std::atomic<int>* counter;
};

class TestNode {
 public:
  explicit TestNode(gen::NodeOptions options = {})
      : node(Start("test@localhost", log.Into(std::move(options))).value()) {}
  // Stops, and checks that no message is unaccounted for.
  ~TestNode() {
    node.Stop();
    kit::CheckBalance(node, expected_losses);
  }

  gen::PID Spawn(Handlers handlers = {}, const gen::ProcessOptions& options = {}) {
    return node.Spawn(Make(std::move(handlers)), options).value();
  }
  // Runs a function in a subject's turn and waits for it. It ends the process if it throws.
  template <class F>
  gen::Result<bool> Run(gen::PID pid, F function) {
    return node.Call<bool>(pid, Do{std::move(function)}, {.timeout = kit::kDeadline});
  }
  // As Run, without waiting.
  template <class F>
  void Begin(gen::PID pid, F function) {
    node.Send(pid, Do{std::move(function)}).value();
  }
  [[nodiscard]] bool IsAlive(gen::PID pid) const { return node.ProcessInfo(pid).has_value(); }
  // Waits until the process has ended.
  [[nodiscard]] bool Ended(gen::PID pid) {
    return node.WaitProcess(pid, kit::kDeadline).has_value();
  }
  [[nodiscard]] bool IsWaiting(gen::PID pid) const {
    const auto info = node.ProcessInfo(pid);
    return info && info->state == gen::ProcessState::kWaiting;
  }
  [[nodiscard]] bool EventuallyWaiting(gen::PID pid) const {
    return kit::Eventually([&] { return IsWaiting(pid); });
  }
  // Returns whether stopping has begun, by spawning.
  [[nodiscard]] bool IsStopping() {
    const auto spawned = node.Spawn(Make({}));
    return !spawned && spawned.error() == gen::ErrNodeTerminated;
  }
  // Waits until nobody but `expected` processes is left.
  [[nodiscard]] bool EventuallyProcesses(std::uint64_t expected) const {
    return kit::Eventually([&] { return node.Info().processes == expected; });
  }

  kit::LogCapture log;
  Node node;
  std::int64_t expected_losses = 0;
};

}  // namespace ergon::node
