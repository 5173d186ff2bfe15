// How long a message waits that should not have to.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(1);

struct Probe {
  std::int64_t sent_at = 0;
};
struct Tick {};
// Keeps a process busy until its Main lane has been filled.
struct Hold {
  std::atomic<bool>* released = nullptr;
};

// Notes how late probes are, and works on everything else.
class Target : public act::Actor {
 public:
  Target(Finish* finish, std::vector<std::int64_t>* latencies, std::int64_t expected,
         std::int64_t iterations)
      : finish_(finish), latencies_(latencies), left_(expected), iterations_(iterations) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* probe = message.As<Probe>()) {
      latencies_->push_back(Now() - probe->sent_at);
    } else if (const auto* hold = message.As<Hold>()) {
      hold->released->wait(false);
    } else {
      (void)Work(1, iterations_);
      if (--left_ == 0) finish_->Part();
    }
    return gen::Continue();
  }
  // Not this process's clock: that of the one who sends the probes.
  static std::int64_t Now() { return bench::Now(); }

  Finish* finish_;
  std::vector<std::int64_t>* latencies_;
  std::int64_t left_;
  std::int64_t iterations_;
};

Measurement RunUrgent(gen::Node& node, const Params& params) {
  const std::int64_t n = params["n"];
  const auto iterations = static_cast<std::int64_t>(0.2 * IterationsPerMicrosecond());
  std::vector<std::int64_t> latencies;
  latencies.reserve(1'000'000);
  Finish finish(node, 1);
  Cast cast(node);
  const gen::PID target = cast.Spawn(gen::Factory<Target>(&finish, &latencies, n, iterations));
  std::atomic<bool> released{false};
  Must(node.Send(target, Hold{&released}));
  for (std::int64_t i = 0; i < n; ++i) Must(node.Send(target, Tick{}));
  std::atomic<bool> done{false};
  std::jthread prober([&] {
    while (!done.load(std::memory_order_relaxed)) {
      Must(node.SendWithPriority(target, Probe{Now()}, gen::MessagePriority::kMax));
      std::this_thread::sleep_for(kInterval);
    }
  });
  const std::int64_t start = Now();
  released = true;
  released.notify_one();
  const std::int64_t nanoseconds = finish.Wait() - start;
  done = true;
  prober.join();
  cast.End();  // before `latencies` is read
  Measurement measurement{n, nanoseconds};
  measurement.extra.emplace_back("probes", static_cast<double>(latencies.size()));
  AddLatencies(measurement, latencies);
  return measurement;
}

// Sends to itself for ever, with a microsecond of work each time.
class Busy final : public act::Actor {
 public:
  explicit Busy(std::int64_t iterations) : iterations_(iterations) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Work(1, iterations_);
    Must(Send(Self(), Tick{}));
    return gen::Continue();
  }

  std::int64_t iterations_;
};

Measurement RunUnderLoad(gen::Node& node, const Params& params) {
  const auto iterations = static_cast<std::int64_t>(IterationsPerMicrosecond());
  const auto length = std::chrono::milliseconds(params["ms"]);
  std::vector<std::int64_t> latencies;
  latencies.reserve(static_cast<std::size_t>(length / kInterval) + 1);
  Cast cast(node);
  for (std::int64_t i = 0; i < params["busy"]; ++i) {
    Must(node.Send(cast.Spawn(gen::Factory<Busy>(iterations)), Tick{}));
  }
  const gen::PID target =
      cast.Spawn(gen::Factory<Target>(nullptr, &latencies, std::int64_t{0}, std::int64_t{0}));
  const std::int64_t start = Now();
  for (auto at = std::chrono::steady_clock::now(), end = at + length; at < end; at += kInterval) {
    std::this_thread::sleep_until(at);
    Must(node.Send(target, Probe{Now()}));
  }
  // The last probe has been handled when this has.
  Must(node.Inspect(target));
  const std::int64_t nanoseconds = Now() - start;
  cast.End();
  Measurement measurement{static_cast<std::int64_t>(latencies.size()), nanoseconds};
  AddLatencies(measurement, latencies);
  return measurement;
}

