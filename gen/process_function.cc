// A process made of a function: the behaviour behind node.Spawn([](gen::Process& self) { ... }).
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include <ergon/core/foundations/demangle.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/receiver.h>

namespace ergon::gen {
namespace {

class ProcessFunction final : public ProcessBehavior {
 public:
  // `type` is that of the function that the user wrote, for logs and inspections.
  ProcessFunction(std::function<Reason(Process&)> function, const std::type_info& type)
      : function_(std::move(function)), type_(type) {}

  Status ProcessInit(ProcessHost& host, const Args&) override {
    host_ = &host;
    return Continue();
  }
  Status ProcessRun() override { return Stop(function_(*host_)); }
  Status ProcessMessage(core::Envelope& envelope) override {
    if (static_cast<EnvelopeKind>(envelope.kind) == EnvelopeKind::kInspect) {
      (void)host_->SendResponse(SenderOf(envelope), RefOf(envelope), Inspection{});
      return Continue();
    }
    // Otherwise it is the outcome of a Request, for which no Receive can ask.
    Receiver* const receiver = host_->CurrentReceiver();
    if (receiver != nullptr && Receiver::MayWant(envelope)) receiver->TakeFrom(envelope);
    return Continue();
  }
  void ProcessTerminate(const Reason&) override {}
  [[nodiscard]] std::string BehaviorName() const override { return core::Demangle(type_.name()); }
  [[nodiscard]] bool Receives() const noexcept override { return true; }

 private:
  std::function<Reason(Process&)> function_;
  const std::type_info& type_;
  ProcessHost* host_ = nullptr;
};

}  // namespace

std::unique_ptr<ProcessBehavior> detail::MakeProcessFunction(
    std::function<Reason(Process&)> function, const std::type_info& type) {
  return std::make_unique<ProcessFunction>(std::move(function), type);
}

}  // namespace ergon::gen
