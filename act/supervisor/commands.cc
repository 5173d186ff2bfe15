#include <ergon/act/supervisor/commands.h>

#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {
namespace {

gen::Error UnknownChild(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, fmt::format("no child '{}'", name));
}
gen::Error NotAllowed(std::string text) {
  return gen::Error(gen::ErrorCode::kNotAllowed, std::move(text));
}

}  // namespace

SupervisorCommands::Key SupervisorCommands::Enter(const SupervisorChildSpec& child,
                                                  bool forgotten_unless_started) {
  auto spec = std::make_shared<const SupervisorChildSpec>(child);
  if (has_templates()) {
    children_.AddTemplate(std::move(spec));
    return 0;
  }
  const Key key = strategy_.Add({.name = child.name,
                                 .strategy = spec_.StrategyOf(child),
                                 .significant = child.significant,
                                 .forgotten_unless_started = forgotten_unless_started});
  children_.Add(key, std::move(spec));
  return key;
}

std::optional<SupervisorCommands::Outcome> SupervisorCommands::Request(core::Envelope& envelope) {
  if (const auto* start = envelope.ValueAs<StartChildRequest>()) {
    return Outcome{Start(start->name, start->args), true};
  }
  if (const auto* end = envelope.ValueAs<TerminateChildRequest>()) {
    return Outcome{end->pid ? Terminate(end->pid) : Terminate(end->name), false};
  }
  if (const auto* restart = envelope.ValueAs<RestartChildRequest>()) {
    return Outcome{Restart(restart->name), true};
  }
  if (const auto* enable = envelope.ValueAs<EnableChildRequest>()) {
    return Outcome{Enable(enable->name), true};
  }
  if (const auto* disable = envelope.ValueAs<DisableChildRequest>()) {
    return Outcome{Disable(disable->name), false, has_templates() ? disable->name : gen::Atom()};
  }
  if (const auto* add = envelope.ValueAs<AddChildRequest>()) return Outcome{Add(add->spec), true};
  if (const auto* remove = envelope.ValueAs<DeleteChildRequest>()) {
    auto removed = Delete(remove->name);
    return Outcome{removed ? gen::Result<Key>(Key{0}) : removed.error(), false};
  }
  return std::nullopt;
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::KeyOf(gen::Atom name) const {
  const auto key = children_.FindName(name);
  if (!key) return UnknownChild(name);
  return *key;
}

gen::Result<SupervisorChildren::Template*> SupervisorCommands::TemplateOf(gen::Atom name) {
  SupervisorChildren::Template* found = children_.FindTemplate(name);
  if (found == nullptr) return UnknownChild(name);
  return found;
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Start(gen::Atom name,
                                                               const gen::Args& args) {
  if (has_templates()) {
    auto origin = TemplateOf(name);
    if (!origin) return std::move(origin.error());
    auto allowed = strategy_.MayCommand();
    if (!allowed) return std::move(allowed.error());
    if ((*origin)->disabled) {
      return gen::Error(gen::ErrorCode::kChildDisabled, fmt::format("'{}'", name));
    }
    const Key key = strategy_.Add({.name = name,
                                   .strategy = spec_.StrategyOf(*(*origin)->spec),
                                   .forgotten_when_ended = true});
    children_.AddChildOf(**origin, key, args);
    (void)strategy_.Start(key);
    return key;
  }
  auto key = KeyOf(name);
  if (!key) return key;
  auto started = strategy_.Start(*key);
  if (!started) return std::move(started.error());
  SupervisorChildren::Entry& entry = *children_.Find(*key);
  entry.args = entry.spec->args.With(args);
  return key;
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Stop(Key key,
                                                              SupervisionStrategy::Then then) {
  auto stopped = strategy_.Stop(key, then);
  if (!stopped) return std::move(stopped.error());
  const bool has_ended = strategy_.Find(key)->state == SupervisionStrategy::State::kEnded;
  return has_ended ? 0 : key;
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Terminate(gen::Atom name) {
  if (has_templates()) {
    auto origin = TemplateOf(name);
    if (!origin) return std::move(origin.error());
    return NotAllowed(fmt::format("'{}' is a template: a child's PID is needed", name));
  }
  auto key = KeyOf(name);
  if (!key) return key;
  return Stop(*key, SupervisionStrategy::Then::kStay);
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Terminate(gen::PID pid) {
  const auto key = children_.FindProcess(pid);
  if (!key) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, fmt::format("{} is no child", pid));
  }
  return Stop(*key, SupervisionStrategy::Then::kStay);
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Restart(gen::Atom name) {
  if (has_templates()) {
    auto origin = TemplateOf(name);
    if (!origin) return std::move(origin.error());
    return NotAllowed(fmt::format("'{}' is a template and does not run", name));
  }
  auto key = KeyOf(name);
  if (!key) return key;
  return Stop(*key, SupervisionStrategy::Then::kStart);
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Enable(gen::Atom name) {
  if (has_templates()) {
    auto origin = TemplateOf(name);
    if (!origin) return std::move(origin.error());
    auto allowed = strategy_.MayCommand();
    if (!allowed) return std::move(allowed.error());
    if (!(*origin)->disabled) return NotAllowed(fmt::format("child '{}' is not disabled", name));
    (*origin)->disabled = false;
    return Key{0};
  }
  auto key = KeyOf(name);
  if (!key) return key;
  auto enabled = strategy_.Enable(*key);
  if (!enabled) return std::move(enabled.error());
  return key;
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Disable(gen::Atom name) {
  if (!has_templates()) {
    auto key = KeyOf(name);
    if (!key) return key;
    return Stop(*key, SupervisionStrategy::Then::kDisable);
  }
  auto origin = TemplateOf(name);
  if (!origin) return std::move(origin.error());
  auto allowed = strategy_.MayCommand();
  if (!allowed) return std::move(allowed.error());
  (*origin)->disabled = true;
  for (const auto& [key, entry] : children_.all()) {
    // Refused for those that are being ended already.
    if (entry.template_name == name) (void)strategy_.Stop(key, SupervisionStrategy::Then::kStay);
  }
  return Key{0};
}

gen::Result<SupervisorCommands::Key> SupervisorCommands::Add(const SupervisorChildSpec& child) {
  std::string problem = spec_.ValidateChild(child, "");
  if (!problem.empty()) return gen::Error(gen::ErrorCode::kIncorrect, std::move(problem));
  const bool taken = has_templates() ? children_.FindTemplate(child.name) != nullptr
                                     : children_.FindName(child.name).has_value();
  if (taken) {
    return gen::Error(gen::ErrorCode::kTaken, fmt::format("there is a child '{}'", child.name));
  }
  auto allowed = strategy_.MayCommand();
  if (!allowed) return std::move(allowed.error());
  const Key key = Enter(child, true);
  if (key != 0) (void)strategy_.Start(key);
  return key;
}

gen::Result<void> SupervisorCommands::Delete(gen::Atom name) {
  if (has_templates()) {
    auto origin = TemplateOf(name);
    if (!origin) return std::move(origin.error());
    auto allowed = strategy_.MayCommand();
    if (!allowed) return allowed;
    if ((*origin)->children != 0) {
      return NotAllowed(fmt::format("template '{}' has {}", name,
                                    core::Counted((*origin)->children, "child", "children")));
    }
    children_.EraseTemplate(name);
    return {};
  }
  auto key = KeyOf(name);
  if (!key) return std::move(key.error());
  auto removed = strategy_.Remove(*key);
  if (removed) children_.Erase(*key);
  return removed;
}

}  // namespace ergon::act
