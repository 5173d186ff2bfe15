// Gates hold a handler until the test lets it go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <ergon/act/actor.h>
#include <ergon/gen/node.h>

namespace ergon::kit {

// Holds threads. Opens when it is destroyed. Any thread.
class ThreadGate {
 public:
  ThreadGate() = default;
  ThreadGate(const ThreadGate&) = delete;
  ThreadGate& operator=(const ThreadGate&) = delete;
  ~ThreadGate() { Open(); }

  // Blocks the calling thread until the gate is open, which may be gone by the time it returns.
  void Enter() {
    const auto state = state_;
    state->Enter();
  }
  // Lets all go, now and later.
  void Open() { state_->Open(); }
  // How many have come so far.
  [[nodiscard]] int Entered() const { return state_->entered.load(); }

  // A function that enters, valid for longer than the gate.
  [[nodiscard]] auto Holder() const {
    return [state = state_] { state->Enter(); };
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    std::atomic<int> entered{0};

    void Enter() {
      std::unique_lock lock(mutex);
      entered.fetch_add(1);
      changed.wait(lock, [this] { return open; });
    }
    void Open() {
      std::lock_guard lock(mutex);
      open = true;
      changed.notify_all();
    }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The request of a process that wants to pass a Gate; answered with true when it may.
struct EnterGate {};

namespace detail {
struct OpenGate {};
struct AdmitSome {
  int count = 0;
};

class GateKeeper : public act::Actor {
 public:
  explicit GateKeeper(std::shared_ptr<std::atomic<int>> entered) : entered_(std::move(entered)) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (!request.Is<EnterGate>()) return Actor::HandleCall(from, ref, request);
    waiting_.emplace_back(from, ref);
    entered_->fetch_add(1);
    Admit();
    return gen::NoReply();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (message.Is<OpenGate>()) {
      open_ = true;
    } else if (const auto* some = message.As<AdmitSome>()) {
      admitted_ += some->count;
    } else {
      return Actor::HandleMessage(from, message);
    }
    Admit();
    return gen::Continue();
  }
  void Admit() {
    while (!waiting_.empty() && (open_ || admitted_ > 0)) {
      const auto [from, ref] = waiting_.front();
      waiting_.pop_front();
      // One that has been killed meanwhile takes no place.
      if (SendResponse(from, ref, true) && !open_) --admitted_;
    }
  }

  std::shared_ptr<std::atomic<int>> entered_;
  std::deque<std::pair<gen::PID, gen::Ref>> waiting_;
  int admitted_ = 0;
  bool open_ = false;
};
}  // namespace detail

// Holds processes without holding a thread: they pass by calling its process with EnterGate. Must
// not outlive the node.
class Gate {
 public:
  explicit Gate(gen::Node& node)
      : node_(&node), pid_(node.Spawn(gen::Factory<detail::GateKeeper>(entered_)).value()) {}

  [[nodiscard]] gen::PID pid() const { return pid_; }
  // Lets all go, now and later.
  void Open() { (void)node_->Send(pid_, detail::OpenGate{}); }
  // Lets so many go, in the order in which they came.
  void Admit(int count) { (void)node_->Send(pid_, detail::AdmitSome{count}); }
  // How many have come so far.
  [[nodiscard]] int Entered() const { return entered_->load(); }

 private:
  gen::Node* node_;
  std::shared_ptr<std::atomic<int>> entered_ = std::make_shared<std::atomic<int>>(0);
  gen::PID pid_;
};

}  // namespace ergon::kit
