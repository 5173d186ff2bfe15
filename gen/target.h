// Where a message goes: a process by its PID, its name, or one of its aliases.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>

namespace ergon::gen {

// Converts from each of them, so that functions need one signature. An Atom or a text is a name
// registered on this node.
class Target {
 public:
  Target(PID pid) : value_(pid) {}                         // NOLINT(google-explicit-constructor)
  Target(const ProcessID& name) : value_(name) {}          // NOLINT(google-explicit-constructor)
  Target(Alias alias) : value_(alias) {}                   // NOLINT(google-explicit-constructor)
  Target(Atom name) : value_(ProcessID{name, {}}) {}       // NOLINT(google-explicit-constructor)
  Target(const char* name) : Target(Atom(name)) {}         // NOLINT(google-explicit-constructor)
  Target(const std::string& name) : Target(Atom(name)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] const PID* AsPID() const noexcept { return std::get_if<PID>(&value_); }
  [[nodiscard]] const ProcessID* AsProcessID() const noexcept {
    return std::get_if<ProcessID>(&value_);
  }
  [[nodiscard]] const Alias* AsAlias() const noexcept { return std::get_if<Alias>(&value_); }

  [[nodiscard]] std::string ToString() const {
    return std::visit([](const auto& value) { return value.ToString(); }, value_);
  }

 private:
  std::variant<PID, ProcessID, Alias> value_;
};

}  // namespace ergon::gen
