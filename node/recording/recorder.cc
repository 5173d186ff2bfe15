#include <ergon/node/recording/recorder.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include <pthread.h>

#include <fmt/core.h>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/tell_thrown.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

constexpr std::uint64_t kLeastBytes = 4 * 1024;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::chrono::milliseconds kTakeEvery(10);

gen::Result<void> CheckTraceFileOptions(const TraceFileOptions& options) {
  if (options.duration <= std::chrono::nanoseconds::zero()) {
    return Incorrect(
        fmt::format("duration: {}, must be more than 0", core::ExactTime(options.duration)));
  }
  if (options.max_bytes < kLeastBytes || options.max_bytes > kMostBytes) {
    return Incorrect(
        fmt::format("max_bytes: {} is outside {}..{}", options.max_bytes, kLeastBytes, kMostBytes));
  }
  return {};
}

}  // namespace

class Recorder::Recording final : public TraceFile {
 public:
  Recording(core::ThreadedDispatcher& of, const ForkGuard& fork_guard, const std::string& path,
            const TraceFileOptions& options)
      : dispatcher(of),
        file(path, options.max_bytes),
        bytes_for_sends(options.max_bytes / 2),
        name(path),
        duration(options.duration),
        fork_guard_(fork_guard) {}

  // In a fork there is no writer, which may have had the lock.
  gen::Result<TraceFileSummary> End() override {
    if (fork_guard_.IsForked()) return fork_guard_.Error();
    std::unique_lock lock(mutex_);
    must_end_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return done_.has_value(); });
    return *done_;
  }
  [[nodiscard]] bool IsOpen() const override {
    if (fork_guard_.IsForked()) return false;
    std::lock_guard lock(mutex_);
    return !done_.has_value();
  }
  // Waits until there is something to write. False: the recording ends now.
  bool Await() {
    std::unique_lock lock(mutex_);
    // With no limit, kInfinite, there is time left for ever.
    const auto left = [this] {
      return duration - std::chrono::nanoseconds(core::SteadyNow() - origin);
    };
    const auto wait = std::min<std::chrono::nanoseconds>(left(), kTakeEvery);
    (void)changed_.wait_for(lock, wait, [this] { return must_end_; });
    return !must_end_ && left() > std::chrono::nanoseconds::zero();
  }
  void SetDone(gen::Result<TraceFileSummary> result) {
    std::lock_guard lock(mutex_);
    done_ = std::move(result);
    changed_.notify_all();
  }

  core::ThreadedDispatcher& dispatcher;
  // The writer's, after Begin.
  EventFile file;
  std::uint64_t passed_over = 0;  // events without room among those of turns, or without memory

  const std::uint64_t bytes_for_sends;
  const std::string name;
  const std::chrono::nanoseconds duration;
  const std::int64_t origin = core::SteadyNow();

 private:
  const ForkGuard fork_guard_;  // a copy: the node may have ended
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool must_end_ = false;
  std::optional<gen::Result<TraceFileSummary>> done_;
};

Recorder::Recorder(const Addresses& addresses, NodeLog& log, const ForkGuard& fork_guard,
                   core::DispatcherHooks* others)
    : addresses_(addresses),
      log_(log),
      fork_guard_(fork_guard),
      others_(others),
      tracks_(addresses) {}

Recorder::~Recorder() { End(); }

gen::Result<std::uint64_t> Recorder::CheckProcess(gen::PID pid) const {
  if (!pid) return std::uint64_t{0};
  if (pid.node != addresses_.node()) {
    return Incorrect(fmt::format("process: {} is not of this node", pid));
  }
  const ProcessSlot* const process = addresses_.Find(pid);
  if (process == nullptr) return addresses_.WhyUnreachable(pid);
  return pid.id;
}

gen::Result<std::shared_ptr<TraceFile>> Recorder::Begin(core::Dispatcher& dispatcher,
                                                        bool has_own_clock, const std::string& path,
                                                        const TraceFileOptions& options) {
  auto checked = CheckTraceFileOptions(options);
  if (!checked) return std::move(checked.error());
  auto* const threaded = dynamic_cast<core::ThreadedDispatcher*>(&dispatcher);
  if (has_own_clock || threaded == nullptr) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "trace file: the node has a clock or a dispatcher of its own");
  }
  auto only = CheckProcess(options.process);
  if (!only) return std::move(only.error());
  std::lock_guard lock(mutex_);
  if (is_ended_) return gen::ErrNodeTerminated;
  if (recording_ != nullptr && recording_->IsOpen()) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("trace file \"{}\": it is being written", recording_->name));
  }
  if (writer_.joinable()) writer_.join();
  try {
    return BeginRecording(*threaded, *only, path, options);
  } catch (const std::bad_alloc&) {
    return gen::Error(gen::ErrorCode::kInternal,
                      "trace file: there is no memory for what is recorded");
  }
}

