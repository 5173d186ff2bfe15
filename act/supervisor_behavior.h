// The handlers that a user of Supervisor writes.
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
  // Called first, with the arguments of the spawn. An error or an exception makes the spawn fail.
  virtual gen::Result<SupervisorSpec> Init(const gen::Args& args) = 0;
  // Called when the Init of a child is done, also after a restart. Stop(reason) ends the supervisor in order.
  virtual gen::Status HandleChildStart(gen::Atom name, gen::PID pid) = 0;
  // Called when a child that had started has ended, for whatever reason. Children that have to be restarted are
  // being restarted already.
  virtual gen::Status HandleChildTerminate(gen::Atom name, gen::PID pid,
                                           const gen::Reason& reason) = 0;
  // Called last, exactly once, if the supervisor had started. Its children have ended or are being killed.
  virtual void Terminate(const gen::Reason& reason) = 0;

 protected:
  SupervisorBehavior() = default;
  SupervisorBehavior(const SupervisorBehavior&) = default;
  SupervisorBehavior& operator=(const SupervisorBehavior&) = default;
  ~SupervisorBehavior() = default;
};

}  // namespace ergon::act
