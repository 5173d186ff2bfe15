#include <ergon/gen/process_function.h>

#include <utility>

#include <ergon/core/foundations/demangle.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/process_host.h>
#include <ergon/gen/receiver.h>

namespace ergon::gen {
Status ProcessFunction::ProcessInit(ProcessHost& host, const Args&) {
  host_ = &host;
  return Continue();
}

Status ProcessFunction::ProcessRun() { return Stop(function_(*host_)); }

Status ProcessFunction::ProcessMessage(core::Envelope& envelope) {
  if (static_cast<EnvelopeKind>(envelope.kind) == EnvelopeKind::kInspect) {
    (void)host_->SendResponse(SenderOf(envelope), RefOf(envelope), Inspection{});
    return Continue();
  }
  // Else it is the outcome of a Request, which nobody can ask for.
  Receiver* const receiver = host_->CurrentReceiver();
  if (receiver != nullptr && Receiver::MayWant(envelope)) receiver->Take(envelope);
  return Continue();
}

void ProcessFunction::ProcessTerminate(const Reason&) {}

std::unique_ptr<ProcessBehavior> detail::MakeProcessFunction(
    std::function<Reason(Process&)> function, const std::type_info& type) {
  return std::make_unique<ProcessFunction>(std::move(function), type);
}

std::string ProcessFunction::BehaviorName() const { return core::Demangle(type_.name()); }

}  // namespace ergon::gen
