// Starting a node: the entry to everything else.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>

#include <ergon/gen/node.h>
#include <ergon/gen/node_options.h>

namespace ergon::node {

class Runtime;

// Owns a running node; the functions are described at gen::Node. Movable; its destructor stops the node.
//
// The destructor waits for all handlers, so it must not run inside a handler: this ends the program
// with a message that names the handler. It runs there if a handler destroys the node, or if a handler
// calls exit() while the node is a static variable. Call Node().Stop() there instead, which
// only begins to stop the node, and let the owner destroy the node.
//
// A child made by fork() has the object but none of the node's threads; see gen::Node.
class Node final : public gen::Node {
 public:
  explicit Node(std::unique_ptr<Runtime> runtime);
  Node(Node&&) noexcept;
  Node& operator=(Node&&) noexcept;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() override;

  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) override;
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                              std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override;
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target& to,
                                                  core::EnvelopePtr& envelope,
                                                  std::chrono::nanoseconds delay) override;
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override;
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason) override;

  [[nodiscard]] std::vector<gen::Atom> Groups() const override;
  [[nodiscard]] std::vector<gen::PID> GroupMembers(gen::Atom group) const override;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom group) override;
  gen::Result<std::size_t> SendEnvelopesToGroup(
      gen::Atom group, const std::function<core::EnvelopePtr()>& make) override;

  [[nodiscard]] gen::Atom Name() const override;
  [[nodiscard]] gen::PID Self() const override;
  [[nodiscard]] gen::Log Log() override;
  [[nodiscard]] gen::Metrics& Metrics() override;
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options = {},
                              const gen::Args& args = {}) override;
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options = {},
                                      const gen::Args& args = {}) override;
  gen::Result<void> RegisterName(gen::Atom name, gen::PID pid) override;
  gen::Result<gen::PID> UnregisterName(gen::Atom name) override;
  gen::Result<void> JoinGroup(gen::Atom group, gen::PID pid) override;
  gen::Result<void> LeaveGroup(gen::Atom group, gen::PID pid) override;
  gen::Result<void> Kill(gen::PID pid) override;
  gen::Result<void> StopProcess(
      const gen::Target& to, std::chrono::nanoseconds timeout = gen::kDefaultCallTimeout) override;
  gen::Result<void> WaitProcess(const gen::Target& to,
                                std::chrono::nanoseconds timeout = gen::kInfinite) override;
  [[nodiscard]] gen::Result<gen::ProcessInfo> ProcessInfo(gen::PID pid) const override;
  [[nodiscard]] std::vector<gen::PID> ProcessList() const override;
  gen::Result<void> Suspend(const gen::Target& to,
                            std::chrono::nanoseconds timeout = gen::kDefaultCallTimeout) override;
  gen::Result<void> Resume(const gen::Target& to,
                           std::chrono::nanoseconds timeout = gen::kDefaultCallTimeout) override;
  gen::Result<void> SetLogLevel(gen::LogLevel level) override;
  gen::Result<void> SetProcessLogLevel(const gen::Target& to,
                                       std::optional<gen::LogLevel> level) override;
  gen::Result<void> SetMailboxSize(int messages) override;
  gen::Result<void> SetProcessMailboxSize(const gen::Target& to, int messages) override;
  gen::Result<void> Change(const gen::NodeChange& change) override;
  gen::Result<void> ReloadOptions() override;
  gen::Result<void> SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                       std::chrono::nanoseconds timeout) override;
  [[nodiscard]] gen::NodeInfo Info() const override;
  [[nodiscard]] gen::MessageBalance MessageBalance() const override;
  [[nodiscard]] std::vector<gen::DroppedMessage> LastDrops() const override;
  [[nodiscard]] std::vector<gen::WaitEdge> WaitForGraph() const override;
  void Dump(std::ostream& stream) const override;
  gen::Result<void> LoadApplication(const gen::ApplicationSpec& spec) override;
  gen::Result<void> UnloadApplication(gen::Atom name) override;
  gen::Result<void> StartApplication(gen::Atom name,
                                     const gen::ApplicationStartOptions& options = {}) override;
  gen::Result<void> StopApplicationForce(gen::Atom name) override;
  gen::Result<void> StopApplication(gen::Atom name,
                                    std::chrono::nanoseconds timeout = gen::kInfinite) override;
  [[nodiscard]] gen::Result<gen::ApplicationInfo> ApplicationInfo(gen::Atom name) const override;
  [[nodiscard]] std::vector<gen::Atom> Applications() const override;
  [[nodiscard]] gen::AnyValue FindEnv(std::string_view name) const override;
  [[nodiscard]] gen::Environment EnvList() const override;
  void SetEnv(std::string_view name, gen::AnyValue value) override;
  gen::Result<void> AddCronJob(const gen::CronJob& job) override;
  gen::Result<void> RemoveCronJob(gen::Atom name) override;
  gen::Result<void> EnableCronJob(gen::Atom name) override;
  gen::Result<void> DisableCronJob(gen::Atom name) override;
  [[nodiscard]] gen::Result<gen::CronJobInfo> CronJobInfo(gen::Atom name) const override;
  [[nodiscard]] std::vector<gen::CronJobInfo> CronJobs() const override;
  [[nodiscard]] std::vector<gen::CronRun> CronRuns(std::chrono::sys_seconds since,
                                                   std::chrono::seconds duration) const override;
  // Checks at once, instead of within a minute, which cron jobs are due. For programs that have set a `wall_clock` of
  // their own. Any thread.
  void CheckCronJobs();
  void Stop(const gen::Reason& why = gen::Reason::Shutdown()) override;
  void StopForce(const gen::Reason& why = gen::Reason::Shutdown()) override;
  [[nodiscard]] gen::Reason StopReason() const override;
  void Wait() override;
  gen::Result<void> WaitForSignal() override;
  void CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                         std::chrono::nanoseconds timeout,
                         std::function<void(gen::Result<core::EnvelopePtr>)> done) override;

 private:
  friend Runtime& RuntimeOf(gen::Node& node, const char* function);

  friend gen::Result<Node> Start(std::string_view name, const gen::NodeOptions& options);

  // The same node as its processes see it: it does not own the runtime.
  explicit Node(Runtime& runtime);

  // Returns what `verb` returns for the runtime, or why the runtime cannot be used any more.
  template <class Verb>
  std::invoke_result_t<Verb, Runtime&> IfUsable(Verb verb) const;
  // Does the same for functions that return no error. In a fork, where another thread may have held the locks, it does
  // nothing.
  template <class Verb>
  std::invoke_result_t<Verb, Runtime&> UnlessForked(Verb verb) const;
  // Does what IfUsable does, for a verb that blocks the calling thread: returns kNotAllowed on a thread that runs
  // handlers, with the name of the function.
  template <class Verb>
  std::invoke_result_t<Verb, Runtime&> IfItMayBlock(const char* function, Verb verb) const;
  static void End(Runtime* runtime) noexcept;

  std::unique_ptr<Runtime, void (*)(Runtime*) noexcept> runtime_;
};

// Starts a node. `name` has the form name@host, without spaces and control characters. Any thread.
// Errors, after which nothing is left of the node:
//   kIncorrect  the name or an option is wrong; the text names the field and the value
//   kInternal   threads, stacks or file descriptors that the node needs cannot be had; the text says which
//   kTaken         with dist::Erlang: EPMD knows a node of this name that runs
//   kNoConnection  with dist::Erlang: there is no EPMD, or it does not answer; the text says what was tried
gen::Result<Node> Start(std::string_view name, const gen::NodeOptions& options = {});

}  // namespace ergon::node
