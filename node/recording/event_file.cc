#include <ergon/node/recording/event_file.h>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

namespace ergon::node {
namespace {

constexpr std::size_t kKept = std::size_t{256} * 1024;  // bytes, until they are written
constexpr std::string_view kBegin = "[";
constexpr std::string_view kFirst = "\n";
constexpr std::string_view kNext = ",\n";
constexpr std::string_view kEnd = "\n]\n";

}  // namespace

EventFile::~EventFile() {
  if (file_ >= 0) ::close(file_);
}

gen::Error EventFile::Error(gen::ErrorCode code, int number) const {
  return gen::Error(
      code, fmt::format("trace file \"{}\": {}", path_, std::generic_category().message(number)));
}

gen::Result<void> EventFile::Open() {
  // Nobody waits until somebody reads a pipe. Emptied when it is known that no other recording writes it.
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file_ < 0) return Error(gen::ErrorCode::kIncorrect, errno);
  struct stat status {};
  if (::fstat(file_, &status) != 0) return Error(gen::ErrorCode::kInternal, errno);
  if (!S_ISREG(status.st_mode)) {  // a pipe whose reader has gone would end the program
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("trace file \"{}\": it is no regular file", path_));
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("trace file \"{}\": another recording writes it", path_));
  }
  if (::ftruncate(file_, 0) != 0) return Error(gen::ErrorCode::kInternal, errno);
  kept_ = kBegin;
  bytes_ = kBegin.size();
  if (!Flush()) return Error(gen::ErrorCode::kInternal, failure_);
  return {};
}

bool EventFile::Append(std::string_view event) {
  const std::string_view separator = events_ == 0 ? kFirst : kNext;
  const std::uint64_t after = bytes_ + separator.size() + event.size();
  if (after + kEnd.size() > max_bytes_) return false;
  // For all of it or for none, and for what completes the file.
  const std::size_t needed = kept_.size() + separator.size() + event.size() + kEnd.size();
  if (needed > kept_.capacity()) kept_.reserve(2 * needed);
  kept_ += separator;
  kept_ += event;
  bytes_ = after;
  ++events_;
  if (kept_.size() >= kKept) (void)Flush();
  return true;
}

bool EventFile::Flush() {
  if (failure_ == 0 && !WriteAll(kept_)) {
    failure_ = errno;
    // Back to the end of what was whole, where a list can be closed.
    if (::ftruncate(file_, static_cast<off_t>(written_)) == 0 &&
        ::lseek(file_, static_cast<off_t>(written_), SEEK_SET) >= 0) {
      (void)WriteAll(kEnd);
    }
    bytes_ = written_;
  }
  if (failure_ == 0) written_ += kept_.size();
  kept_.clear();
  return failure_ == 0;
}

bool EventFile::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

gen::Result<void> EventFile::Close() {
  if (failure_ == 0) {
    kept_ += kEnd;
    bytes_ += kEnd.size();
    (void)Flush();
  }
  (void)::flock(file_, LOCK_UN);  // a forked child may have the file open, too
  if (::close(file_) != 0 && failure_ == 0) failure_ = errno;
  file_ = -1;
  if (failure_ != 0) return Error(gen::ErrorCode::kInternal, failure_);
  return {};
}

}  // namespace ergon::node
