#include <ergon/node/node.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/node/options/option_checks.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::node {
namespace {

// In a fork: it owns threads that do not exist there. Kept, so that nobody takes it for a leak.
void KeepForEver(std::unique_ptr<Runtime> runtime) {
  static auto* const kept = new std::vector<std::unique_ptr<Runtime>>;
  kept->push_back(std::move(runtime));
}

}  // namespace

Node::Node(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&& other) noexcept {
  if (this == &other) return *this;
  End();
  runtime_ = std::move(other.runtime_);
  return *this;
}
Node::~Node() { End(); }

Runtime& RuntimeOf(gen::Node& node, const char* function) {
  if (auto* runtime = dynamic_cast<Runtime*>(&node)) return *runtime;
  if (auto* owner = dynamic_cast<Node*>(&node)) return *owner->runtime_;
  throw std::logic_error(std::string(function) + ": not a node that node::Start has made");
}

void Node::End() noexcept {
  if (runtime_ == nullptr) return;
  if (runtime_->IsForked()) return KeepForEver(std::move(runtime_));
  runtime_->CheckMayBeDestroyed();
  runtime_.reset();
}

gen::Result<Node> Start(std::string_view name, const gen::NodeOptions& options) {
  auto checked = CheckNodeName(name);
  if (!checked) return std::move(checked.error());
  auto runtime = Runtime::Start(gen::Atom(name), options);
  if (!runtime) return std::move(runtime.error());
  return Node(std::move(*runtime));
}

// ---- everything else is the runtime's, as long as it is there

gen::Result<gen::PID> Node::Resolve(const gen::Target& target) const {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->Resolve(target);
}
gen::Result<void> Node::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendEnvelope(to, envelope);
}
gen::Result<core::EnvelopePtr> Node::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                  std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->CallEnvelope(to, std::move(request), timeout);
}
gen::Result<void> Node::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                             core::EnvelopePtr response) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendResponseEnvelope(from, ref, std::move(response));
}
gen::Result<gen::TimerHandle> Node::SendEnvelopeAfter(const gen::Target& to,
                                                      core::EnvelopePtr envelope,
                                                      std::chrono::nanoseconds delay) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendEnvelopeAfter(to, std::move(envelope), delay);
}
gen::Result<gen::TimerHandle> Node::SendEnvelopesEvery(const gen::Target& to,
                                                       std::function<core::EnvelopePtr()> make,
                                                       std::chrono::nanoseconds period) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendEnvelopesEvery(to, std::move(make), period);
}
gen::Result<void> Node::SendExit(const gen::Target& to, gen::Reason reason) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendExit(to, std::move(reason));
}
// In a fork another thread may have had the lock.
std::vector<gen::Atom> Node::Groups() const {
  return runtime_->IsForked() ? std::vector<gen::Atom>() : runtime_->Groups();
}
std::vector<gen::PID> Node::GroupMembers(gen::Atom group) const {
  return runtime_->IsForked() ? std::vector<gen::PID>() : runtime_->GroupMembers(group);
}
gen::Result<gen::PID> Node::OneOf(gen::Atom group) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->OneOf(group);
}
gen::Result<std::size_t> Node::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendEnvelopesToGroup(group, make);
}
gen::Result<void> Node::JoinGroup(gen::Atom group, gen::PID pid) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->JoinGroup(group, pid);
}
gen::Result<void> Node::LeaveGroup(gen::Atom group, gen::PID pid) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->LeaveGroup(group, pid);
}
gen::Atom Node::Name() const { return runtime_->Name(); }
gen::PID Node::Self() const { return runtime_->Self(); }
gen::Log Node::Log() { return runtime_->Log(); }
gen::Result<gen::PID> Node::Spawn(const gen::ProcessFactory& factory,
                                  const gen::ProcessOptions& options, const gen::Args& args) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->Spawn(factory, options, args);
}
gen::Result<gen::PID> Node::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                          const gen::ProcessOptions& options,
                                          const gen::Args& args) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SpawnRegister(name, factory, options, args);
}
gen::Result<void> Node::RegisterName(gen::Atom name, gen::PID pid) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->RegisterName(name, pid);
}
gen::Result<gen::PID> Node::UnregisterName(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->UnregisterName(name);
}
gen::Result<void> Node::Kill(gen::PID pid) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->Kill(pid);
}
gen::Result<void> Node::StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->StopProcess(to, timeout);
}
gen::Result<void> Node::WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  if (runtime_->IsForked()) [[unlikely]]
    return runtime_->WhyNotUsable();  // else it has ended, which is what was waited for
  return runtime_->WaitProcess(to, timeout);
}
gen::Result<gen::ProcessInfo> Node::ProcessInfo(gen::PID pid) const {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->ProcessInfo(pid);
}
std::vector<gen::PID> Node::ProcessList() const { return runtime_->ProcessList(); }
gen::Result<void> Node::Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->Suspend(to, timeout);
}

