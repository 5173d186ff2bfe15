// Reads control tuples: the parts of signals that are not their payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/pid_head.h>

namespace ergon::dist {

// Reads terms one after the other. They have been checked as terms before, see terms/check.h; this class checks whether
// they are what a signal has at that place. A function returns false, and reads nothing, if the next term is something
// else. Texts are views of the bytes that are read.
class ControlReader {
 public:
  // `max_depth`: the depth with which the terms were checked.
  ControlReader(std::string_view terms, std::size_t max_depth)
      : rest_(terms), max_depth_(max_depth) {}

  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  // Reads the head of a tuple of 255 elements at most; its elements are next.
  bool ReadTuple(std::size_t& size) noexcept;
  // Reads the head of a list; its elements are next, and then its end: an empty list if the list is proper.
  bool ReadList(std::size_t& size) noexcept;
  bool ReadEmptyList() noexcept;
  // Skips a list of numbers up to 255, which has a form of its own.
  bool ReadString() noexcept;
  // Reads the text of an atom in UTF-8. An atom in Latin-1, which old nodes write, is read only if it is ASCII.
  bool ReadAtom(std::string_view& text) noexcept;
  // Reads an integer from 0 to 2^64 - 1.
  bool ReadNumber(std::uint64_t& number) noexcept;
  // Reads the PID of a process of that node.
  bool ReadPid(const PidHead& node, gen::PID& pid) noexcept;
  bool ReadPid(gen::Atom node, gen::PID& pid) noexcept;
  // Reads the PID of a process of any node; `node` is the name in it.
  bool ReadPid(std::string_view& node, gen::PID& pid) noexcept;
  // Reads a reference; `reference` is the whole term.
  bool ReadReference(std::string_view& reference);
  // Reads a term of any kind.
  bool ReadTerm(std::string_view& term);

  // Returns the next term for an error's text, as in "a PID of 'a@b'".
  [[nodiscard]] std::string DescribeNext() const;

 private:
  [[nodiscard]] bool NextIs(std::uint8_t tag) const noexcept {
    return !rest_.empty() && static_cast<std::uint8_t>(rest_.front()) == tag;
  }

  std::string_view rest_;
  const std::size_t max_depth_;
};

}  // namespace ergon::dist
