#include <ergon/node/node.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/node/delivery/envelope_marks.h>
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

Node::Node(std::unique_ptr<Runtime> runtime) : runtime_(runtime.release(), &End) {}
Node::Node(Runtime& runtime) : runtime_(&runtime, [](Runtime*) noexcept {}) {}
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Runtime& RuntimeOf(gen::Node& node, const char* function) {
  if (auto* known = dynamic_cast<Node*>(&node)) return *known->runtime_;
  throw std::logic_error(std::string(function) + ": not a node that node::Start has made");
}

void Node::End(Runtime* runtime) noexcept {
  std::unique_ptr<Runtime> owned(runtime);
  if (owned->IsForked()) return KeepForEver(std::move(owned));
  owned->CheckMayBeDestroyed();
}

gen::Result<Node> Start(std::string_view name, const gen::NodeOptions& options) {
  auto checked = CheckNodeName(name);
  if (!checked) return std::move(checked.error());
  auto runtime = Runtime::Start(gen::Atom(name), options, [](Runtime& made) {
    return std::unique_ptr<gen::Node>(new Node(made));
  });
  if (!runtime) return std::move(runtime.error());
  return Node(std::move(*runtime));
}

template <class Verb>
std::invoke_result_t<Verb, Runtime&> Node::IfUsable(Verb verb) const {
  if (!runtime_->IsUsable()) [[unlikely]]
    return runtime_->WhyNotUsable();
  return verb(*runtime_);
}

template <class Verb>
std::invoke_result_t<Verb, Runtime&> Node::UnlessForked(Verb verb) const {
  if (runtime_->IsForked()) [[unlikely]]
    return std::invoke_result_t<Verb, Runtime&>();
  return verb(*runtime_);
}

template <class Verb>
std::invoke_result_t<Verb, Runtime&> Node::IfItMayBlock(const char* function, Verb verb) const {
  return IfUsable([&](Runtime& runtime) -> std::invoke_result_t<Verb, Runtime&> {
    auto may_block = runtime.outside_calls_.CheckMayBlock(function);
    if (!may_block) return std::move(may_block.error());
    return verb(runtime);
  });
}

// ---- sending

gen::Result<gen::PID> Node::Resolve(const gen::Target& target) const {
  return IfUsable([&](Runtime& runtime) { return runtime.addresses_.Resolve(target); });
}

gen::Result<void> Node::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  return IfUsable([&](Runtime& runtime) {
    auto sent = runtime.delivery_.DeliverFromNode(to, envelope);
    if (!sent && IsImportant(*envelope) && runtime.addresses_.TransportTo(to) != nullptr) {
      return runtime.outside_calls_.SendImportant(to, envelope);
    }
    return sent;
  });
}

gen::Result<void> Node::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                           std::chrono::nanoseconds timeout) {
  return IfUsable(
      [&](Runtime& runtime) { return runtime.outside_calls_.SendOrWait(to, envelope, timeout); });
}

gen::Result<void> Node::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                             core::EnvelopePtr response) {
  return IfUsable([&](Runtime& runtime) {
    response->from = Self().ToAddress();
    return runtime.delivery_.Respond(from, ref.id, std::move(response));
  });
}

gen::Result<gen::TimerHandle> Node::SendEnvelopeAfter(const gen::Target& to,
                                                      core::EnvelopePtr& envelope,
                                                      std::chrono::nanoseconds delay) {
  return IfUsable([&](Runtime& runtime) {
    envelope->from = Self().ToAddress();
    return runtime.delayed_sends_.Start(to, envelope, delay);
  });
}

gen::Result<gen::TimerHandle> Node::SendEnvelopesEvery(const gen::Target& to,
                                                       std::function<core::EnvelopePtr()> make,
                                                       std::chrono::nanoseconds period) {
  return IfUsable([&](Runtime& runtime) {
    return runtime.periodic_sends_.Start(Self(), to, std::move(make), period);
  });
}

