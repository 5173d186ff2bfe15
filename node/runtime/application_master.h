// The process behind a running application: parent of its processes, which it starts in order and
// ends in reverse order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ergon/gen/application.h>
#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::node {

// Notified of a running application by the process behind it.
class ApplicationObserver {
 public:
  virtual void SetProcesses(gen::Atom name, gen::PID pid, bool alive) = 0;
  // Returns false if somebody has asked for the end of this run already.
  virtual bool Starting(gen::Atom name, gen::PID master) = 0;
  virtual void Running(gen::Atom name, std::int64_t now) = 0;
  virtual void Stopping(gen::Atom name) = 0;
  virtual void Ended(gen::Atom name, const gen::Reason& reason) = 0;
  // Returns whether somebody has asked for the end of this run while it was starting: the master may be killed later.
  [[nodiscard]] virtual bool IsEndedByForce(gen::Atom name) const = 0;
  // Returns whether the node ends by force: then it kills all processes.
  [[nodiscard]] virtual bool NodeKillsAll() const = 0;

 protected:
  ~ApplicationObserver() = default;
};

class ApplicationMaster final : public gen::ProcessBehavior {
 public:
  // A message: the master kills all processes and ends.
  struct StopForce {};

  // `observer` outlives this.
  ApplicationMaster(ApplicationObserver& observer, std::shared_ptr<const gen::ApplicationSpec> spec)
      : observer_(observer), spec_(std::move(spec)) {}

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;

 private:
  struct Member {
    const gen::ApplicationProcess* what;
    gen::PID pid;
    gen::Ref monitor;
  };

  gen::Result<gen::PID> StartMember(const gen::ApplicationProcess& what);
  void UndoStart();
  std::vector<Member>::iterator FindMember(gen::PID pid);
  gen::Status MemberEnded(gen::PID pid, const gen::Reason& reason);
  // Returns whether this reason is no failure, but the end of the node.
  [[nodiscard]] bool IsByNode(const gen::Reason& reason) const {
    return reason.kind() == gen::ReasonKind::kKill && observer_.NodeKillsAll();
  }
  // Kills a process whose time to end is up.
  void KillLate(gen::PID child);
  gen::Status BeginStop(const gen::Reason& reason);
  // Asks the last process to end, or ends the master when there is none.
  gen::Status EndNext();
  gen::Status EndAllAtOnce();

  ApplicationObserver& observer_;
  const std::shared_ptr<const gen::ApplicationSpec> spec_;
  gen::ProcessHost* host_ = nullptr;
  std::vector<Member> members_;  // alive, in the order of their start
  gen::TimerHandle killer_;      // of the one that is being ended
  gen::Reason stop_reason_;
  std::optional<gen::Reason> first_failure_;  // of one of its processes
  bool is_running_ = false;                   // all its processes have been started
  bool stopping_ = false;
  bool at_once_ = false;        // all its processes have been killed
  bool asked_to_stop_ = false;  // by StopApplication, or the node ends
  gen::LimitedLines unhandled_lines_;
};

}  // namespace ergon::node
