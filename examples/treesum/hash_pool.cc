#include "hash_pool.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/match.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "messages.h"
#include "sha256.h"

namespace treesum {

using namespace ergon;

namespace {

// Read at once: fits into a core's cache together with the rest.
constexpr std::size_t kBlockBytes = 128 * 1024;
// Read within one message. A worker that has a big file to read does it in slices, sending itself a
// message after each, so that other processes get their turn on the same thread.
constexpr std::uint64_t kSliceBytes = 8 * 1024 * 1024;
// From here on reading ahead pays for the system call that asks for it.
constexpr std::uint64_t kBigFileBytes = 1024 * 1024;

// To itself: read the next slice.
struct NextSlice {};

class OpenFile {
 public:
  // Not open() on failure, with the reason in errno. Does not wait for the other end of a pipe.
  explicit OpenFile(const char* path)
      : descriptor_(::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  // As read(2), but not interrupted.
  ssize_t Read(void* buffer, std::size_t size) {
    for (;;) {
      ssize_t got = ::read(descriptor_, buffer, size);
      if (got >= 0 || errno != EINTR) return got;
    }
  }
  void ReadAhead() { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL); }

 private:
  int descriptor_;
};

}  // namespace

class HashWorker : public act::Actor {
 public:
  explicit HashWorker(const HashPoolOptions& options)
      : printer_(options.printer), line_end_(options.line_end), stop_(options.stop) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const bool is_known = gen::Match(
        message,
        [&](const HashBatch& batch) {
          Begin(batch);
          Work();
        },
        [&](const NextSlice&) { Work(); });
    return is_known ? gen::Continue() : Actor::HandleMessage(from, message);
  }

  // The walk counts on an answer for each batch, also if this worker fails in the middle of one.
  void Terminate(const gen::Reason& reason) override {
    if (batch_ == nullptr) return;
    for (; next_ < batch_->size(); ++next_) {
      done_.problems.push_back({ProblemKind::kUnprocessed, (*batch_)[next_].path,
                                "not processed: " + reason.ToString()});
    }
    Report();
  }

  void Begin(const HashBatch& batch) {
    batch_ = batch.files;
    next_ = 0;
    done_ = BatchDone{};
    done_.number = batch.number;
    done_.weight = batch_->weight();
    done_.problems = batch_->problems();
    done_.lines.reserve(done_.weight);
  }

  // Goes on with the batch, until it is done or has read as much as one message may.
  void Work() {
    std::uint64_t budget = kSliceBytes;
    while (next_ < batch_->size()) {
      if (stop_.stop_requested()) {
        done_.complete = false;
        break;
      }
      if (!file_ && !OpenNext()) continue;
      if (!ReadSome(budget)) {
        Send(printer_, BytesRead{std::exchange(done_.bytes_read, 0)}).value();
        // High priority: before the batches that wait in the mailbox.
        SendWithPriority(Self(), NextSlice{}, gen::MessagePriority::kHigh).value();
        return;
      }
    }
    file_.reset();
    Report();
  }

  bool OpenNext() {
    FileBatch::File next = (*batch_)[next_];
    file_.emplace(next.path);
    if (!file_->open()) {
      Skip(errno);
      return false;
    }
    if (next.size >= kBigFileBytes) file_->ReadAhead();
    left_ = next.size;
    hash_.Start();
    return true;
  }

  // Returns false if the budget is used up before the end of the file, or it is time to stop.
  bool ReadSome(std::uint64_t& budget) {
    while (!stop_.stop_requested()) {
      ssize_t got = file_->Read(buffer_.get(), kBlockBytes);
      if (got < 0) {
        Skip(errno);
        return true;
      }
      auto size = static_cast<std::size_t>(got);
      if (size > 0) hash_.Update(buffer_.get(), size);
      done_.bytes_read += size;
      // A short read that gets exactly what the walk has announced needs no second one to see the
      // end. Everything else is read until the system says so: files grow, and those in /proc
      // announce nothing.
      bool at_end = size == 0 || (size == left_ && size < kBlockBytes);
      left_ = size < left_ ? left_ - size : 0;
      if (at_end) {
        AppendSumLine(done_.lines, hash_.Finish(), (*batch_)[next_].path, line_end_);
        ++done_.files;
        Close();
        return true;
      }
      if (size >= budget) return false;
      budget -= size;
    }
    return true;
  }

  void Skip(int error_number) {
    done_.problems.push_back(SystemProblem((*batch_)[next_].path, error_number));
    Close();
  }

  void Close() {
    file_.reset();
    ++next_;
  }

  void Report() {
    batch_ = nullptr;
    Send(printer_, std::move(done_)).value();
  }

  const gen::PID printer_;
  const LineEnd line_end_;
  const std::stop_token stop_;
  const std::unique_ptr<unsigned char[]> buffer_{new unsigned char[kBlockBytes]};
  Sha256 hash_;

  std::shared_ptr<const FileBatch> batch_;  // null: nothing to do
  std::size_t next_ = 0;                    // the file being read, or to be opened
  std::optional<OpenFile> file_;
  std::uint64_t left_ = 0;  // of the file, as far as its size was known
  BatchDone done_;
};

class HashPool : public act::Pool {
 public:
  explicit HashPool(HashPoolOptions options) : options_(std::move(options)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    for (const ScaleStep& step : options_.scale) {  // high: for the pool itself, not for a worker
      SendAfter(Self(), ScaleTo{step.workers}, step.after, gen::MessagePriority::kHigh).value();
    }
    return act::PoolOptions{
        .pool_size = options_.workers,
        .worker_factory = gen::Factory<HashWorker>(options_),
        .worker_mailbox_size = options_.mailbox,
    };
  }

  // Only high and max priority arrives here; batches go to the workers.
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    auto* scale = message.As<ScaleTo>();
    if (scale == nullptr) return Pool::HandleMessage(from, message);
    Tell(Scale(scale->workers));
    return gen::Continue();
  }

  std::string Scale(int wanted) {
    auto workers = static_cast<int>(WorkerCount());
    if (wanted == workers) return fmt::format("scale to {} workers: nothing to do", wanted);
    auto size = wanted > workers ? AddWorkers(wanted - workers) : RemoveWorkers(workers - wanted);
    if (!size) return fmt::format("scale to {} workers: {}", wanted, size.error());
    return fmt::format("scaled from {} to {} workers", workers, *size);
  }

  void Tell(std::string text) {
    SendWithPriority(options_.printer, Notice{std::move(text)}, gen::MessagePriority::kHigh)
        .value();
  }

  const HashPoolOptions options_;
};

gen::ProcessFactory HashPoolFactory(HashPoolOptions options) {
  return gen::Factory<HashPool>(std::move(options));
}

}  // namespace treesum
