// A process that runs the test's functions in its own turns.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/node.h>

#include <kit/eventually.h>
#include <kit/worker.h>

namespace ergon::kit {

class Prober;

// As a message or as a request; the request is answered with true when the function has returned.
struct Do {
  std::function<void(Prober&)> function;
};
// The process ends itself.
struct Quit {
  gen::Reason reason;
};

// What a prober has received. Any thread.
class Inbox {
 public:
  void Add(const gen::MessageDownPID& down) {
    std::lock_guard lock(mutex_);
    downs_.push_back(down);
  }
  void Add(const gen::MessageDownAlias& down) {
    std::lock_guard lock(mutex_);
    alias_downs_.push_back(down);
  }
  void Add(const gen::MessageDownProcessID& down) {
    std::lock_guard lock(mutex_);
    name_downs_.push_back(down);
  }
  void Add(const gen::MessageExitPID& exit) {
    std::lock_guard lock(mutex_);
    exits_.push_back(exit);
  }
  void Add(const Answer& answer) {
    std::lock_guard lock(mutex_);
    answers_.push_back(answer);
  }
  [[nodiscard]] std::vector<gen::MessageDownPID> Downs() const {
    std::lock_guard lock(mutex_);
    return downs_;
  }
  [[nodiscard]] std::vector<gen::MessageDownAlias> AliasDowns() const {
    std::lock_guard lock(mutex_);
    return alias_downs_;
  }
  [[nodiscard]] std::vector<gen::MessageDownProcessID> NameDowns() const {
    std::lock_guard lock(mutex_);
    return name_downs_;
  }
  [[nodiscard]] std::vector<gen::MessageExitPID> Exits() const {
    std::lock_guard lock(mutex_);
    return exits_;
  }
  // Sent as messages.
  [[nodiscard]] std::vector<Answer> Answers() const {
    std::lock_guard lock(mutex_);
    return answers_;
  }
  // How many notices of the end of `pid` have come.
  [[nodiscard]] std::size_t DownsOf(gen::PID pid) const {
    std::size_t count = 0;
    for (const auto& down : Downs()) count += down.pid == pid ? 1 : 0;
    return count;
  }
  // The reason in the first of them; normal if there is none.
  [[nodiscard]] gen::Reason ReasonOf(gen::PID pid) const {
    for (const auto& down : Downs()) {
      if (down.pid == pid) return down.reason;
    }
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<gen::MessageDownPID> downs_;
  std::vector<gen::MessageDownAlias> alias_downs_;
  std::vector<gen::MessageDownProcessID> name_downs_;
  std::vector<gen::MessageExitPID> exits_;
  std::vector<Answer> answers_;
};
using InboxPtr = std::shared_ptr<Inbox>;

class Prober : public act::Actor {
 public:
  explicit Prober(InboxPtr inbox) : inbox_(std::move(inbox)) {}

  using Actor::Call;
  using Actor::CreateAlias;
  using Actor::DeleteAlias;
  using Actor::Demonitor;
  using Actor::Inspect;
  using Actor::Link;
  using Actor::Log;
  using Actor::Monitor;
  using Actor::Node;
  using Actor::RegisterEvent;
  using Actor::Self;
  using Actor::Send;
  using Actor::SendAfter;
  using Actor::SendEvent;
  using Actor::SendExit;
  using Actor::SendResponse;
  using Actor::SendResponseError;
  using Actor::SendWithPriority;
  using Actor::SetTrapExit;
  using Actor::Sleep;
  using Actor::Spawn;
  using Actor::SpawnRegister;
  using Actor::Unlink;
  using Actor::UnregisterEvent;

 protected:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* work = message.As<Do>()) {
      work->function(*this);
    } else if (const auto* quit = message.As<Quit>()) {
      return gen::Stop(quit->reason);
    } else if (!Collect<gen::MessageDownPID>(message) && !Collect<gen::MessageDownAlias>(message) &&
               !Collect<gen::MessageDownProcessID>(message) &&
               !Collect<gen::MessageExitPID>(message) && !Collect<Answer>(message)) {
      return Actor::HandleMessage(from, message);
    }
    return gen::Continue();
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    auto* work = request.As<Do>();
    if (work == nullptr) return Actor::HandleCall(from, ref, request);
    work->function(*this);
    return gen::Reply(true);
  }

 private:
  template <class T>
  bool Collect(gen::Message& message) {
    const T* value = message.As<T>();
    if (value != nullptr) inbox_->Add(*value);
    return value != nullptr;
  }

  InboxPtr inbox_;
};

// A prober as the test sees it. Must not outlive the node.
class ProberHandle {
 public:
  explicit ProberHandle(gen::Node& node, const gen::ProcessOptions& options = {})
      : node_(&node), pid_(node.Spawn(gen::Factory<Prober>(inbox_), options).value()) {}

  [[nodiscard]] gen::PID pid() const { return pid_; }
  [[nodiscard]] const Inbox& inbox() const { return *inbox_; }

  // Runs a function in the process's turn and waits for it. It ends the process if it throws.
  template <class F>
  gen::Result<bool> Run(F function) {
    return node_->Call<bool>(pid_, Do{std::move(function)}, {.timeout = kDeadline});
  }
  // As Run, without waiting.
  template <class F>
  void Start(F function) {
    node_->Send(pid_, Do{std::move(function)}).value();
  }
  void Quit(gen::Reason reason = gen::Reason::Normal()) {
    (void)node_->Send(pid_, kit::Quit{std::move(reason)});
  }
  // Monitors a process from now on; see inbox().
  void Watch(gen::PID pid) {
    Run([pid](Prober& self) { self.Monitor(pid).value(); }).value();
  }
  [[nodiscard]] bool EventuallyDown(gen::PID pid) const {
    return Eventually([&] { return inbox_->DownsOf(pid) > 0; });
  }

 private:
  gen::Node* node_;
  InboxPtr inbox_ = std::make_shared<Inbox>();
  gen::PID pid_;
};

}  // namespace ergon::kit
