// Writes terms of Erlang in external format, one after the other; archives and dist::Term are built on it. The bytes
// are without the version byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

// Appends terms to a text, which has to outlive the writer. One thread at a time. A term that contains other terms is
// written as its head and then its elements: as many as announced have to follow.
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
  // Throws std::invalid_argument if the value is not finite: all floats of Erlang are.
  void Float(double value);
  void Boolean(bool value);
  // Throws std::invalid_argument if the text is not UTF-8, or has more than 255 characters.
  void Atom(std::string_view text);
  // These throw std::length_error for more than 4,294,967,295 bytes or elements.
  void Binary(std::string_view bytes);
  void Tuple(std::size_t size);
  // `size` elements follow, and then the tail: Nil(), or another term for an improper list. If `size` is 0, only
  // the tail follows.
  void List(std::size_t size);
  void Nil();
  // `size` pairs of a key and its value follow. Erlang does not accept a map that has a key twice.
  void Map(std::size_t size);
  // Writes the characters as numbers, as "abc" of Erlang. Of a text that is not UTF-8 it writes the bytes.
  void Charlist(std::string_view text);
  // These throw as Atom does, for the name of the node.
  void Pid(const gen::PID& pid);
  void Reference(const dist::Reference& reference);
  // Appends terms as they are.
  void Raw(std::string_view terms) { out_.append(terms); }

  // Write a tuple or a map whose size is known only when all is written. Close... gets what Open...
  // has returned.
  [[nodiscard]] std::size_t OpenTuple();
  void CloseTuple(std::size_t opened, std::size_t size);
  [[nodiscard]] std::size_t OpenMap();
  void CloseMap(std::size_t opened, std::size_t size);

  [[nodiscard]] std::size_t position() const noexcept { return out_.size(); }
  // Removes what was written after `position`.
  void Truncate(std::size_t position) { out_.resize(position); }

 private:
  std::string& out_;
};

}  // namespace ergon::dist