// Notes how late delayed messages are, and how early none may be.
class Late final : public act::Actor {
 public:
  Late(Finish* finish, std::vector<std::int64_t>* lateness, std::int64_t expected)
      : finish_(finish), lateness_(lateness), left_(expected) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const std::int64_t late = bench::Now() - message.As<Probe>()->sent_at;
    if (late < 0) throw std::runtime_error("timer: a message came too early");
    lateness_->push_back(late);
    if (--left_ == 0) finish_->Part();
    return gen::Continue();
  }

  Finish* finish_;
  std::vector<std::int64_t>* lateness_;
  std::int64_t left_;
};

// Arms all timers from a handler, spread evenly over 10 ms to 1 s in a mixed order.
class Armer final : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const Start start = *message.As<Start>();
    std::uint64_t random = 1;
    for (std::int64_t i = 0; i < start.count; ++i) {
      random = Work(random, 1);
      const auto delay =
          std::chrono::nanoseconds(10'000'000 + static_cast<std::int64_t>(random % 990'000'000));
      Must(SendAfter(start.peer, Probe{bench::Now() + delay.count()}, delay));
    }
    return gen::Continue();
  }
};

// Arms timers that are due long after the run.
class Keeper final : public act::Actor {
 public:
  Keeper(Finish* finish, std::vector<gen::TimerHandle>* armed) : finish_(finish), armed_(armed) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    std::uint64_t random = 1;
    for (std::int64_t left = message.As<Start>()->count; left > 0; --left) {
      random = Work(random, 1);
      auto timer = SendAfter(Self(), Tick{}, std::chrono::seconds(3600 + random % 3600));
      Must(timer);
      armed_->push_back(*timer);
    }
    finish_->Part();
    return gen::Continue();
  }

  Finish* finish_;
  std::vector<gen::TimerHandle>* armed_;
};

Measurement RunTimer(gen::Node& node, const Params& params) {
  const std::int64_t n = params["n"];
  std::vector<std::int64_t> lateness;
  lateness.reserve(static_cast<std::size_t>(n));
  Finish finish(node, 1);
  Cast cast(node);
  std::vector<gen::TimerHandle> armed;
  if (params["armed"] != 0) {
    Finish all_armed(node, 1);
    const gen::PID keeper = cast.Spawn(gen::Factory<Keeper>(&all_armed, &armed));
    Must(node.Send(keeper, Start{{}, params["armed"]}));
    (void)all_armed.Wait();
  }
  const gen::PID late = cast.Spawn(gen::Factory<Late>(&finish, &lateness, n));
  const gen::PID armer = cast.Spawn(gen::Factory<Armer>());
  const std::int64_t start = Now();
  const std::int64_t processor = ProcessorTime();
  Must(node.Send(armer, Start{late, n}));
  Measurement measurement{n, finish.Wait() - start};
  measurement.extra.emplace_back("cpu_us_per_op", static_cast<double>(ProcessorTime() - processor) /
                                                      1000.0 / static_cast<double>(n));
  AddLatencies(measurement, lateness);
  for (const gen::TimerHandle& timer : armed) (void)timer.Cancel();
  return measurement;
}

}  // namespace

Workload Urgent() {
  return {"urgent",
          "latency of max-priority messages to a process with a full Main lane (200 ns a message)",
          {{"n", 1'000'000}},
          RunUrgent};
}

Workload LatencyUnderLoad() {
  return {"latency_under_load",
          "latency of a probe every millisecond beside busy processes (1 us a message)",
          {{"busy", 1000, 0, 1'000'000}, {"ms", 5000, 10, 3'600'000, "milliseconds"}},
          RunUnderLoad};
}

Workload Timer() {
  return {"timer",
          "delayed sends over 10 ms to 1 s: processor time of each, lateness",
          {{"n", 100'000, 1, 10'000'000},
           {"armed", 0, 0, 10'000'000, "timers besides, which are not due during the run"}},
          RunTimer};
}

}  // namespace ergon::bench
