// A state machine made of functions, which writes down what it handles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/state_machine.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/notices.h>

#include <kit/diary.h>

namespace ergon::kit {

enum class Phase : std::uint8_t { kIdle, kBusy, kDone };

class ScriptedMachine;

// A message or request that any machine answers by running the function; not written down.
struct Act {
  std::function<act::Transition(ScriptedMachine&, act::StateEvent&)> function;
};

// What is empty is as in the comments. What the functions refer to has to outlive the machine.
struct MachineScript {
  // GoTo(Phase::kIdle)
  std::function<act::Transition(ScriptedMachine&)> init = {};
  // Keep()
  std::function<act::Transition(ScriptedMachine&, act::StateEvent&)> handle = {};
  // Nothing, and it is not written down
  std::function<act::Entry(ScriptedMachine&)> enter = {};
};

// Writes, as in
//   idle 5              a message that is an int
//   idle ?5             such a request
//   idle !5             such an event that was raised
//   idle =5             such a value that was published
//   busy response 5
//   busy state time-out 5
//   busy down normal    and so on for notices
//   enter busy from idle
//   end normal
class ScriptedMachine : public act::StateMachine<Phase> {
 public:
  ScriptedMachine(MachineScript script, Diary* diary) : script_(std::move(script)), diary_(diary) {
    AddRow(Phase::kIdle, "idle");
    AddRow(Phase::kBusy, "busy");
    AddRow(Phase::kDone, "done");
  }

  using StateMachine::Call;
  using StateMachine::CurrentState;
  using StateMachine::Delegate;
  using StateMachine::GoTo;
  using StateMachine::Keep;
  using StateMachine::Monitor;
  using StateMachine::MonitorEvent;
  using StateMachine::Postpone;
  using StateMachine::Repeat;
  using StateMachine::Request;
  using StateMachine::Send;
  using StateMachine::SetTrapExit;
  using StateMachine::Sleep;
  using StateMachine::StateName;
  using StateMachine::Stop;
  using StateMachine::Unhandled;

 private:
  void AddRow(Phase phase, const char* name) {
    std::function<act::Entry(const Phase&)> entry;
    if (script_.enter) {
      entry = [this](const Phase& from) {
        const char* const kNames[] = {"idle", "busy", "done"};
        diary_->Add("enter " + StateName() + " from " + kNames[static_cast<int>(from)]);
        return script_.enter(*this);
      };
    }
    In(
        phase, name, [this](act::StateEvent& event) { return HandleEvent(event); },
        std::move(entry));
  }

  act::Transition Init(const gen::Args&) override {
    return script_.init ? script_.init(*this) : GoTo(Phase::kIdle);
  }
  act::Transition HandleEvent(act::StateEvent& event) {
    if (auto* work = event.As<Act>()) {
      const auto function = work->function;  // the event may be put aside
      return function(*this, event);
    }
    diary_->Add(StateName() + " " + Text(event));
    return script_.handle ? script_.handle(*this, event) : Keep();
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return {{"mine", "1"}, {"state", "not mine"}};
  }
  void Terminate(const gen::Reason& reason) override { diary_->Add("end " + reason.ToString()); }

  static std::string Number(const act::StateEvent& event) {
    const int* number = event.As<int>();
    return number == nullptr ? "" : std::to_string(*number);
  }
  static std::string Text(act::StateEvent& event) {
    if (const auto* exit = event.As<gen::MessageExitPID>())
      return "exit " + exit->reason.ToString();
    if (const auto* down = event.As<gen::MessageDownPID>())
      return "down " + down->reason.ToString();
    if (const auto* published = event.As<gen::MessageEvent>()) {
      return "=" + std::to_string(*published->As<int>());
    }
    switch (event.kind()) {
      case act::StateEventKind::kRequest:
        return "?" + Number(event);
      case act::StateEventKind::kRaised:
        return "!" + Number(event);
      case act::StateEventKind::kResponse:
        return "response " + (event.Is<int>() ? Number(event) : event.As<gen::Error>()->ToString());
      case act::StateEventKind::kMessage:
        return Number(event);
      default:
        return event.ToString() + (event.Is<int>() ? " " + Number(event) : "");
    }
  }

  MachineScript script_;
  Diary* diary_;
};

inline gen::ProcessFactory MakeMachine(MachineScript script, Diary& diary) {
  return gen::Factory<ScriptedMachine>(std::move(script), &diary);
}

}  // namespace ergon::kit