gen::Result<std::shared_ptr<TraceFile>> Recorder::BeginRecording(
    core::ThreadedDispatcher& dispatcher, std::uint64_t only, const std::string& path,
    const TraceFileOptions& options) {
  std::vector<RecordedEvent> events;
  events.reserve(Tracks::kUsuallyMost);  // once: as it grew there would be two of them
  auto recording = std::make_shared<Recording>(dispatcher, fork_guard_, path, options);
  auto open = recording->file.Open();
  if (!open) return std::move(open.error());
  const std::string node(addresses_.node().ToString());
  (void)recording->file.Append(GroupJson(false, node + ": threads"));
  (void)recording->file.Append(GroupJson(true, node + ": processes"));
  tracks_.Begin(only, options.sends);
  dispatcher.SetHooks(this);  // first: the writer takes them back, maybe at once
  try {
    writer_ = std::thread([this, recording, events = std::move(events)]() mutable {
      Run(*recording, std::move(events));
    });
  } catch (const std::exception& error) {
    dispatcher.SetHooks(nullptr);
    tracks_.Cancel();
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) throw;
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("trace file: no thread can be had: {}", error.what()));
  }
  recording_ = recording;
  return std::shared_ptr<TraceFile>(std::move(recording));
}

void Recorder::End() {
  std::lock_guard lock(mutex_);
  is_ended_ = true;
  if (recording_ != nullptr) (void)recording_->End();
  if (writer_.joinable()) writer_.join();
}

void Recorder::Run(Recording& recording, std::vector<RecordedEvent> events) {
  (void)::pthread_setname_np(::pthread_self(), "ergon-trace");
  std::uint64_t left_out = 0;
  bool has_room = true;
  while (has_room && recording.Await() && recording.file.Flush()) {
    tracks_.TakeEvents(events);
    has_room = Write(recording, events, left_out);
  }
  recording.dispatcher.SetHooks(nullptr);
  tracks_.End(events);
  has_room = Write(recording, events, left_out) && has_room;
  Finish(recording, left_out + recording.passed_over + tracks_.left_out(), !has_room);
}

bool Recorder::Write(Recording& recording, std::vector<RecordedEvent>& events,
                     std::uint64_t& left_out) {
  std::uint64_t written = 0;  // or left out already
  if (left_out == 0) {        // what comes after the first gap would look like idle processes
    for (const RecordedEvent& event : events) {
      if (event.IsMoment() && recording.file.bytes() > recording.bytes_for_sends) {
        ++recording.passed_over;
        ++written;
        continue;
      }
      try {
        if (!recording.file.Append(TraceEventJson(event, recording.origin))) break;
      } catch (const std::bad_alloc&) {
        ++recording.passed_over;
      }
      ++written;
    }
  }
  const std::uint64_t rest = events.size() - written;
  left_out += rest;
  events.clear();
  return rest == 0;
}

void Recorder::Finish(Recording& recording, std::uint64_t left_out, bool is_full) {
  gen::Result<void> closed = recording.file.Close();
  const TraceFileSummary summary{.events = recording.file.events(),
                                 .bytes = recording.file.bytes(),
                                 .left_out = left_out,
                                 .is_full = is_full};
  try {
    if (!closed) {
      gen::Log(log_).Error("{}", closed.error().detail());
    } else {
      gen::Log(log_).Info("trace file \"{}\" is complete: {} events in {} bytes, left out: {}{}",
                          recording.name, summary.events, summary.bytes, summary.left_out,
                          is_full ? ", for want of room" : "");
    }
  } catch (const std::bad_alloc&) {  // the file is the same without the line
  }
  if (!closed) return recording.SetDone(std::move(closed.error()));
  recording.SetDone(summary);
}

void Recorder::BeforeTurn(core::Schedulable& schedulable, int worker) {
  if (others_ != nullptr) {
    core::CallUser("BeforeTurn of the hooks", [&] { others_->BeforeTurn(schedulable, worker); });
  }
  auto& process = static_cast<Process&>(schedulable);
  process.RecordSends(tracks_.BeginTurn(process));
}

void Recorder::AfterTurn(core::Schedulable& schedulable, int worker, core::TurnEnd end) {
  tracks_.EndTurn(end);
  if (others_ != nullptr) {
    core::CallUser("AfterTurn of the hooks", [&] { others_->AfterTurn(schedulable, worker, end); });
  }
}

void Recorder::AfterCompletion(core::Schedulable& schedulable, int worker) {
  if (others_ == nullptr) return;
  core::CallUser("AfterCompletion of the hooks",
                 [&] { others_->AfterCompletion(schedulable, worker); });
}

}  // namespace ergon::node
