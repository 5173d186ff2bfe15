#include <ergon/act/process_api.h>

#include <stdexcept>

namespace ergon::act {

void ProcessApi::ThrowNotStarted() {
  throw std::logic_error(
      "the process has not started: a constructor has no process yet, use it from Init on");
}

bool ProcessApi::Stash(const gen::Message& message) {
  gen::ProcessHost& host = Host();
  // It has been forwarded; the same text as for others that are not here.
  if (!message) {
    throw std::logic_error(
        "Stash: only the message being handled, and not answered, can be stashed");
  }
  return host.Stash(message.envelope());
}

gen::Result<void> ProcessApi::Forward(const gen::Target& to, gen::Message& message) {
  const char* problem = !message          ? "the message has been forwarded already"
                        : message.taken() ? "the message's value has been taken out of it"
                                          : nullptr;
  if (problem != nullptr) return gen::Error(gen::ErrorCode::kNotAllowed, problem);
  auto pid = Host().Resolve(to);
  if (!pid) return std::move(pid.error());
  auto passed = Host().PassOn(*pid, message.envelope());
  if (passed) message.Clear();
  return passed;
}

gen::CallResult ProcessApi::Delegate(const gen::Target& to, gen::Message& request) {
  auto forwarded = Forward(to, request);
  return forwarded ? gen::NoReply() : gen::ReplyError(std::move(forwarded.error()));
}

gen::Result<void> ProcessApi::HandOver(const gen::Target& to, gen::PID from, gen::Ref ref) {
  auto pid = Host().Resolve(to);
  if (!pid) return std::move(pid.error());
  return Host().HandOver(*pid, from, ref);
}

}  // namespace ergon::act
