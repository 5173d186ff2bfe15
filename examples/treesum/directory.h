// Reading one directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace treesum {

enum class EntryKind : std::uint8_t { kFile, kDirectory, kLink, kSpecial };

[[nodiscard]] EntryKind KindOf(const struct stat& status);

// Tells directories apart, however they are spelled.
struct DirectoryId {
  dev_t device = 0;
  ino_t inode = 0;
  friend auto operator<=>(const DirectoryId&, const DirectoryId&) = default;
};

[[nodiscard]] inline DirectoryId IdOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

// The entries of a directory, sorted so that a walk in this order visits files in the bytewise
// order of their whole paths: a directory counts as if its name had a slash at the end. ("a",
// "a-b", "a.c" stand in the order a-b, a.c, a if "a" is a directory, because "a-b" < "a.c" <
// "a/x".)
//
// An entry takes 16 bytes and its name, for directories with a million of them.
class Directory {
 public:
  Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { Close(); }

  // Opens it and reads all its names, or some, when the stop is requested meanwhile. Returns 0 or
  // an error number. It stays open until Close; may be called again for another one.
  int Read(const char* path, const std::stop_token& stop);
  void Close();

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Without the slash.
  [[nodiscard]] std::string_view Name(std::size_t index) const {
    const Entry& entry = entries_[index];
    return {names_.data() + entry.offset, entry.length};
  }
  [[nodiscard]] EntryKind Kind(std::size_t index) const { return entries_[index].kind; }

  // The directory itself. Returns 0 or an error number; needs it to be open.
  int Status(struct stat& status) const;
  // What an entry, not a directory, is now. `path` is its whole path; while the directory is open,
  // its name alone is looked up, which is faster. Returns 0 or an error number.
  int Status(std::size_t index, const std::string& path, bool follow, struct stat& status) const;

 private:
  struct Entry {
    std::uint64_t prefix;  // the first bytes of the name: most comparisons need no more
    std::uint32_t offset;
    std::uint16_t length;
    EntryKind kind;
  };

  int ReadEntries(const std::stop_token& stop);
  void Add(std::string_view name, EntryKind kind);
  void Sort();

  int descriptor_ = -1;
  std::string names_;  // of all entries; each with a slash, if it is a directory, and a zero
  std::vector<Entry> entries_;
};

}  // namespace treesum
