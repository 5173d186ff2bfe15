// A supervisor made of a spec, and what a test sees of its children.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/supervisor.h>
#include <ergon/gen/node.h>

#include <kit/diary.h>
#include <kit/eventually.h>

namespace ergon::kit {

class SpecSupervisor;

// The supervisor runs the function in its turn; the request is answered with true.
struct ManageChildren {
  std::function<void(SpecSupervisor&)> function;
};

// `diary` may be null, and outlives it.
class SpecSupervisor : public act::Supervisor {
 public:
  explicit SpecSupervisor(act::SupervisorSpec spec, Diary* diary = nullptr)
      : spec_(std::move(spec)), diary_(diary) {}

  using Supervisor::AddChild;
  using Supervisor::Call;
  using Supervisor::Children;
  using Supervisor::DeleteChild;
  using Supervisor::DisableChild;
  using Supervisor::EnableChild;
  using Supervisor::RestartChild;
  using Supervisor::SetTrapExit;
  using Supervisor::StartChild;
  using Supervisor::TerminateChild;
  using Supervisor::TrapExit;

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override { return spec_; }
  gen::Status HandleChildStart(gen::Atom name, gen::PID) override {
    Write("start " + name.ToString());
    return gen::Continue();
  }
  gen::Status HandleChildTerminate(gen::Atom name, gen::PID, const gen::Reason& reason) override {
    Write("end " + name.ToString() + ": " + reason.ToString());
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    auto* manage = request.As<ManageChildren>();
    if (manage == nullptr) return Supervisor::HandleCall(from, ref, request);
    manage->function(*this);
    return gen::Reply(true);
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* exit = message.As<gen::MessageExitPID>()) {
      Write("exit: " + exit->reason.ToString());
      return gen::Continue();
    }
    return Supervisor::HandleMessage(from, message);
  }
  void Terminate(const gen::Reason& reason) override { Write("terminate: " + reason.ToString()); }

  void Write(std::string line) {
    if (diary_ != nullptr) diary_->Add(std::move(line));
  }

  const act::SupervisorSpec spec_;
  Diary* diary_;
};

inline gen::ProcessFactory MakeSupervisor(act::SupervisorSpec spec, Diary* diary = nullptr) {
  return gen::Factory<SpecSupervisor>(std::move(spec), diary);
}

inline std::vector<act::SupervisorChild> ChildrenOf(gen::Node& node,
                                                    const gen::Target& supervisor) {
  return node
      .Call<std::vector<act::SupervisorChild>>(supervisor, act::ChildrenRequest{},
                                               {.timeout = kDeadline})
      .value();
}

// The process of a child, or PID() while it does not run.
inline gen::PID ChildOf(gen::Node& node, const gen::Target& supervisor, gen::Atom name) {
  for (const auto& child : ChildrenOf(node, supervisor)) {
    if (child.name == name && child.state == act::SupervisorChildState::kRunning) return child.pid;
  }
  return {};
}

// Waits until the child runs as another process than `before`, and returns that; PID() if not.
inline gen::PID EventuallyNew(gen::Node& node, const gen::Target& supervisor, gen::Atom name,
                              gen::PID before) {
  gen::PID now;
  const bool found = Eventually([&] {
    now = ChildOf(node, supervisor, name);
    return now && now != before;
  });
  return found ? now : gen::PID();
}

}  // namespace ergon::kit
