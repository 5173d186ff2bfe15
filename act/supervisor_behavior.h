// What a supervisor asks of its user.
#pragma once

#include <ergon/act/message_loop.h>
#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/args.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>

namespace ergon::act {

// Only Init has to be written; Supervisor has defaults for the others.
class SupervisorBehavior : public Callbacks {
 public:
  // First, with the arguments of the spawn. An error or an exception makes the spawn fail.
  virtual gen::Result<SupervisorSpec> Init(const gen::Args& args) = 0;
  // A child's Init is done, also after a restart. Stop(reason) ends the supervisor in order.
  virtual gen::Status HandleChildStart(gen::Atom name, gen::PID pid) = 0;
  // A child that had started has ended, for whatever reason; what has to be restarted is being
  // restarted already.
  virtual gen::Status HandleChildTerminate(gen::Atom name, gen::PID pid,
                                           const gen::Reason& reason) = 0;
  // Last, exactly once, if the supervisor had started; its children have ended, or are being killed.
  virtual void Terminate(const gen::Reason& reason) = 0;

 protected:
  SupervisorBehavior() = default;
  SupervisorBehavior(const SupervisorBehavior&) = default;
  SupervisorBehavior& operator=(const SupervisorBehavior&) = default;
  ~SupervisorBehavior() = default;
};

}  // namespace ergon::act