gen::Result<void> Node::SendExit(const gen::Target& to, gen::Reason reason) {
  return IfUsable(
      [&](Runtime& runtime) { return runtime.exit_signals_.SendExit(Self(), to, reason); });
}

// ---- groups

std::vector<gen::Atom> Node::Groups() const {
  return UnlessForked([](Runtime& runtime) { return runtime.groups_.Names(); });
}
std::vector<gen::PID> Node::GroupMembers(gen::Atom group) const {
  return UnlessForked([&](Runtime& runtime) { return runtime.groups_.Members(group); });
}
gen::Result<gen::PID> Node::OneOf(gen::Atom group) {
  return IfUsable([&](Runtime& runtime) { return runtime.groups_.OneOf(group); });
}

gen::Result<std::size_t> Node::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  return IfUsable([&](Runtime& runtime) {
    const auto make_noted = [&] {
      core::EnvelopePtr envelope = make();
      runtime.delivery_.NoteSent(*envelope);
      return envelope;
    };
    return runtime.groups_.Send(Self(), group, make_noted, [&] { runtime.totals_.accepted.Add(); });
  });
}

gen::Result<void> Node::JoinGroup(gen::Atom group, gen::PID pid) {
  return IfUsable([&](Runtime& runtime) { return runtime.groups_.Join(group, pid); });
}
gen::Result<void> Node::LeaveGroup(gen::Atom group, gen::PID pid) {
  return IfUsable([&](Runtime& runtime) { return runtime.groups_.Leave(group, pid); });
}

// ---- calls

gen::Result<core::EnvelopePtr> Node::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                  std::chrono::nanoseconds timeout) {
  return IfUsable([&](Runtime& runtime) {
    return runtime.outside_calls_.Call(to, std::move(request), timeout);
  });
}

void Node::CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                             std::chrono::nanoseconds timeout,
                             std::function<void(gen::Result<core::EnvelopePtr>)> done) {
  if (!runtime_->IsUsable()) return done(runtime_->WhyNotUsable());
  runtime_->outside_calls_.CallAsync(to, std::move(request), timeout, std::move(done));
}

// ---- processes

gen::Result<gen::PID> Node::Spawn(const gen::ProcessFactory& factory,
                                  const gen::ProcessOptions& options, const gen::Args& args) {
  return IfUsable([&](Runtime& runtime) {
    return runtime.outside_calls_.Spawn(
        {.factory = factory, .options = options, .args = args, .parent = Self()});
  });
}

gen::Result<gen::PID> Node::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                          const gen::ProcessOptions& options,
                                          const gen::Args& args) {
  return IfUsable([&](Runtime& runtime) -> gen::Result<gen::PID> {
    if (name.empty()) return Incorrect("name: must not be empty");
    return runtime.outside_calls_.Spawn(
        {.factory = factory, .options = options, .args = args, .parent = Self(), .name = name});
  });
}

gen::Result<void> Node::RegisterName(gen::Atom name, gen::PID pid) {
  return IfUsable([&](Runtime& runtime) { return runtime.registry_.RegisterName(name, pid); });
}
gen::Result<gen::PID> Node::UnregisterName(gen::Atom name) {
  return IfUsable([&](Runtime& runtime) { return runtime.registry_.UnregisterName(name); });
}
gen::Result<void> Node::Kill(gen::PID pid) {
  return IfUsable([&](Runtime& runtime) { return runtime.exit_signals_.Kill(pid); });
}

gen::Result<void> Node::StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  const auto stop = [&](Runtime& runtime) -> gen::Result<void> {
    auto asked = CheckNotNegative("timeout", timeout);  // before anything is asked
    auto pid = asked ? runtime.addresses_.Resolve(to) : gen::Result<gen::PID>(asked.error());
    if (!pid) return std::move(pid.error());
    asked = runtime.exit_signals_.StopAfterQueue(*pid, gen::Reason::Normal());
    return asked ? runtime.outside_calls_.WaitProcess(*pid, timeout) : asked;
  };
  return timeout.count() == 0 ? IfUsable(stop) : IfItMayBlock("StopProcess", stop);
}

