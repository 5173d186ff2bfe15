// Reading terms of Erlang in external format, one after the other: what archives and dist::Term are made of. Bytes are
// without the version byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

class AtomBudget;

enum class TermKind : std::uint8_t {
  kNothing,  // of a reader: the end
  kAtom,
  kInteger,  // of any size
  kFloat,
  kBinary,
  kBitstring,  // whose bits are not a number of bytes
  kTuple,
  kList,
  kMap,
  kPid,
  kPort,
  kReference,
  kFunction,
};

// As in "a binary", for texts of errors.
[[nodiscard]] std::string_view KindText(TermKind kind) noexcept;

// Reads terms one after the other. They must have been checked (dist::Term is; messages are before
// they come to a process) and have to outlive it. A function that returns false has read nothing:
// the next term is of another kind, or does not fit. Copies are cheap, and read on their own. One
// thread at a time.
class TermReader {
 public:
  // With a budget, atoms that are new to the program are counted by it.
  explicit TermReader(std::string_view checked, AtomBudget* atoms = nullptr) noexcept
      : bytes_(checked), atoms_(atoms) {}

  // Of the next term.
  [[nodiscard]] TermKind kind() const noexcept;
  [[nodiscard]] bool AtEnd() const noexcept { return at_ == bytes_.size(); }
  // How many bytes have been read.
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] AtomBudget* atoms() const noexcept { return atoms_; }

  bool ReadInteger(std::int64_t& value) noexcept;
  bool ReadUnsigned(std::uint64_t& value) noexcept;
  bool ReadFloat(double& value) noexcept;
  // A float or an integer, as the nearest double, if it is not too large.
  bool ReadNumber(double& value) noexcept;
  // The atoms true and false.
  bool ReadBoolean(bool& value) noexcept;
  // A view of what is read.
  bool ReadBinary(std::string_view& bytes) noexcept;
  // The text of an atom, in UTF-8.
  bool ReadAtomText(std::string& text);
  [[nodiscard]] bool NextIsAtom(std::string_view text) const;
  // These read nothing in case of an error. kIncorrect: it is something else. kNotAllowed: the
  // atom, or that of the node, is new to the program and may not be made. kUnsupported: it is
  // longer than a gen::Atom may be.
  gen::Result<gen::Atom> ReadAtom();
  gen::Result<gen::PID> ReadPid();
  gen::Result<Reference> ReadReference();

  // Heads: the elements are next, of maps the keys each with its value behind it.
  bool EnterTuple(std::size_t& size) noexcept;
  bool EnterMap(std::size_t& size) noexcept;
  // A list has `size` elements, and behind them a tail, which is a list again. The empty list,
  // which ends all but improper ones, has neither. A charlist is read as a list like others.
  //
  //   while (reader.EnterList(size) && size != 0) {
  //     for (; size != 0; --size) ... ;
  //   }
  bool EnterList(std::size_t& size) noexcept;

  void Skip();
  // The next term, which is left out; valid as long as what is read.
  [[nodiscard]] std::string_view ReadTerm();

 private:
  [[nodiscard]] bool InString() const noexcept { return string_left_ != 0; }
  [[nodiscard]] std::string_view Rest() const noexcept { return bytes_.substr(at_); }
  template <class T>
  [[nodiscard]] T NumberAt(std::size_t offset) const noexcept;
  // The size of the atom at an offset from the next term, and where in that its text begins.
  [[nodiscard]] std::size_t AtomBytes(std::size_t offset, std::size_t& text) const noexcept;
  void LeaveStringByte() noexcept;
  // With a function of libei.
  template <class Wide, class T>
  bool ReadWhole(int (*decode)(const char*, int*, Wide*), T& value) noexcept;
  // Of a term, those of its own bytes; `inner` are the terms in it.
  [[nodiscard]] std::size_t OwnBytes(std::uint64_t& inner) const noexcept;
  bool ReadBig(double& value) noexcept;

  std::string_view bytes_;
  AtomBudget* atoms_;
  std::size_t at_ = 0;
  // Within a charlist: how many of its numbers are to come, and 1 for its end.
  std::size_t string_left_ = 0;
};

}  // namespace ergon::dist
