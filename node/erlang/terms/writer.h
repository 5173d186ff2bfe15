// Writing terms of Erlang in external format, one after the other: what archives and dist::Term are made of. Bytes are
// without the version byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

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

}  // namespace ergon::dist
