// Reads terms of Erlang in external format, one after the other; archives and dist::Term are built on it. The bytes are
// without the version byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/terms/kind.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

class AtomBudget;

// Reads terms one after the other. The terms must have been checked (a dist::Term is, and so are messages before
// they come to a process) and have to outlive the reader. A function that returns false has read nothing:
// the next term is of another kind, or does not fit. Copies are cheap and read independently. One
// thread at a time.
class TermReader {
 public:
  // A budget counts the atoms that are new to the program.
  explicit TermReader(std::string_view checked, AtomBudget* atoms = nullptr) noexcept
      : bytes_(checked), atoms_(atoms) {}

  // Returns the kind of the next term.
  [[nodiscard]] TermKind kind() const noexcept;
  [[nodiscard]] bool AtEnd() const noexcept { return at_ == bytes_.size(); }
  // Returns how many bytes have been read.
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] AtomBudget* atoms() const noexcept { return atoms_; }

  bool ReadInteger(std::int64_t& value) noexcept;
  bool ReadUnsigned(std::uint64_t& value) noexcept;
  bool ReadFloat(double& value) noexcept;
  // Reads a float or an integer as the nearest double, if it is not too large.
  bool ReadNumber(double& value) noexcept;
  // Reads the atom true or false.
  bool ReadBoolean(bool& value) noexcept;
  // Reads a binary; `bytes` is a view of the reader's bytes.
  bool ReadBinary(std::string_view& bytes) noexcept;
  // Reads the text of an atom, in UTF-8.
  bool ReadAtomText(std::string& text);
  [[nodiscard]] bool NextIsAtom(std::string_view text) const;
  // These read nothing if they return an error: kIncorrect, if the next term is of another kind, or a process of
  // creation 0, which has been made before its node had a name; kNotAllowed, if the
  // atom, or the atom of the node, is new to the program and may not be made; kUnsupported, if it is
  // longer than a gen::Atom may be, or if the program has no room for more atoms.
  gen::Result<gen::Atom> ReadAtom();
  gen::Result<gen::PID> ReadPid();
  gen::Result<Reference> ReadReference();

  // These read the head of a term. Its elements are next; for a map, each key followed by its value.
  bool EnterTuple(std::size_t& size) noexcept;
  bool EnterMap(std::size_t& size) noexcept;
  // A list has `size` elements, and behind them a tail, which is a list again. The empty list,
  // which ends all lists except improper ones, has neither. A charlist is read as any other list.
  //
  //   while (reader.EnterList(size) && size != 0) {
  //     for (; size != 0; --size) ... ;
  //   }
  bool EnterList(std::size_t& size) noexcept;

  void Skip();
  // Skips the next term and returns its bytes, which are valid as long as the bytes of the reader.
  [[nodiscard]] std::string_view ReadTerm();

 private:
  [[nodiscard]] bool InString() const noexcept { return string_left_ != 0; }
  [[nodiscard]] std::string_view Rest() const noexcept { return bytes_.substr(at_); }
  template <class T>
  [[nodiscard]] T NumberAt(std::size_t offset) const noexcept;
  // Returns the size of the atom at an offset from the next term, and in `text` where its text begins.
  [[nodiscard]] std::size_t AtomBytes(std::size_t offset, std::size_t& text) const noexcept;
  void LeaveStringByte() noexcept;
  // Reads an integer with a function of libei.
  template <class Wide, class T>
  bool ReadWhole(int (*decode)(const char*, int*, Wide*), T& value) noexcept;
  // Returns the size of a term without the terms in it; `inner` counts those.
  [[nodiscard]] std::size_t OwnBytes(std::uint64_t& inner) const noexcept;
  bool ReadBig(double& value) noexcept;

  std::string_view bytes_;
  AtomBudget* atoms_;
  std::size_t at_ = 0;
  // Within a charlist: how many of its numbers are still to be read, plus 1 for its end.
  std::size_t string_left_ = 0;
};

}  // namespace ergon::dist
