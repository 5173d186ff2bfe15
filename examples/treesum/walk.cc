#include "walk.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "directory.h"
#include "text.h"

namespace treesum {
namespace {

// Directories deeper than this are closed while what lies below them is walked, so that there are
// always enough file descriptors.
constexpr std::size_t kMaxOpenDirectories = 100;

std::string LinkTarget(const std::string& path) {
  char target[4096];
  ssize_t size = ::readlink(path.c_str(), target, sizeof(target));
  return {target, size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string SpecialName(const struct stat& status) {
  if (S_ISFIFO(status.st_mode)) return "a named pipe";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  if (S_ISCHR(status.st_mode)) return "a character device";
  if (S_ISBLK(status.st_mode)) return "a block device";
  return "a special file";
}

// An argument.
struct Root {
  std::string path;  // of a directory: with a slash at the end
  bool is_directory = false;
  std::uint64_t size = 0;
  DirectoryId directory;  // of a file: the one it is in
  std::string name;       // of a file: its name there
};

// What the arguments say about a directory. Files are known by their directory and their name
// there: an inode would not tell a file from another hard link to it, which is listed on its own.
struct Mentioned {
  bool as_argument = false;
  bool visited = false;
  std::map<std::string, bool, std::less<>> files;  // arguments that are in it: whether visited
};

class TreeWalk {
 public:
  TreeWalk(const WalkOptions& options, WalkVisitor& visitor)
      : options_(options), visitor_(visitor) {}

  void Run(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      if (!AddRoot(argument)) return;
    }
    // As in the order of whole paths.
    std::stable_sort(roots_.begin(), roots_.end(),
                     [](const Root& left, const Root& right) { return left.path < right.path; });
    for (const Root& root : roots_) {
      if (!WalkRoot(root)) return;
    }
  }

 private:
  // A directory on the way from a root to the current file.
  struct Level {
    Directory directory;
    std::size_t next = 0;            // the entry to visit
    std::size_t path_length = 0;     // of the directory's path, with its slash
    bool has_newline = false;        // in its name, which was not reported yet
    Mentioned* mentioned = nullptr;  // null: by no argument
  };

  // -- arguments --

  bool AddRoot(const std::string& argument) {
    struct stat status {};
    if (::stat(argument.c_str(), &status) != 0) return ReportBadArgument(argument, errno);
    Root root;
    root.path = argument;
    switch (KindOf(status)) {
      case EntryKind::kDirectory:
        root.is_directory = true;
        root.directory = IdOf(status);
        mentioned_[root.directory].as_argument = true;
        if (!root.path.ends_with('/')) root.path += '/';
        break;
      case EntryKind::kFile: {
        std::size_t slash = argument.rfind('/');
        std::string parent = slash == std::string::npos ? "." : argument.substr(0, slash + 1);
        root.name = slash == std::string::npos ? argument : argument.substr(slash + 1);
        root.size = static_cast<std::uint64_t>(status.st_size);
        if (::stat(parent.c_str(), &status) != 0) return ReportBadArgument(argument, errno);
        root.directory = IdOf(status);
        mentioned_[root.directory].files[root.name] = false;
        break;
      }
      default:
        return ReportSpecial(argument, status);
    }
    roots_.push_back(std::move(root));
    return true;
  }

  bool ReportBadArgument(const std::string& argument, int error) {
    struct stat status {};
    if (::lstat(argument.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
      return ReportLinkThatFails(argument, error);
    }
    // It cannot have vanished: nobody has seen it.
    return visitor_.OnProblem(
        {ProblemKind::kUnreadable, argument, std::system_category().message(error)});
  }

  // -- the walk --

  bool WalkRoot(const Root& root) {
    path_ = root.path;
    depth_ = 0;
    if (!root.is_directory) {
      bool again = std::exchange(mentioned_[root.directory].files[root.name], true);
      return again ? ReportFileTwice() : List(path_, root.size);
    }
    if (!Enter()) return false;
    while (depth_ > 0) {
      Level& level = *levels_[depth_ - 1];
      if (level.next == level.directory.size()) {
        level.directory.Close();
        --depth_;
        continue;
      }
      path_.resize(level.path_length);
      path_ += level.directory.Name(level.next);
      if (!Visit(level, level.next++)) return false;
    }
    return true;
  }

  // Goes one level down, to the directory `path_`, which ends with a slash.
  bool Enter() {
    if (levels_.size() == depth_) levels_.push_back(std::make_unique<Level>());
    Level& level = *levels_[depth_];
    int error = level.directory.Read(path_.c_str(), options_.stop);
    if (options_.stop.stop_requested()) return false;
    if (error != 0) {
      // What could be read of it is walked.
      if (!visitor_.OnProblem(SystemProblem(DirectoryName(), error))) return false;
      if (level.directory.size() == 0) {
        level.directory.Close();
        return true;
      }
    }
    level.next = 0;
    const std::size_t parent = depth_ == 0 ? 0 : levels_[depth_ - 1]->path_length;
    level.has_newline = HasNewline(std::string_view(path_).substr(parent));
    level.path_length = path_.size();
    level.mentioned = nullptr;
    if (roots_.size() > 1) {
      // One argument may lead to what another one does too.
      level.mentioned = FindMentioned(level.directory);
      if (level.mentioned != nullptr && level.mentioned->as_argument &&
          std::exchange(level.mentioned->visited, true)) {
        level.directory.Close();
        return visitor_.OnProblem({ProblemKind::kGivenTwice, std::string(DirectoryName()),
                                   "given twice; its files are listed once"});
      }
    }
    if (depth_ >= kMaxOpenDirectories) level.directory.Close();
    ++depth_;
    return true;
  }

  Mentioned* FindMentioned(const Directory& directory) {
    struct stat status {};
    if (directory.Status(status) != 0) return nullptr;
    auto found = mentioned_.find(IdOf(status));
    return found == mentioned_.end() ? nullptr : &found->second;
  }

  // Of the current directory, without its slash.
  [[nodiscard]] std::string_view DirectoryName() const {
    return std::string_view(path_).substr(0, std::max<std::size_t>(path_.size() - 1, 1));
  }

  bool Visit(Level& level, std::size_t index) {
    std::string_view name = level.directory.Name(index);
    switch (level.directory.Kind(index)) {
      case EntryKind::kDirectory:
        path_ += '/';
        return Enter();
      case EntryKind::kLink:
        return VisitLink(level, index);
      default:
        break;
    }
    struct stat status {};
    if (int error = level.directory.Status(index, path_, false, status); error != 0) {
      return visitor_.OnProblem(SystemProblem(path_, error));
    }
    if (!S_ISREG(status.st_mode)) return ReportSpecial(path_, status);
    if (level.mentioned != nullptr) {
      auto file = level.mentioned->files.find(name);
      if (file != level.mentioned->files.end() && std::exchange(file->second, true)) {
        return ReportFileTwice();
      }
    }
    return List(name, static_cast<std::uint64_t>(status.st_size));
  }

  // The file `path_`, whose last part is `name`. Directories are listed with their first file.
  bool List(std::string_view name, std::uint64_t size) {
    for (std::size_t i = 0; i < depth_; ++i) {
      Level& level = *levels_[i];
      if (!std::exchange(level.has_newline, false)) continue;
      if (!ReportNewline(path_.substr(0, level.path_length - 1))) return false;
    }
    if (HasNewline(name) && !ReportNewline(path_)) return false;
    return visitor_.OnFile(path_, size);
  }

  bool VisitLink(const Level& level, std::size_t index) {
    struct stat status {};
    int error = level.directory.Status(index, path_, true, status);
    return error == 0 ? visitor_.OnLink(path_) : ReportLinkThatFails(path_, error);
  }

  // -- problems --

  bool ReportLinkThatFails(const std::string& path, int error) {
    if (error != ENOENT && error != ENOTDIR && error != ELOOP) {
      return visitor_.OnProblem(SystemProblem(path, error));
    }
    return visitor_.OnProblem({ProblemKind::kBrokenLink, path,
                               error == ELOOP ? "broken link: leads to itself"
                                              : "broken link to " + Printable(LinkTarget(path))});
  }

  [[nodiscard]] bool HasNewline(std::string_view name) const {
    return options_.report_newlines && name.find('\n') != std::string_view::npos;
  }

  bool ReportNewline(const std::string& path) {
    return visitor_.OnProblem(
        {ProblemKind::kNewline, path, "the name contains a newline; it is listed escaped"});
  }

  bool ReportSpecial(const std::string& path, const struct stat& status) {
    return visitor_.OnProblem(
        {ProblemKind::kSpecial, path, "skipped: it is " + SpecialName(status)});
  }

  bool ReportFileTwice() {
    return visitor_.OnProblem({ProblemKind::kGivenTwice, path_, "given twice; it is listed once"});
  }

  const WalkOptions options_;
  WalkVisitor& visitor_;

  std::vector<Root> roots_;
  std::map<DirectoryId, Mentioned> mentioned_;

  std::string path_;  // of the current file or directory
  std::vector<std::unique_ptr<Level>> levels_;
  std::size_t depth_ = 0;
};

}  // namespace

void Walk(const std::vector<std::string>& arguments, const WalkOptions& options,
          WalkVisitor& visitor) {
  TreeWalk(options, visitor).Run(arguments);
}

}  // namespace treesum
