// Where a message goes: a process by its PID, its name, or one of its aliases.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// Converts from each of these, so that functions need one signature. An Atom or a text is a name registered on this
// node. A text that is not an atom does not become one: the target keeps the text, and looks for its atom again
// whenever it is resolved. Copying such a target takes a reference count; other targets take none.
class Target {
 public:
  Target(PID pid) : pid_(pid), kind_(Kind::kPID) {}  // NOLINT(google-explicit-constructor)
  Target(const ProcessID& name) : name_(name), kind_(Kind::kProcessID) {}  // NOLINT
  Target(Alias alias) : alias_(alias), kind_(Kind::kAlias) {}              // NOLINT
  Target(Atom name) : Target(ProcessID{name, {}}) {}                       // NOLINT
  Target(std::string_view name);                                           // NOLINT
  Target(const char* name) : Target(std::string_view(name)) {}             // NOLINT
  Target(const std::string& name) : Target(std::string_view(name)) {}      // NOLINT

  [[nodiscard]] const PID* AsPID() const noexcept { return kind_ == Kind::kPID ? &pid_ : nullptr; }
  [[nodiscard]] const ProcessID* AsProcessID() const noexcept {
    return kind_ == Kind::kProcessID ? &name_ : nullptr;
  }
  [[nodiscard]] const Alias* AsAlias() const noexcept {
    return kind_ == Kind::kAlias ? &alias_ : nullptr;
  }
  // Returns a name of this node that was not an atom when the target was made; else null.
  [[nodiscard]] const std::string* AsUnknownName() const noexcept { return unknown_name_.get(); }

  // Returns kIncorrect for a name of more than Atom::kMaxBytes; the text says so.
  [[nodiscard]] Result<void> Check() const;
  // Returns the same target, to be kept for later: its name is an atom from now on. Errors: as Check.
  [[nodiscard]] Result<Target> Kept() const;

  // Returns how a message is addressed, as a number that travels with it (core::Envelope::Tag). 0: by the PID; else a
  // name of this node's program, or an alias's id.
  [[nodiscard]] std::uint64_t Tag() const noexcept {
    if (const auto* name = AsProcessID()) return kNameTag | name->name.Index();
    if (AsUnknownName() != nullptr) [[unlikely]]
      return TagOfUnknownName();
    const auto* alias = AsAlias();
    return alias == nullptr ? 0 : alias->id;
  }
  static constexpr std::uint64_t kNameTag = std::uint64_t{1}
                                            << 63;  // alias ids never have this bit set

  [[nodiscard]] std::string ToString() const;

 private:
  enum class Kind : std::uint8_t { kPID, kProcessID, kAlias, kUnknownName };

  // Returns the tag of a name that may have become an atom by now.
  [[nodiscard]] std::uint64_t TagOfUnknownName() const noexcept;

  union {             // kind_ says which one
    PID pid_;         // NOLINT(readability-identifier-naming): as private as the union
    ProcessID name_;  // NOLINT(readability-identifier-naming)
    Alias alias_;     // NOLINT(readability-identifier-naming)
  };
  std::shared_ptr<const std::string> unknown_name_;  // with kUnknownName
  Kind kind_;
};

}  // namespace ergon::gen