gen::Result<void> Node::WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  if (runtime_->IsForked()) [[unlikely]]
    return runtime_->WhyNotUsable();  // else it has ended, which is what was waited for
  return runtime_->outside_calls_.WaitProcess(to, timeout);
}

gen::Result<void> Node::Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return IfUsable([&](Runtime& runtime) {
    return runtime.outside_calls_.AskToHold(to, gen::EnvelopeKind::kSuspend, timeout);
  });
}

gen::Result<void> Node::Resume(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return IfUsable([&](Runtime& runtime) {
    return runtime.outside_calls_.AskToHold(to, gen::EnvelopeKind::kResume, timeout);
  });
}

// ---- changes

gen::Result<void> Node::Change(const gen::NodeChange& change) {
  return IfUsable([&](Runtime& runtime) { return runtime.changes_.Change(change); });
}

gen::Result<void> Node::SetLogLevel(gen::LogLevel level) { return Change({.log_level = level}); }

gen::Result<void> Node::SetProcessLogLevel(const gen::Target& to,
                                           std::optional<gen::LogLevel> level) {
  return IfUsable([&](Runtime& runtime) { return runtime.changes_.SetProcessLogLevel(to, level); });
}

gen::Result<void> Node::SetMailboxSize(int messages) { return Change({.mailbox_size = messages}); }

gen::Result<void> Node::SetProcessMailboxSize(const gen::Target& to, int messages) {
  return IfUsable(
      [&](Runtime& runtime) { return runtime.changes_.SetProcessMailboxSize(to, messages); });
}

gen::Result<void> Node::ReloadOptions() {
  return IfUsable([&](Runtime& runtime) { return runtime.changes_.Reload(*this); });
}

// ---- views

gen::Atom Node::Name() const { return runtime_->addresses_.node(); }
gen::PID Node::Self() const { return runtime_->addresses_.NodePid(); }
gen::Log Node::Log() { return gen::Log(runtime_->log_); }
gen::Metrics& Node::Metrics() { return runtime_->user_metrics_; }

gen::Result<gen::ProcessInfo> Node::ProcessInfo(gen::PID pid) const {
  return IfUsable([&](Runtime& runtime) {
    auto info = runtime.inspection_.ProcessInfo(pid);
    if (info) info->application = runtime.applications_.NameOf(info->leader);
    return info;
  });
}

std::vector<gen::PID> Node::ProcessList() const {
  return UnlessForked([](Runtime& runtime) { return runtime.inspection_.ProcessList(); });
}
gen::MessageBalance Node::MessageBalance() const {
  return UnlessForked([](Runtime& runtime) { return runtime.inspection_.MessageBalance(); });
}
std::vector<gen::DroppedMessage> Node::LastDrops() const {
  return UnlessForked([](Runtime& runtime) { return runtime.drops_.Newest(); });
}
std::vector<gen::WaitEdge> Node::WaitForGraph() const {
  return UnlessForked([](Runtime& runtime) { return runtime.wait_graph_.Edges(); });
}

void Node::Dump(std::ostream& stream) const {
  if (runtime_->IsForked()) {
    stream << fmt::format("{}: {}\n", Name(), runtime_->WhyNotUsable().ToString());
  } else {
    const Transport* const transport = runtime_->transport();
    runtime_->dump_.Write(
        stream, Info(), transport != nullptr ? transport->Describe() : std::vector<std::string>());
  }
}

gen::NodeInfo Node::Info() const {
  if (!runtime_->IsForked()) return runtime_->Info();
  gen::NodeInfo info;
  info.name = Name();
  return info;
}

// ---- applications, environment, cron jobs

gen::Result<void> Node::LoadApplication(const gen::ApplicationSpec& spec) {
  return IfUsable([&](Runtime& runtime) { return runtime.applications_.Load(spec); });
}
gen::Result<void> Node::UnloadApplication(gen::Atom name) {
  return IfUsable([&](Runtime& runtime) { return runtime.applications_.Unload(name); });
}

