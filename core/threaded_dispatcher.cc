#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <pthread.h>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/threaded_dispatcher.h>

namespace ergon::core {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kMinRescueTimeout = kMillisecond;
constexpr std::int64_t kMaxRescueTimeout = 10 * kMillisecond;
constexpr std::int64_t kShortSearch = 8;  // a fraction of the full one
constexpr std::int64_t kGrace = 1'000 * kMillisecond;
constexpr std::chrono::microseconds kNap(20);
constexpr std::size_t kMaxThreadName = 15;

}  // namespace

ThreadedWorker::ThreadedWorker(ThreadedDispatcher& dispatcher, int index)
    : Worker(dispatcher, index, dispatcher.fibers_, dispatcher.options().hooks.get()),
      owner_(dispatcher),
      rescue_timeout_(kMinRescueTimeout),
      search_ns_(dispatcher.options().search_ns),
      raids_(dispatcher.options().stealing) {}

Schedulable* ThreadedWorker::NextSlow() {
  NoteNothingToRun();
  if (!owner_.stopping()) {
    if (Schedulable* found = Search()) return found;
  }
  return NextWhileStopping();
}

// Returns nullptr only when the dispatcher is stopping.
Schedulable* ThreadedWorker::Search() {
  IdleWorkers& idle = owner_.idle();
  bool searching = idle.TryStartSearch();
  std::int64_t duration = searching ? search_ns_ : 0;
  raids_.Restart();
  if (!searching) raids_.Finish();
  for (;;) {
    TellTime();
    const std::int64_t idle_since = SteadyNow();
    Schedulable* found = Look(duration, idle_since);
    const bool last = !searching || idle.EndSearch();
    if (found != nullptr) {
      if (last && owner_.HasWork()) idle.NotifyWork();
      if (last) idle.RenewRescuer();
      rescue_timeout_ = kMinRescueTimeout;
      return found;
    }
    if (owner_.stopping()) return nullptr;
    idle.PrepareSleep(index());
    searching = true;  // once it is awake again, in whichever way
    // seq_cst: either this sees the flag, or WakeAll sees the sleeper
    if (owner_.HasWork() || owner_.stopping_.load(std::memory_order_seq_cst)) {
      idle.CancelSleep(index());
      owner_.NoteAwake();
      duration = 0;
      continue;
    }
    if (pause_ != RaidPlan::kOver) {
      if (idle.Nap(index(), pause_, rescue_timeout_) != IdleWorkers::Wake::kTimedOut) {
        raids_.Restart();
      }
    } else if (ReleaseIdleEnvelopes();
               idle.Sleep(index(), rescue_timeout_) == IdleWorkers::Wake::kTimedOut) {
      duration = 0;
      raids_.Finish();
      rescue_timeout_ = std::min(rescue_timeout_ * 2, kMaxRescueTimeout);
    } else {
      // Would a full search have spared the sleep? If not, the next one is short: work that comes
      // now and then should not cost more time in searches than in turns.
      const std::int64_t full = owner_.options().search_ns;
      const bool in_time = SteadyNow() - idle_since < 2 * full;
      search_ns_ = in_time ? full : full / kShortSearch;
      duration = search_ns_;
      raids_.Restart();
    }
    CountWakeup();
    owner_.NoteAwake();
  }
}

// Afterwards pause_ says whether to look again later.
Schedulable* ThreadedWorker::Look(std::int64_t duration, std::int64_t now) {
  return owner_.options().stealing.IsEmpty() ? SearchFor(duration, now) : Raid(now);
}

// Looks at least once, then as long as the plan has no pause.
Schedulable* ThreadedWorker::Raid(std::int64_t now) {
  for (;; now = SteadyNow()) {
    if (Schedulable* found = TakeShared(now)) return found;
    if (owner_.stopping()) return nullptr;
    pause_ = raids_.NextPause();
    if (pause_ != 0) return nullptr;
    CpuPause();
  }
}

// Looks at least once.
Schedulable* ThreadedWorker::SearchFor(std::int64_t duration, std::int64_t now) {
  for (const std::int64_t start = now;; now = SteadyNow()) {
    looks_again_ = now - start < duration && !owner_.stopping();
    Schedulable* const found = TakeShared(now);
    if (found != nullptr || !looks_again_) {
      looks_again_ = false;
      return found;
    }
    CpuPause();
  }
}

Schedulable* ThreadedWorker::NextWhileStopping() {
  while (!owner_.GraceIsOver()) {
    if (Schedulable* next = TakeLocal()) return next;
    if (Schedulable* next = TakeShared(SteadyNow())) return next;
    if (!owner_.NapUnlessDone()) break;
  }
  return nullptr;
}

ThreadedDispatcher::ThreadedDispatcher(DispatcherOptions options, bool rescue)
    : Dispatcher(std::move(options)),
      // The options may be invalid, which only Start reports.
      idle_(std::clamp(workers(), 1, IdleWorkers::kMaxWorkers), rescue),
      fibers_(this->options().fiber_stack_bytes, &ThreadedWorker::FiberBody,
              this->options().fibers_cached) {}

void ThreadedDispatcher::StopBeforeDestruction() {
  const std::string error = Stop();
  if (!error.empty()) Fatal("Dispatcher", "destroyed inside one of its own turns");
}

bool ThreadedDispatcher::Start(std::string* error) {
  // Inside a turn it has been started, and the lock may be held by a Stop that waits for this turn.
  if (InsideTurn()) {
    const bool stopped = stopping();
    if (error != nullptr) *error = stopped ? kStartAfterStop : "";
    return !stopped;
  }
  std::lock_guard guard(lifecycle_);
  const std::string problem = StartLocked();
  if (error != nullptr) *error = problem;
  return problem.empty();
}

