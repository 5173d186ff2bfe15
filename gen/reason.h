// Why a process ended.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

enum class ReasonKind : std::uint8_t {
  kNormal,        // it was done
  kShutdown,      // it was asked to end in order
  kKill,          // it was ended at once
  kPanic,         // an exception left a handler
  kError,         // a reason of the user's own
  kNoProcess,     // monitors and links: there was no such process
  kNoConnection,  // monitors and links: the other node is gone
  kUnregistered,  // monitors of a name or an alias: the name or alias was given up, the process goes on
};

// Immutable and cheap to copy. Two reasons are equal when kind and text are.
class Reason {
 public:
  Reason() = default;  // normal

  static Reason Normal() { return Reason(); }
  static Reason Shutdown();
  // What a killed process ends with, as others see it, too: "killed".
  static Reason Kill();
  static Reason NoProcess();
  static Reason NoConnection();
  static Reason Unregistered();
  static Reason Panic(std::string what);
  // Makes a reason of the user's own. To an Erlang node a text goes as a binary, an atom as an atom: see gen::Error.
  static Reason Error(std::string text);
  template <std::same_as<Atom> Name>
  static Reason Error(Name name) {
    return OfAtom(name);
  }

  [[nodiscard]] ReasonKind kind() const noexcept { return rep_ ? rep_->kind : ReasonKind::kNormal; }
  [[nodiscard]] bool IsNormal() const noexcept { return kind() == ReasonKind::kNormal; }
  // Normal and shutdown are not failures.
  [[nodiscard]] bool IsFailure() const noexcept {
    return kind() != ReasonKind::kNormal && kind() != ReasonKind::kShutdown;
  }
  // Returns "normal", "shutdown", "killed", "noproc", "noconnection", "unregistered", "panic: <what> (handling
  // <type>)", or the user's text.
  [[nodiscard]] std::string ToString() const;
  // Returns the atom that the user's reason was made of, or the empty atom.
  [[nodiscard]] Atom AsAtom() const noexcept { return rep_ ? rep_->atom : Atom(); }

  friend bool operator==(const Reason& left, const Reason& right) noexcept {
    return left.kind() == right.kind() && left.text() == right.text();
  }

 private:
  struct Rep {
    ReasonKind kind;
    std::string text;
    Atom atom{};
  };
  static Reason OfAtom(Atom name);
  explicit Reason(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  [[nodiscard]] std::string_view text() const noexcept {
    return rep_ ? std::string_view(rep_->text) : std::string_view();
  }

  std::shared_ptr<const Rep> rep_;  // null: normal
};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::Reason> : ergon::gen::detail::FormatterOf<ergon::gen::Reason> {};
