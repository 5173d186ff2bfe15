#include "directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace treesum {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

// The first eight bytes as a number that is ordered as they are.
std::uint64_t Prefix(const char* text, std::size_t size) {
  unsigned char bytes[8] = {};
  std::memcpy(bytes, text, std::min(size, sizeof(bytes)));
  std::uint64_t prefix = 0;
  for (unsigned char byte : bytes) prefix = prefix << 8 | byte;
  return prefix;
}

}  // namespace

EntryKind KindOf(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return EntryKind::kFile;
  if (S_ISDIR(status.st_mode)) return EntryKind::kDirectory;
  if (S_ISLNK(status.st_mode)) return EntryKind::kLink;
  return EntryKind::kSpecial;
}

int Directory::Read(const char* path, const std::stop_token& stop) {
  Close();
  names_.clear();
  entries_.clear();
  descriptor_ = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return errno;
  int error = ReadEntries(stop);
  Sort();
  return error;
}

void Directory::Close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

// Without readdir(3), which would allocate and free its buffer for each directory.
int Directory::ReadEntries(const std::stop_token& stop) {
  // One is enough: a thread walks one tree.
  thread_local const std::unique_ptr<char[]> buffer(new char[kReadBytes]);
  while (!stop.stop_requested()) {
    ssize_t got = ::getdents64(descriptor_, buffer.get(), kReadBytes);
    if (got < 0) return errno;
    if (got == 0) return 0;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.get() + at);
      at += entry->d_reclen;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      switch (entry->d_type) {
        case DT_REG:
          Add(name, EntryKind::kFile);
          break;
        case DT_DIR:
          Add(name, EntryKind::kDirectory);
          break;
        case DT_LNK:
          Add(name, EntryKind::kLink);
          break;
        case DT_UNKNOWN: {
          // Some file systems do not say. What cannot be asked either is reported as a file.
          struct stat status {};
          int failed = ::fstatat(descriptor_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
          Add(name, failed != 0 ? EntryKind::kFile : KindOf(status));
          break;
        }
        default:
          Add(name, EntryKind::kSpecial);
      }
    }
  }
  return 0;
}

void Directory::Add(std::string_view name, EntryKind kind) {
  std::size_t offset = names_.size();
  if (offset > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a directory with more than 4 GiB of names");
  }
  names_ += name;
  if (kind == EntryKind::kDirectory) names_ += '/';
  entries_.push_back({Prefix(names_.data() + offset, names_.size() - offset),
                      static_cast<std::uint32_t>(offset), static_cast<std::uint16_t>(name.size()),
                      kind});
  names_ += '\0';
}

void Directory::Sort() {
  std::sort(entries_.begin(), entries_.end(), [this](const Entry& left, const Entry& right) {
    if (left.prefix != right.prefix) return left.prefix < right.prefix;
    return std::strcmp(names_.data() + left.offset, names_.data() + right.offset) < 0;
  });
}

int Directory::Status(struct stat& status) const {
  return ::fstat(descriptor_, &status) == 0 ? 0 : errno;
}

int Directory::Status(std::size_t index, const std::string& path, bool follow,
                      struct stat& status) const {
  int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  int failed = descriptor_ >= 0 ? ::fstatat(descriptor_, Name(index).data(), &status, flags)
                                : ::fstatat(AT_FDCWD, path.c_str(), &status, flags);
  return failed == 0 ? 0 : errno;
}

}  // namespace treesum