std::string ThreadedDispatcher::StartLocked() {
  if (std::string problem = Validate(options()); !problem.empty()) return problem;
  if (stopping_.load(std::memory_order_seq_cst)) return kStartAfterStop;
  if (!threads_.empty()) return "";
  workers_.clear();
  for (int i = 0; i < workers(); ++i) {
    workers_.push_back(MakeWorker(i));
    if (!workers_.back()->Prepare()) {
      workers_.clear();
      return "no memory for a stack of " + std::to_string(options().fiber_stack_bytes) + " bytes";
    }
  }
  threads_.reserve(workers_.size());
  busy_.store(workers(), std::memory_order_relaxed);  // the threads do not exist yet
  running_.store(true, std::memory_order_release);    // to the acquire in Stats
  try {
    for (auto& worker : workers_) {
      threads_.emplace_back([this, &worker] { ThreadMain(*worker); });
    }
  } catch (const std::exception& failure) {  // no thread can be had, or no memory for one
    // Those that were started look into the queues of all others, so they must end before those go.
    busy_.fetch_sub(workers() - static_cast<int>(threads_.size()), std::memory_order_acq_rel);
    SignalStop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    stopped_.store(true, std::memory_order_release);
    return std::string("cannot create a thread: ") + failure.what();
  }
  return "";
}

void ThreadedDispatcher::SetHooks(DispatcherHooks* hooks) {
  if (!running_.load(std::memory_order_acquire)) return;
  if (hooks == nullptr) hooks = options().hooks.get();
  for (const auto& worker : workers_) worker->SetHooks(hooks);
}

void ThreadedDispatcher::ThreadMain(ThreadedWorker& worker) {
  const std::string suffix = "-" + std::to_string(worker.index());
  const std::string name = options().thread_name.substr(0, kMaxThreadName - suffix.size()) + suffix;
  pthread_setname_np(pthread_self(), name.c_str());
  if (!worker.RunLoop()) Fatal("Worker", "the stack it was prepared with is gone");
}

bool ThreadedDispatcher::InsideTurn() const {
  const Worker* worker = Worker::Current();
  return worker != nullptr && &worker->dispatcher() == this;
}

std::string ThreadedDispatcher::Stop() {
  if (InsideTurn()) return kStopInsideTurn;
  SignalStop();
  std::lock_guard guard(lifecycle_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stopped_.store(true, std::memory_order_release);  // to the acquire in Inject
  return "";
}

void ThreadedDispatcher::SignalStop() {
  std::int64_t unset = 0;
  // relaxed: the flag below publishes it
  grace_end_.compare_exchange_strong(unset, SteadyNow() + kGrace, std::memory_order_relaxed);
  stopping_.store(true, std::memory_order_seq_cst);  // see ThreadedWorker::Search
  idle_.WakeAll();
}

bool ThreadedDispatcher::GraceIsOver() const {
  // A worker that has seen the flag with a relaxed read may still read 0 here: not yet, then.
  const std::int64_t end = grace_end_.load(std::memory_order_relaxed);
  return end != 0 && SteadyNow() >= end;
}

// False when nothing is left and nothing can come any more.
bool ThreadedDispatcher::NapUnlessDone() {
  // acq_rel, as below: what is done while a worker is busy comes before what others do once it is
  // not
  if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) return false;
  std::this_thread::sleep_for(kNap);
  int busy = busy_.load(std::memory_order_acquire);
  while (busy > 0) {
    if (busy_.compare_exchange_weak(busy, busy + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void ThreadedDispatcher::Inject(Schedulable& schedulable) {
  if (InjectionHold* const hold = InjectionHold::Current()) {
    hold->Add(*this, schedulable);
    return;
  }
  Schedulable* one = &schedulable;
  InjectAtOnce(&one, 1);
}

void ThreadedDispatcher::InjectAtOnce(Schedulable* const* batch, std::size_t count) {
  // acquire pairs with the release in Stop
  if (stopped_.load(std::memory_order_acquire)) return;
  injected_.Push(batch, count);
  idle_.NotifyWork();
}

void ThreadedDispatcher::CallWatch() {
  if (!watched_.exchange(true, std::memory_order_seq_cst)) awake_();
}

bool ThreadedDispatcher::WatchWhileAwake() {
  // Partner: NoteAwake. A worker that wakes up has ceased to count as a sleeper before it looks at
  // the flag: either it sees the flag, or this sees it awake.
  watched_.store(false, std::memory_order_seq_cst);
  if (idle_.AllSleep()) return false;
  return !watched_.exchange(true, std::memory_order_seq_cst);
}

void ThreadedDispatcher::VisitRunning(const std::function<void(const RunningTurn&)>& visit) const {
  if (!running_.load(std::memory_order_acquire)) return;
  for (const auto& worker : workers_) {
    const Schedulable* const running = worker->running();
    if (running != nullptr) visit({worker->index(), worker->turns(), running});
  }
}

DispatcherStats ThreadedDispatcher::Stats() const {
  DispatcherStats sum;
  if (!running_.load(std::memory_order_acquire)) return sum;
  for (const auto& worker : workers_) worker->AddTo(sum);
  return sum;
}

std::size_t ThreadedDispatcher::ReadyApprox() const {
  std::size_t ready = injected_.ApproxSize();
  if (!running_.load(std::memory_order_acquire)) return ready;
  for (const auto& worker : workers_) ready += worker->QueuedApprox();
  return ready;
}

}  // namespace ergon::core
