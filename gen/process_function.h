// A process made of a function: the behaviour behind node.Spawn([](gen::Process& self) { ... }).
#pragma once

#include <functional>
#include <string>
#include <typeinfo>

#include <ergon/gen/process_behavior.h>

namespace ergon::gen {

class Process;

// Users write the function only; see ProcessFactory.
class ProcessFunction final : public ProcessBehavior {
 public:
  using Function = std::function<Reason(Process&)>;

  // `type` is the one of the function that the user wrote, for logs and inspections.
  ProcessFunction(Function function, const std::type_info& type)
      : function_(std::move(function)), type_(type) {}

  Status ProcessInit(ProcessHost& host, const Args& args) override;
  Status ProcessMessage(core::Envelope& envelope) override;
  Status ProcessRun() override;
  void ProcessTerminate(const Reason& reason) override;
  [[nodiscard]] std::string BehaviorName() const override;
  [[nodiscard]] bool Receives() const noexcept override { return true; }

 private:
  Function function_;
  const std::type_info& type_;
  ProcessHost* host_ = nullptr;
};

}  // namespace ergon::gen
