#include <utility>

#include <ergon/core/threaded_dispatcher.h>
#include <ergon/core/work_sharing.h>

namespace ergon::core {
namespace {

class WorkSharing;

class SharingWorker final : public ThreadedWorker {
 public:
  SharingWorker(WorkSharing& dispatcher, int index);

 private:
  Schedulable* Next() override;
  void Requeue(Schedulable& schedulable) override { carry_ = &schedulable; }
  Schedulable* TakeLocal() override;
  Schedulable* TakeShared(std::int64_t now) override;

  WorkSharing& owner_;
  Schedulable* carry_ = nullptr;  // yielded in the turn just ended, not queued yet
};

class WorkSharing final : public ThreadedDispatcher {
 public:
  // Nothing is ever in a place where only one worker looks: no rescuer.
  explicit WorkSharing(DispatcherOptions options)
      : ThreadedDispatcher(std::move(options), /*rescue=*/false) {}
  ~WorkSharing() override { StopBeforeDestruction(); }

  void Schedule(Schedulable& schedulable) override { Inject(schedulable); }
  const char* name() const override { return "work-sharing"; }

 private:
  friend class SharingWorker;

  std::unique_ptr<ThreadedWorker> MakeWorker(int index) override {
    return std::make_unique<SharingWorker>(*this, index);
  }

  bool HasWork() const override { return !injected().Empty(); }
};

SharingWorker::SharingWorker(WorkSharing& dispatcher, int index)
    : ThreadedWorker(dispatcher, index), owner_(dispatcher) {}

Schedulable* SharingWorker::Next() {
  if (!owner_.stopping()) [[likely]] {
    if (Schedulable* next = TakeLocal()) [[likely]]
      return next;
  }
  return NextSlow();
}

Schedulable* SharingWorker::TakeLocal() {
  Schedulable* carry = std::exchange(carry_, nullptr);
  Schedulable* next = owner_.injected().Pop();
  if (carry == nullptr) return next;
  if (next == nullptr) return carry;  // alone: it goes on without a detour
  owner_.injected().Push(*carry);
  owner_.idle().NotifyWork();
  return next;
}

Schedulable* SharingWorker::TakeShared(std::int64_t) { return owner_.injected().Pop(); }

}  // namespace

std::unique_ptr<Dispatcher> MakeWorkSharing(DispatcherOptions options) {
  return std::make_unique<WorkSharing>(std::move(options));
}

}  // namespace ergon::core