gen::Result<void> Node::StartApplication(gen::Atom name,
                                         const gen::ApplicationStartOptions& options) {
  return IfItMayBlock("StartApplication",
                      [&](Runtime& runtime) { return runtime.applications_.Start(name, options); });
}

gen::Result<void> Node::StopApplicationForce(gen::Atom name) {
  return IfItMayBlock("StopApplicationForce",
                      [&](Runtime& runtime) { return runtime.applications_.StopForce(name); });
}

gen::Result<void> Node::StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) {
  return IfItMayBlock("StopApplication", [&](Runtime& runtime) {
    auto checked = CheckNotNegative("timeout", timeout);
    return checked ? runtime.applications_.Stop(name, timeout) : checked;
  });
}

gen::Result<gen::ApplicationInfo> Node::ApplicationInfo(gen::Atom name) const {
  return IfUsable(
      [&](Runtime& runtime) { return runtime.applications_.Info(name, runtime.clock_->Now()); });
}

std::vector<gen::Atom> Node::Applications() const {
  return UnlessForked([](Runtime& runtime) { return runtime.applications_.List(); });
}

gen::AnyValue Node::FindEnv(std::string_view name) const {
  return UnlessForked([&](Runtime& runtime) { return runtime.environment_.Find(name); });
}
gen::Environment Node::EnvList() const {
  return UnlessForked([](Runtime& runtime) { return *runtime.environment_.Get(); });
}
void Node::SetEnv(std::string_view name, gen::AnyValue value) {
  UnlessForked([&](Runtime& runtime) { runtime.environment_.Set(name, std::move(value)); });
}

gen::Result<void> Node::AddCronJob(const gen::CronJob& job) {
  return IfUsable([&](Runtime& runtime) { return runtime.cron_.Add(job); });
}
gen::Result<void> Node::RemoveCronJob(gen::Atom name) {
  return IfUsable([&](Runtime& runtime) { return runtime.cron_.Remove(name); });
}
gen::Result<void> Node::EnableCronJob(gen::Atom name) {
  return IfUsable([&](Runtime& runtime) { return runtime.cron_.Enable(name, true); });
}
gen::Result<void> Node::DisableCronJob(gen::Atom name) {
  return IfUsable([&](Runtime& runtime) { return runtime.cron_.Enable(name, false); });
}
gen::Result<gen::CronJobInfo> Node::CronJobInfo(gen::Atom name) const {
  return IfUsable([&](Runtime& runtime) { return runtime.cron_.Info(name); });
}

std::vector<gen::CronJobInfo> Node::CronJobs() const {
  return UnlessForked([](Runtime& runtime) { return runtime.cron_.List(); });
}
std::vector<gen::CronRun> Node::CronRuns(std::chrono::sys_seconds since,
                                         std::chrono::seconds duration) const {
  return UnlessForked([&](Runtime& runtime) { return runtime.cron_.Runs(since, duration); });
}

void Node::CheckCronJobs() {
  if (runtime_->IsUsable()) runtime_->cron_.Look();
}

// ---- its end

void Node::Stop(const gen::Reason& why) { runtime_->shutdown_.Stop(false, why); }
void Node::StopForce(const gen::Reason& why) { runtime_->shutdown_.Stop(true, why); }
gen::Reason Node::StopReason() const {
  return UnlessForked([](Runtime& runtime) { return runtime.shutdown_.Why(); });
}

void Node::Wait() {
  if (!runtime_->IsForked() && runtime_->outside_calls_.CheckMayBlock("Wait")) {
    runtime_->shutdown_.Wait();
  }
}

gen::Result<void> Node::WaitForSignal() {
  if (runtime_->IsForked()) [[unlikely]]
    return runtime_->WhyNotUsable();  // else it has stopped, which is what was waited for
  auto may_block = runtime_->outside_calls_.CheckMayBlock("WaitForSignal");
  if (!may_block) return may_block;
  return runtime_->shutdown_.WaitForSignal();
}

}  // namespace ergon::node
