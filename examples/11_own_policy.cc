// A scheduling policy of one's own: what became ready last runs first. Hooks write down the order.
#include <atomic>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/core/work_sharing.h>
#include <ergon/gen/scheduled_process.h>
#include <ergon/node/node.h>

using namespace ergon;

namespace {

// The threads, their sleep and their end are ThreadedDispatcher's; the policy is the queue.
class NewestFirst final : public core::ThreadedDispatcher {
 public:
  explicit NewestFirst(core::DispatcherOptions options)
      : ThreadedDispatcher(std::move(options), /*rescue=*/false) {}
  ~NewestFirst() override { StopBeforeDestruction(); }

  void Schedule(core::Schedulable& schedulable) override {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back(&schedulable);
    }
    size_.fetch_add(1);  // sequentially consistent, as idle_workers.h asks for
    idle().NotifyWork();
  }
  const char* name() const override { return "newest-first"; }

  core::Schedulable* Take() {
    if (size_.load() == 0) return nullptr;
    std::lock_guard lock(mutex_);
    if (ready_.empty()) return nullptr;
    core::Schedulable* const next = ready_.back();
    ready_.pop_back();
    size_.fetch_sub(1);
    return next;
  }
  // What has used up its turn, or yields, gives way to all others.
  void PutLast(core::Schedulable& schedulable) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_front(&schedulable);
    }
    size_.fetch_add(1);
    idle().NotifyWork();
  }

 private:
  class NewestFirstWorker final : public core::ThreadedWorker {
   public:
    NewestFirstWorker(NewestFirst& owner, int index)
        : ThreadedWorker(owner, index), owner_(owner) {}

   private:
    core::Schedulable* Next() override {
      if (!owner_.stopping()) {
        if (core::Schedulable* next = owner_.Take()) return next;
      }
      return NextSlow();
    }
    void Requeue(core::Schedulable& schedulable) override { owner_.PutLast(schedulable); }
    core::Schedulable* TakeLocal() override { return owner_.Take(); }
    core::Schedulable* TakeShared(std::int64_t) override { return owner_.Take(); }

    NewestFirst& owner_;
  };

  std::unique_ptr<core::ThreadedWorker> MakeWorker(int index) override {
    return std::make_unique<NewestFirstWorker>(*this, index);
  }
  bool HasWork() const override { return size_.load() > 0; }

  std::mutex mutex_;
  std::deque<core::Schedulable*> ready_;
  std::atomic<int> size_{0};
};

// Writes down whose turn it is. One worker, one writer at a time.
class OrderLog final : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable& schedulable, int) override {
    if (!recording) return;
    if (const gen::Process* process = gen::ProcessOf(schedulable)) {
      order += ' ';
      order += process->Name().Text();
    }
  }

  std::atomic<bool> recording{false};
  std::string order;
};

struct Begin {};
struct Job {};
struct Done {};

class Worker : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Job>()) return Actor::HandleMessage(from, message);
    Send(from, Done{}).value();
    return gen::Continue();
  }
};

const std::vector<std::string> kWorkers = {"a", "b", "c"};

// Gives each worker a job, all at once, and answers when all are done.
class Boss : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (!request.Is<Begin>()) return Actor::HandleCall(from, ref, request);
    caller_ = from;
    ref_ = ref;
    for (const std::string& name : kWorkers) Send(gen::Atom(name), Job{}).value();
    return gen::NoReply();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Done>()) return Actor::HandleMessage(from, message);
    if (++done_ == kWorkers.size()) (void)SendResponse(caller_, ref_, true);
    return gen::Continue();
  }

  gen::PID caller_;
  gen::Ref ref_;
  std::size_t done_ = 0;
};

void Show(std::shared_ptr<core::Dispatcher> policy, OrderLog& log) {
  // Time, timers and log are the node's own, as always.
  auto node = node::Start("demo@localhost", {.dispatcher = std::move(policy)}).value();
  // First, so that the turn of its Init is over when its request comes.
  const gen::PID boss = node.SpawnRegister("boss", gen::Factory<Boss>()).value();
  for (const std::string& name : kWorkers) {
    node.SpawnRegister(gen::Atom(name), gen::Factory<Worker>()).value();
  }
  log.recording = true;
  node.Call<bool>(boss, Begin{}).value();
  log.recording = false;
  const std::string policy_name = node.Info().dispatcher;
  node.Stop();
  std::printf("%s:%s\n", policy_name.c_str(), log.order.c_str());
}

}  // namespace

int main() {
  auto newest_first_log = std::make_shared<OrderLog>();
  Show(std::make_shared<NewestFirst>(
           core::DispatcherOptions{.workers = 1, .hooks = newest_first_log}),
       *newest_first_log);
  // One queue, first come, first served.
  auto sharing_log = std::make_shared<OrderLog>();
  Show(core::MakeWorkSharing({.workers = 1, .hooks = sharing_log}), *sharing_log);
}

// prints: newest-first: boss c boss b boss a boss
//         work-sharing: boss a b c boss
