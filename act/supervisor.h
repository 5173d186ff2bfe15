// A process that keeps other processes running: it starts its children in order, restarts children that fail,
// and ends them in reverse order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ergon/act/process_api.h>
#include <ergon/act/supervisor_behavior.h>
#include <ergon/act/supervisor_requests.h>
#include <ergon/act/supervisor_spec.h>

namespace ergon::act {

class SupervisorRunner;

//   class Root : public act::Supervisor {
//     gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
//       return act::SupervisorSpec{
//           .type = act::SupervisorType::kOneForOne,
//           .children = {{.name = "store", .factory = gen::Factory<Store>()},
//                        {.name = "jobs", .factory = gen::Factory<JobPool>()}},
//           .restart = {.strategy = act::SupervisorStrategy::kPermanent, .intensity = 5}};
//     }
//   };
//
// Start. Each child is started when the Init of the child before it is done, and is registered by its name.
// If a child fails to start, the children that have started are ended in reverse order and the supervisor's own
// start fails with "child '<name>': <why>". With kSimpleOneForOne no child is started.
//
// A child ends by itself. The supervisor restarts it if its strategy says so, under its name and with the same
// arguments; SupervisorType says which other children are restarted with it. If the Init of the restarted child
// fails, for whatever reason, or its factory throws, this is one more failure, and the supervisor tries again
// after it has handled what has arrived meanwhile, and after a back-off if there is one (SupervisorRestart). An
// Init that takes long delays only the children that start after it; a factory runs in the supervisor's own turn.
// A child that is not restarted stays in the list as ended; a child of a template disappears. With kAllForOne and
// kRestForOne a restart starts all children concerned but temporary and disabled ones, also those that had ended.
//
// Too many restarts (SupervisorRestart). The children are ended and the supervisor ends with an error that begins
// with "restart intensity exceeded", which its own supervisor counts as a failure.
//
// End of the supervisor, for any reason except a kill or an exception in a handler. The children are asked to
// end one after the other in reverse order, children of templates all at once. A child first handles what it
// has queued. It is killed after its shutdown_timeout; a child that is still in its Init is killed at once.
// Meanwhile the supervisor goes on handling what arrives. If it was asked to end after its queue (by its supervisor,
// its application, Node::StopProcess or the end of the node), it takes no more messages and requests with priority
// normal: their senders get an error. Children never outlive it.
//
// Inspect answers, besides what HandleInspect adds:
//   type, strategy       as in "one for one" and "permanent"
//   intensity, period    the fields of SupervisorRestart; the period in seconds
//   restarts             within the last period
//   children_total       children, running or not
//   children_running
//   child:<name>         as in "<demo@localhost.12.1> running restarts=0"; children of templates
//                        have a number behind their name, as in "child:<name>:1"
//   state                running, stopping
class Supervisor : public ProcessApi, protected SupervisorBehavior {
 public:
  Supervisor();
  ~Supervisor() override;

 protected:
  gen::Result<SupervisorSpec> Init(const gen::Args& args) override = 0;
  // The defaults do nothing. Both are also called for children that this supervisor ends or restarts.
  gen::Status HandleChildStart(gen::Atom name, gen::PID pid) override;
  gen::Status HandleChildTerminate(gen::Atom name, gen::PID pid,
                                   const gen::Reason& reason) override;
  // These two handle messages and requests other than those of supervisor_requests.h. HandleMessage also handles
  // down notices, and exit signals after SetTrapExit(true).
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;
  // Adds keys to the supervisor's own keys, which it cannot change.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;
  void Terminate(const gen::Reason& reason) override;

  // -- children: in the supervisor's own handlers, after Init --
  //
  // Other processes use the requests of supervisor_requests.h. An error changes nothing, but for the last one:
  //   kProcessUnknown     there is no such child
  //   kChildRunning       the child is running, or has to end before what is asked for
  //   kChildDisabled      the child is disabled
  //   kNotAllowed         not in the child's present state, or not while the supervisor restarts several
  //                       children or is ending; the text says which. Or called from elsewhere.
  //   kTaken, kIncorrect  AddChild: the name is taken, or a field of the spec is wrong
  //   what the spawn of the child returned; then the child is not running, but enabled, with the new arguments

  // Starts a child that is not running, or one more child of a template, and returns when its Init is
  // done. The supervisor handles nothing else meanwhile. `args` come after the arguments of the spec, also
  // when the child is restarted.
  gen::Result<gen::PID> StartChild(gen::Atom name, const gen::Args& args = {});
  // Asks a child to end and returns at once; HandleChildTerminate is called when it has ended. The child is not
  // started again, except by StartChild, RestartChild, or a restart with kAllForOne or kRestForOne.
  gen::Result<void> TerminateChild(gen::Atom name);
  gen::Result<void> TerminateChild(gen::PID pid);
  // Asks a child to end if it is running, and starts it when it has ended; returns at once. This does
  // not count as a restart.
  gen::Result<void> RestartChild(gen::Atom name);
  // Asks a child to end as TerminateChild does, and nothing starts it before EnableChild. For a template it ends
  // all its children.
  gen::Result<void> DisableChild(gen::Atom name);
  // Starts a disabled child, as StartChild does. A template is only enabled, and PID() is returned.
  gen::Result<gen::PID> EnableChild(gen::Atom name);
  // Adds a child behind the others and starts it, as StartChild does. If the start fails, the child is not added.
  // A template is only added, and PID() is returned.
  gen::Result<gen::PID> AddChild(const SupervisorChildSpec& child);
  // Removes a child that is not running, or a template that has no children.
  gen::Result<void> DeleteChild(gen::Atom name);

  // Returns the children in the order of their start, without templates; none before the end of Init. For own
  // handlers only; throws std::logic_error elsewhere.
  [[nodiscard]] std::vector<SupervisorChild> Children() const;

  // Says whether HandleMessage gets the exit signals of processes other than children.
  void SetTrapExit(bool trap) override;
  [[nodiscard]] bool TrapExit() const override;

 private:
  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  gen::Status ProcessStop(const gen::Reason& reason) final;
  void ProcessTerminate(const gen::Reason& reason) final;

  [[nodiscard]] gen::Result<void> MayManage(const char* function) const;

  bool trap_exit_ = false;                    // what the user wishes
  std::unique_ptr<SupervisorRunner> runner_;  // from the end of Init on
};

}  // namespace ergon::act
