// Where a message goes: a process by its PID, its name, or one of its aliases.
#pragma once

#include <cstdint>
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

  // How a message is addressed, as a number that travels with it (core::Envelope::Tag): 0: by the
  // PID; else a name of this node's program, or an alias's id.
  [[nodiscard]] std::uint64_t Tag() const noexcept {
    if (const auto* name = AsProcessID()) return kNameTag | name->name.Index();
    const auto* alias = AsAlias();
    return alias == nullptr ? 0 : alias->id;
  }
  static constexpr std::uint64_t kNameTag = std::uint64_t{1} << 63;  // ids of aliases have it not

  [[nodiscard]] std::string ToString() const {
    return std::visit([](const auto& value) { return value.ToString(); }, value_);
  }

 private:
  std::variant<PID, ProcessID, Alias> value_;
};

}  // namespace ergon::gen