gen::Result<void> Node::Resume(const gen::Target& to, std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->Resume(to, timeout);
}

gen::Result<void> Node::SetLogLevel(gen::LogLevel level) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SetLogLevel(level);
}
gen::Result<void> Node::SetProcessLogLevel(const gen::Target& to,
                                           std::optional<gen::LogLevel> level) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SetProcessLogLevel(to, level);
}
gen::Result<void> Node::SetMailboxSize(int messages) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SetMailboxSize(messages);
}
gen::Result<void> Node::SetProcessMailboxSize(const gen::Target& to, int messages) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SetProcessMailboxSize(to, messages);
}
gen::Result<void> Node::ReloadOptions() {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->ReloadOptions();
}

gen::Result<void> Node::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                           std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->SendEnvelopeOrWait(to, envelope, timeout);
}

gen::NodeInfo Node::Info() const { return runtime_->Info(); }

gen::MessageBalance Node::MessageBalance() const { return runtime_->MessageBalance(); }

std::vector<gen::DroppedMessage> Node::LastDrops() const { return runtime_->LastDrops(); }

std::vector<gen::WaitEdge> Node::WaitForGraph() const { return runtime_->WaitForGraph(); }

void Node::Dump(std::ostream& stream) const { runtime_->Dump(stream); }

gen::Result<void> Node::LoadApplication(const gen::ApplicationSpec& spec) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->LoadApplication(spec);
}
gen::Result<void> Node::UnloadApplication(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->UnloadApplication(name);
}
gen::Result<void> Node::StartApplication(gen::Atom name,
                                         const gen::ApplicationStartOptions& options) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->StartApplication(name, options);
}
gen::Result<void> Node::StopApplicationForce(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->StopApplicationForce(name);
}
gen::Result<void> Node::StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->StopApplication(name, timeout);
}
gen::Result<gen::ApplicationInfo> Node::ApplicationInfo(gen::Atom name) const {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->ApplicationInfo(name);
}
std::vector<gen::Atom> Node::Applications() const { return runtime_->Applications(); }
gen::AnyValue Node::FindEnv(std::string_view name) const { return runtime_->FindEnv(name); }
gen::Environment Node::EnvList() const { return runtime_->EnvList(); }
void Node::SetEnv(std::string_view name, gen::AnyValue value) {
  runtime_->SetEnv(name, std::move(value));
}
gen::Result<void> Node::AddCronJob(const gen::CronJob& job) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->AddCronJob(job);
}
gen::Result<void> Node::RemoveCronJob(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->RemoveCronJob(name);
}
gen::Result<void> Node::EnableCronJob(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->EnableCronJob(name);
}
gen::Result<void> Node::DisableCronJob(gen::Atom name) {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->DisableCronJob(name);
}
gen::Result<gen::CronJobInfo> Node::CronJobInfo(gen::Atom name) const {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->CronJobInfo(name);
}
std::vector<gen::CronJobInfo> Node::CronJobs() const { return runtime_->CronJobs(); }
std::vector<gen::CronRun> Node::CronRuns(std::chrono::sys_seconds since,
                                         std::chrono::seconds duration) const {
  return runtime_->CronRuns(since, duration);
}
void Node::CheckCronJobs() {
  if (runtime_->IsUsable()) runtime_->CheckCronJobs();
}
void Node::Stop() { runtime_->Stop(); }
void Node::StopForce() { runtime_->StopForce(); }
void Node::Wait() { runtime_->Wait(); }
gen::Result<void> Node::WaitForSignal() {
  if (runtime_->IsForked()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return runtime_->WaitForSignal();
}
void Node::CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                             std::chrono::nanoseconds timeout,
                             std::function<void(gen::Result<core::EnvelopePtr>)> done) {
  if (!runtime_->IsUsable()) return done(runtime_->WhyNotUsable());
  runtime_->CallEnvelopeAsync(to, std::move(request), timeout, std::move(done));
}

}  // namespace ergon::node
