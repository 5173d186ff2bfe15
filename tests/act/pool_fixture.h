// A pool on a fake host, with a management message that runs code in its handlers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>

#include "fake_host.h"

namespace ergon::act::testing {

class TestWorker : public Actor {};

// Lets the test run code inside the pool's handlers: Manage, sent with high priority.
class TestPool : public Pool {
 public:
  using Job = testing::Job;
  struct Manage {
    std::function<gen::Status(TestPool&)> action;
  };

  explicit TestPool(PoolOptions options) : options_(std::move(options)) {
    if (!options_.worker_factory) options_.worker_factory = gen::Factory<TestWorker>();
  }

  using Pool::AddWorkers;
  using Pool::Change;
  using Pool::RemoveWorkers;
  using Pool::RemoveWorkersNow;
  using Pool::SetTrapExit;
  using Pool::TrapExit;
  using Pool::WorkerCount;
  using Pool::Workers;

  std::vector<std::string> calls;  // what reached the pool's own handlers
  gen::Inspection added;
  std::function<void(TestPool&)> on_init;
  bool fail_init = false;

 private:
  gen::Result<PoolOptions> Init(const gen::Args&) override {
    if (on_init) on_init(*this);
    if (fail_init) return gen::Error("no licence");
    return options_;
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* manage = message.As<Manage>()) return manage->action(*this);
    if (auto* job = message.As<Job>()) {
      calls.push_back("message " + std::to_string(job->number));
      return gen::Continue();
    }
    if (auto* exit = message.As<gen::MessageExitPID>()) {
      calls.push_back("exit " + exit->reason.ToString());
      return gen::Continue();
    }
    return Pool::HandleMessage(from, message);
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* job = request.As<Job>()) {
      calls.push_back("call " + std::to_string(job->number));
      if (job->number == 0) return gen::Stop(gen::Reason::Error("asked for it"));
      return gen::Reply(WorkerCount());
    }
    return Pool::HandleCall(from, ref, request);
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return added;
  }
  void Terminate(const gen::Reason& reason) override {
    calls.push_back("terminate " + reason.ToString());
  }

  PoolOptions options_;
};

struct PoolFixture {
  explicit PoolFixture(PoolOptions options = {}) : pool(std::move(options)) {}

  void Start() { REQUIRE(host.Start(pool)); }
  // Sends jobs first..last as outside senders do.
  void Send(int first, int last) {
    for (int number = first; number <= last; ++number) REQUIRE(host.Send(number));
  }
  void Send(int number) { Send(number, number); }
  void Manage(std::function<gen::Status(TestPool&)> action) {
    (void)host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kSystem,
                       TestPool::Manage{std::move(action)});
    host.Run();
  }
  gen::Inspection Inspect(std::vector<std::string> items = {}) {
    const std::uint64_t ref = ++last_ref_;
    (void)host.Deliver(gen::EnvelopeKind::kInspect, core::Lane::kUrgent,
                       gen::InspectRequest{std::move(items)}, ref);
    host.Run();
    for (auto& response : host.responses) {
      if (response.ref.id == ref) return *response.envelope->ValueAs<gen::Inspection>();
    }
    return {};
  }
  std::uint64_t Number(const std::string& key) { return std::stoull(Inspect().at(key)); }
  void WorkAll() {
    for (auto& [id, worker] : host.workers) host.Work(id);
    host.Run();
  }
  // A worker ends, its replacement is spawned (and not ready yet).
  std::uint64_t Replace(std::uint64_t id, const gen::Reason& reason = gen::Reason::Normal()) {
    host.End(id, reason);
    host.Run();
    return host.LastWorker();
  }
  void Ready(std::uint64_t id) {
    host.Ready(id);
    host.Run();
  }
  std::vector<int> DroppedNumbers() const {
    std::vector<int> numbers;
    for (const auto& dropped : host.dropped) numbers.push_back(dropped.number);
    return numbers;
  }
  // With nothing in the pool's own hands: what was forwarded is somewhere.
  void CheckConservation() {
    const gen::Inspection seen = Inspect();
    const auto number = [&](const char* key) { return std::stoull(seen.at(key)); };
    CHECK(number("messages_forwarded") ==
          number("messages_handled") + number("messages_queued") + number("messages_lost"));
  }

  FakeHost host;
  TestPool pool;

 private:
  std::uint64_t last_ref_ = 10'000;
};

}  // namespace ergon::act::testing
