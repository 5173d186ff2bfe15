// Checks the commands to a supervisor and brings them to its strategy and its children. Nothing is
// started or ended here; the actions of the strategy do this afterwards.
#pragma once

#include <optional>

#include <ergon/act/supervisor/children.h>
#include <ergon/act/supervisor/strategy.h>
#include <ergon/act/supervisor_spec.h>
#include <ergon/core/messages/envelope.h>

namespace ergon::act {

// The functions return the key of the child to wait for; 0: nothing is left to wait for. Errors are
// described at Supervisor.
class SupervisorCommands {
 public:
  using Key = SupervisionStrategy::Key;

  SupervisorCommands(const SupervisorSpec& spec, SupervisionStrategy& strategy,
                     SupervisorChildren& children)
      : spec_(spec), strategy_(strategy), children_(children) {}

  // Adds a child that is not started, or a template, without any check.
  Key Enter(const SupervisorChildSpec& child, bool forgotten_unless_started);

  struct Outcome {
    gen::Result<Key> key;
    bool until_started;            // wait until the child has started, else until it has ended
    gen::Atom template_name = {};  // not empty: wait until all its children have ended
  };
  // Carries out any request of supervisor_requests.h that changes something. Returns none for other requests.
  std::optional<Outcome> Request(core::Envelope& envelope);

  gen::Result<Key> Start(gen::Atom name, const gen::Args& args);
  gen::Result<Key> Terminate(gen::Atom name);
  gen::Result<Key> Terminate(gen::PID pid);
  gen::Result<Key> Restart(gen::Atom name);
  gen::Result<Key> Enable(gen::Atom name);
  gen::Result<Key> Disable(gen::Atom name);
  gen::Result<Key> Add(const SupervisorChildSpec& child);
  gen::Result<void> Delete(gen::Atom name);

 private:
  [[nodiscard]] bool has_templates() const {
    return spec_.type == SupervisorType::kSimpleOneForOne;
  }
  [[nodiscard]] gen::Result<Key> KeyOf(gen::Atom name) const;
  [[nodiscard]] gen::Result<SupervisorChildren::Template*> TemplateOf(gen::Atom name);
  gen::Result<Key> Stop(Key key, SupervisionStrategy::Then then);

  const SupervisorSpec& spec_;
  SupervisionStrategy& strategy_;
  SupervisorChildren& children_;
};

}  // namespace ergon::act
