// The process behind a running application: parent of its processes, which it starts in order and
// ends in reverse order.
#pragma once

#include <memory>
#include <vector>

#include <ergon/gen/application.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/process_host.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::node {

class Applications;

class ApplicationMaster final : public gen::ProcessBehavior {
 public:
  // `applications` outlives it, and is told what becomes of the application.
  ApplicationMaster(Applications& applications, std::shared_ptr<const gen::ApplicationSpec> spec)
      : applications_(applications), spec_(std::move(spec)) {}

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
  gen::Status MemberEnded(gen::PID pid, const gen::Reason& reason);
  gen::Status BeginStop(const gen::Reason& reason);
  // Asks the last process to end, or ends itself when there is none.
  gen::Status EndNext();

  Applications& applications_;
  const std::shared_ptr<const gen::ApplicationSpec> spec_;
  gen::ProcessHost* host_ = nullptr;
  std::vector<Member> members_;  // alive, in the order of their start
  gen::TimerHandle killer_;      // of the one that is being ended
  gen::Reason stop_reason_;
  bool stopping_ = false;
  bool asked_to_stop_ = false;  // by StopApplication or the end of the node
};

}  // namespace ergon::node
