// A process that keeps others running: it starts its children in order, restarts those that fail,
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
// Start. Each child is started when the Init of the one before is done, and registered by its name.
// If one fails, those that had started are ended in reverse order and the supervisor's own start
// fails with "child '<name>': <why>". With kSimpleOneForOne nothing is started.
//
// A child ends by itself: it is restarted if its strategy says so, under its name, with the same
// arguments and what that entails for others (SupervisorType). If its Init fails then, for
// whatever reason, or its factory throws, that is one more failure, and it is tried again, after
// what has arrived at the supervisor meanwhile, and after a back-off if there shall be one
// (SupervisorRestart). An Init that takes long delays nobody but the children that are to start after
// it; a factory runs in the supervisor's own turn. One that is not restarted stays in the list
// as ended, and a child of a template disappears. In all and rest for one a restart starts everybody
// concerned that is not temporary or disabled, also those that had ended.
//
// Too many restarts (SupervisorRestart): the children are ended and the supervisor ends with an
// error that begins with "restart intensity exceeded", which is a failure to its own supervisor.
//
// The end, for whatever reason but a kill or an exception in a handler: the children are asked to
// end one after the other in reverse order, those of templates all at once. A child handles what it
// has queued before; after its shutdown_timeout it is killed, and one that is still in its Init at
// once. Meanwhile the supervisor goes on handling messages. Children never outlive it.
//
// Inspection answers, besides what HandleInspect adds:
//   type, strategy       as in "one for one" and "permanent"
//   intensity, period    of SupervisorRestart
//   restarts             within the last period
//   children_total       children, running or not
//   children_running
//   child:<name>         as in "<demo@localhost.12.1> running restarts=0"; children of templates
//                        have a number behind it, as in "child:<name>:1"
//   state                running, stopping
class Supervisor : public ProcessApi, protected SupervisorBehavior {
 public:
  Supervisor();
  ~Supervisor() override;

 protected:
  gen::Result<SupervisorSpec> Init(const gen::Args& args) override = 0;
  // These do nothing. A child that is being ended or restarted by this supervisor counts as well.
  gen::Status HandleChildStart(gen::Atom name, gen::PID pid) override;
  gen::Status HandleChildTerminate(gen::Atom name, gen::PID pid,
                                   const gen::Reason& reason) override;
  // What is not of supervisor_requests.h; down notices, and exit signals if SetTrapExit(true).
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;
  // Adds to the supervisor's own keys, which it cannot change.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;
  void Terminate(const gen::Reason& reason) override;

  // -- children: in the supervisor's own handlers, after Init --
  //
  // Others use the requests of supervisor_requests.h. Errors, which change nothing:
  //   kProcessUnknown     no such child
  //   kChildRunning       it runs already, or what is asked for needs its end first
  //   kChildDisabled      it is disabled
  //   kNotAllowed         not in its present state, or not while the supervisor restarts several
  //                       children or is ending; the text says which. Or from elsewhere.
  //   kTaken, kIncorrect  AddChild: the name, or a field of the spec
  //   what the spawn of the child returned: then it is not running

  // Starts a child that is not running, or one more of a template, and returns when its Init is
  // done; the supervisor handles nothing else meanwhile. `args` come after those of the spec, also
  // when the child is restarted.
  gen::Result<gen::PID> StartChild(gen::Atom name, const gen::Args& args = {});
  // Asks a child to end, and returns at once; HandleChildTerminate tells when it has ended. It is
  // not restarted, unless StartChild or a restart of all or rest for one does so.
  gen::Result<void> TerminateChild(gen::Atom name);
  gen::Result<void> TerminateChild(gen::PID pid);
  // Asks a child to end, if it runs, and starts it when it has ended; returns at once. That does
  // not count as a restart.
  gen::Result<void> RestartChild(gen::Atom name);
  // As TerminateChild, but nothing starts it before EnableChild. Of a template: all its children.
  gen::Result<void> DisableChild(gen::Atom name);
  // Starts a disabled child, as StartChild; a template only may be used again, and PID() is
  // returned.
  gen::Result<gen::PID> EnableChild(gen::Atom name);
  // Adds a child behind the others and starts it, as StartChild; if that fails it is not added. A
  // template is only added, and PID() is returned.
  gen::Result<gen::PID> AddChild(const SupervisorChildSpec& child);
  // Takes a child out that does not run, or a template that has no children.
  gen::Result<void> DeleteChild(gen::Atom name);

  // In the order of their start; templates are not among them. Own handlers only; throws
  // std::logic_error elsewhere.
  [[nodiscard]] std::vector<SupervisorChild> Children() const;

  // Concerns exit signals of others than children.
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
