#include <ergon/act/process_api.h>

#include <stdexcept>

namespace ergon::act {

void ProcessApi::ThrowNotStarted() {
  throw std::logic_error(
      "the process has not started: a constructor has no process yet, use it from Init on");
}

bool ProcessApi::Stash(gen::Message& message) {
  gen::ProcessHost& host = Host();
  // It has been forwarded; the same text as for others that are not here.
  if (!message) {
    throw std::logic_error(
        "Stash: only the message being handled, and not answered, can be stashed");
  }
  if (message.taken()) {
    throw std::logic_error("Stash: the message's value has been taken out of it");
  }
  const bool is_kept = host.Stash(message.envelope());
  if (!is_kept) message.Clear();
  return is_kept;
}

gen::Result<void> ProcessApi::Forward(const gen::Target& to, gen::Message& message) {
  const char* problem = !message          ? "the message has been forwarded already"
                        : message.taken() ? "the message's value has been taken out of it"
                                          : nullptr;
  if (problem != nullptr) return gen::Error(gen::ErrorCode::kNotAllowed, problem);
  auto pid = Host().Resolve(to);
  if (!pid) return std::move(pid.error());
  auto passed = Host().PassOn(*pid, message.envelope(), true);
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

gen::Result<void> ProcessApi::SendExit(const gen::Target& to, gen::Reason reason) {
  return Host().SendExit(to, std::move(reason));
}

gen::Result<void> ProcessApi::SendResponseError(gen::PID from, gen::Ref ref, gen::Error error) {
  return Host().SendResponseError(from, ref, std::move(error));
}

std::size_t ProcessApi::UnstashAll() { return Host().UnstashAll(); }

gen::Result<gen::Inspection> ProcessApi::Inspect(const gen::Target& to,
                                                 std::vector<std::string> items,
                                                 const gen::CallOptions& options) {
  return Host().Inspect(to, std::move(items), options);
}

gen::Result<gen::PID> ProcessApi::Spawn(const gen::ProcessFactory& factory,
                                        const gen::ProcessOptions& options, const gen::Args& args) {
  return Host().Spawn(factory, options, args);
}

gen::Result<gen::PID> ProcessApi::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                                const gen::ProcessOptions& options,
                                                const gen::Args& args) {
  return Host().SpawnRegister(name, factory, options, args);
}

gen::Result<gen::Ref> ProcessApi::RegisterEvent(gen::Atom name, const gen::EventOptions& options) {
  return Host().RegisterEvent(name, options);
}

gen::Result<void> ProcessApi::RegisterName(gen::Atom name) { return Host().RegisterName(name); }

gen::Result<void> ProcessApi::UnregisterName() { return Host().UnregisterName(); }

gen::Result<gen::Alias> ProcessApi::CreateAlias() { return Host().CreateAlias(); }

gen::Result<void> ProcessApi::DeleteAlias(gen::Alias alias) { return Host().DeleteAlias(alias); }

gen::Result<void> ProcessApi::Link(const gen::Target& to, const gen::LinkOptions& options) {
  return Host().Link(to, options);
}

gen::Result<void> ProcessApi::Unlink(const gen::Target& to) { return Host().Unlink(to); }

gen::Result<gen::Ref> ProcessApi::Monitor(const gen::Target& to,
                                          const gen::MonitorOptions& options) {
  return Host().Monitor(to, options);
}

gen::Result<void> ProcessApi::Demonitor(gen::Ref ref) { return Host().Demonitor(ref); }

gen::Result<void> ProcessApi::UnregisterEvent(gen::Atom name) {
  return Host().UnregisterEvent(name);
}

gen::Result<std::vector<gen::MessageEvent>> ProcessApi::MonitorEvent(const gen::Event& event) {
  return Host().MonitorEvent(event);
}

gen::Result<void> ProcessApi::DemonitorEvent(const gen::Event& event) {
  return Host().DemonitorEvent(event);
}

gen::Result<std::vector<gen::MessageEvent>> ProcessApi::LinkEvent(const gen::Event& event) {
  return Host().LinkEvent(event);
}

gen::Result<void> ProcessApi::UnlinkEvent(const gen::Event& event) {
  return Host().UnlinkEvent(event);
}

gen::Result<void> ProcessApi::JoinGroup(gen::Atom group) { return Host().JoinGroup(group); }

gen::Result<void> ProcessApi::LeaveGroup(gen::Atom group) { return Host().LeaveGroup(group); }

gen::Result<std::vector<gen::PID>> ProcessApi::MonitorGroup(gen::Atom group) {
  return Host().MonitorGroup(group);
}

gen::Result<void> ProcessApi::DemonitorGroup(gen::Atom group) {
  return Host().DemonitorGroup(group);
}

std::vector<gen::PID> ProcessApi::GroupMembers(gen::Atom group) const {
  return Host().GroupMembers(group);
}

gen::Result<gen::PID> ProcessApi::OneOf(gen::Atom group) { return Host().OneOf(group); }

gen::Environment ProcessApi::EnvList() const { return Host().EnvList(); }

void ProcessApi::SetEnv(std::string_view name, gen::AnyValue value) {
  Host().SetEnv(name, std::move(value));
}

}  // namespace ergon::act
