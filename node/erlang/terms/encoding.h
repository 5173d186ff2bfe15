// Terms of Erlang in external format, one after the other: what archives and dist::Term are made
// of. Bytes are without the version byte.
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

// Appends terms to a text, which has to outlive it. One thread at a time. Terms with others in them
// are written as their head, and then those: what has been announced has to follow.
//
//   writer.Tuple(2);
//   writer.Atom("ok");
//   writer.List(2);
//   writer.Integer(1);
//   writer.Integer(2);
//   writer.Nil();          // {ok, [1, 2]}
class TermWriter {
 public:
  explicit TermWriter(std::string& out) : out_(out) {}

  void Integer(std::int64_t value);
  void Unsigned(std::uint64_t value);
  // Throws std::invalid_argument when it is not finite, which no float of Erlang is.
  void Float(double value);
  void Boolean(bool value);
  // Throws std::invalid_argument when it is not UTF-8, or has more than 255 characters.
  void Atom(std::string_view text);
  // These throw std::length_error for more than 4,294,967,295 bytes or elements.
  void Binary(std::string_view bytes);
  void Tuple(std::size_t size);
  // `size` elements follow, and then the tail: Nil(), or anything else for an improper list. Of
  // none: only the tail.
  void List(std::size_t size);
  void Nil();
  // `size` pairs of a key and its value follow. Nobody accepts a map that has a key twice.
  void Map(std::size_t size);
  // The characters as numbers: "abc" of Erlang. Of a text that is not UTF-8, the bytes.
  void Charlist(std::string_view text);
  // Throw as Atom, for the node.
  void Pid(const gen::PID& pid);
  void Reference(const dist::Reference& reference);
  // Terms as they are.
  void Raw(std::string_view terms) { out_.append(terms); }

  // A tuple and a map whose size is known only when all is written; Close... gets what Open...
  // returned.
  [[nodiscard]] std::size_t OpenTuple();
  void CloseTuple(std::size_t opened, std::size_t size);
  [[nodiscard]] std::size_t OpenMap();
  void CloseMap(std::size_t opened, std::size_t size);

  [[nodiscard]] std::size_t position() const noexcept { return out_.size(); }
  // Forgets what was written since.
  void Truncate(std::size_t position) { out_.resize(position); }

 private:
  std::string& out_;
};

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
