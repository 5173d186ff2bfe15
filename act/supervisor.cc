#include <ergon/act/supervisor.h>

#include <stdexcept>
#include <utility>

#include <ergon/act/supervisor/runner.h>

namespace ergon::act {

Supervisor::Supervisor() = default;
Supervisor::~Supervisor() = default;

gen::Status Supervisor::HandleChildStart(gen::Atom /*name*/, gen::PID /*pid*/) {
  return gen::Continue();
}

gen::Status Supervisor::HandleChildTerminate(gen::Atom /*name*/, gen::PID /*pid*/,
                                             const gen::Reason& /*reason*/) {
  return gen::Continue();
}

gen::Status Supervisor::HandleMessage(gen::PID from, gen::Message& message) {
  return UnhandledMessage(Host(), UnhandledLines(), from, message);
}

gen::CallResult Supervisor::HandleCall(gen::PID from, gen::Ref /*ref*/, gen::Message& request) {
  return UnhandledRequest(Host(), UnhandledLines(), from, request);
}

gen::Status Supervisor::HandleResponse(gen::Ref ref, gen::Response& response) {
  return UnhandledResponse(Log(), ref, response);
}

gen::Status Supervisor::HandleEvent(const gen::MessageEvent& event) {
  return UnhandledEvent(Host(), UnhandledLines(), event);
}

gen::Inspection Supervisor::HandleInspect(gen::PID /*from*/,
                                          const std::vector<std::string>& /*items*/) {
  return {};
}

void Supervisor::Terminate(const gen::Reason& /*reason*/) {}

// -- children --

gen::Result<void> Supervisor::MayManage(const char* function) const {
  const bool own = HasHost() && Host().InOwnTurn();
  if (own && runner_ != nullptr) return {};
  return gen::Error(
      gen::ErrorCode::kNotAllowed,
      fmt::format("{}: {}", function,
                  own ? "not before the end of Init" : "only in the supervisor's own handlers"));
}

gen::Result<gen::PID> Supervisor::StartChild(gen::Atom name, const gen::Args& args) {
  auto allowed = MayManage("StartChild");
  if (!allowed) return std::move(allowed.error());
  return runner_->FinishStart(runner_->commands().Start(name, args));
}

gen::Result<void> Supervisor::TerminateChild(gen::Atom name) {
  auto allowed = MayManage("TerminateChild");
  if (!allowed) return allowed;
  return runner_->Finish(runner_->commands().Terminate(name));
}

gen::Result<void> Supervisor::TerminateChild(gen::PID pid) {
  auto allowed = MayManage("TerminateChild");
  if (!allowed) return allowed;
  return runner_->Finish(runner_->commands().Terminate(pid));
}

gen::Result<void> Supervisor::RestartChild(gen::Atom name) {
  auto allowed = MayManage("RestartChild");
  if (!allowed) return allowed;
  return runner_->Finish(runner_->commands().Restart(name));
}

gen::Result<void> Supervisor::DisableChild(gen::Atom name) {
  auto allowed = MayManage("DisableChild");
  if (!allowed) return allowed;
  return runner_->Finish(runner_->commands().Disable(name));
}

gen::Result<gen::PID> Supervisor::EnableChild(gen::Atom name) {
  auto allowed = MayManage("EnableChild");
  if (!allowed) return std::move(allowed.error());
  return runner_->FinishStart(runner_->commands().Enable(name));
}

gen::Result<gen::PID> Supervisor::AddChild(const SupervisorChildSpec& child) {
  auto allowed = MayManage("AddChild");
  if (!allowed) return std::move(allowed.error());
  return runner_->FinishStart(runner_->commands().Add(child));
}

gen::Result<void> Supervisor::DeleteChild(gen::Atom name) {
  auto allowed = MayManage("DeleteChild");
  if (!allowed) return allowed;
  return runner_->commands().Delete(name);
}

std::vector<SupervisorChild> Supervisor::Children() const {
  if (!Host().InOwnTurn()) throw std::logic_error("only in the supervisor's own handlers");
  return runner_ == nullptr ? std::vector<SupervisorChild>() : runner_->Children();
}

void Supervisor::SetTrapExit(bool trap) {
  Host().SetHeedExits(!trap);  // throws in a constructor, as everywhere
  trap_exit_ = trap;
}

bool Supervisor::TrapExit() const {
  (void)Host();
  return trap_exit_;
}

// -- the process --

gen::Status Supervisor::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  SetHost(host);
  host.SetTrapExit(true);  // to outlive its children
  host.SetHeedExits(true);
  auto spec = Init(args);
  if (!spec) return gen::Stop(spec.error());
  std::string problem = spec->Validate();
  if (!problem.empty()) return gen::Stop(gen::Reason::Error(std::move(problem)));
  runner_ = std::make_unique<SupervisorRunner>(host, static_cast<SupervisorBehavior&>(*this),
                                               std::move(*spec));
  gen::Status status = runner_->Start();
  if (status.stops()) runner_.reset();
  return status;
}

gen::Status Supervisor::ProcessMessage(core::Envelope& envelope) {
  return runner_->OnEnvelope(envelope, trap_exit_);
}

gen::Status Supervisor::ProcessStop(const gen::Reason& reason) {
  return runner_->BeginStop(reason);
}

void Supervisor::ProcessTerminate(const gen::Reason& reason) {
  if (runner_ == nullptr) return;  // Init has failed
  runner_->Terminate();
  TellUnhandled(Host(), UnhandledLines());
  Terminate(reason);
}

}  // namespace ergon::act
