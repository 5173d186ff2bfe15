// Names as small numbers: an atom is an interned string, equal exactly when its text is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/formatter.h>

namespace ergon::gen {

// Trivially copyable, four bytes. Texts are kept for the life of the program, about 140 bytes for each and 4,000,000 at
// most. So atoms are for names that a program has few of (processes, nodes, events), not for data. Atoms are not freed,
// because any copy of an atom must never come to mean another text. Functions that only look for a name (Send and Call
// to a text, Find) make no atom, so that input from outside costs nothing unless the program registers processes or
// events by it.
class Atom {
 public:
  // The longest text, in bytes (a limit of the Erlang distribution: 255 characters).
  static constexpr std::size_t kMaxBytes = 255;

  // The empty atom.
  constexpr Atom() = default;
  // Finds or makes the atom of `text`. Throws std::length_error if `text` is longer than kMaxBytes. Takes a lock; may
  // be called from any thread.
  Atom(
      std::string_view text);  // NOLINT(google-explicit-constructor): names are written as literals
  // Returns the atom of `text` if there is one. Never throws. Takes a lock; may be called from any thread.
  [[nodiscard]] static std::optional<Atom> Find(std::string_view text) noexcept;
  Atom(const char* text) : Atom(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Atom(const std::string& text) : Atom(std::string_view(text)) {}  // NOLINT

  // Returns the text, which is valid for ever. Takes no lock; may be called from any thread.
  [[nodiscard]] std::string_view Text() const noexcept;
  [[nodiscard]] std::string ToString() const { return std::string(Text()); }
  // For gen::Message::Describe.
  [[nodiscard]] std::string MessageText() const { return "atom '" + ToString() + "'"; }
  [[nodiscard]] bool empty() const noexcept { return index_ == 0; }

  // Returns the atom's number in this program; 0 is the empty atom.
  [[nodiscard]] std::uint32_t Index() const noexcept { return index_; }
  // Returns the atom with a number that Index() has returned.
  static Atom FromIndex(std::uint32_t index) noexcept {
    Atom atom;
    atom.index_ = index;
    return atom;
  }

  friend bool operator==(Atom, Atom) = default;
  // In the order of creation, for containers.
  friend auto operator<=>(Atom left, Atom right) { return left.index_ <=> right.index_; }

 private:
  std::uint32_t index_ = 0;
};

namespace detail {
// For a debugger: returns the addresses of arrays of kAtomChunk std::strings, the texts of all atoms by Index().
inline constexpr std::uint32_t kAtomChunk = 1024;
[[nodiscard]] const void* AtomChunks() noexcept;

// These stand around a fork (core::WatchForks), so that no other thread holds the lock of the atoms then.
void LockAtoms() noexcept;
void UnlockAtoms() noexcept;  // also in the new process
}  // namespace detail

}  // namespace ergon::gen

template <>
struct std::hash<ergon::gen::Atom> {
  std::size_t operator()(ergon::gen::Atom atom) const noexcept {
    return std::hash<std::uint32_t>()(atom.Index());
  }
};

template <>
struct fmt::formatter<ergon::gen::Atom> : ergon::gen::detail::FormatterOf<ergon::gen::Atom> {};
