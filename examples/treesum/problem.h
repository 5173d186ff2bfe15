// What treesum could not do as asked, or found worth telling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace treesum {

enum class ProblemKind : std::uint8_t {
  kUnreadable,  // a file or directory that the system refuses to open or to read
  kVanished,    // it was there when its directory was read, and is not any more
  kBrokenLink,  // a symbolic link that leads nowhere
  kGivenTwice,  // reached by more than one argument; its files are listed once
  kNewline,     // a name with a newline: listed, escaped, but no script that reads lines expects it
  kSpecial,     // neither file nor directory nor link: a pipe, a socket, a device
  kUnprocessed,  // left out because its worker failed
};
inline constexpr std::size_t kProblemKinds = 7;

struct Problem {
  ProblemKind kind;
  std::string path;
  std::string reason;  // for people, as in "Permission denied"
};

// A failed system call on `path`: vanished for ENOENT, else unreadable.
[[nodiscard]] Problem SystemProblem(std::string_view path, int error_number);

// How many problems there were of each kind.
class ProblemCounts {
 public:
  void Add(ProblemKind kind) { ++counts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t Total() const;
  // As in "2 unreadable, 1 broken link".
  [[nodiscard]] std::string ToString() const;

 private:
  std::array<std::uint64_t, kProblemKinds> counts_{};
};

}  // namespace treesum
