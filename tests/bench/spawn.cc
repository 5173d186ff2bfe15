// Processes that come and go.
#include <thread>

#include <bench/skynet.h>
#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

gen::PID MustSpawn(gen::Result<gen::PID> pid) {
  Must(pid);
  return *pid;
}

// ---- idle processes

class Idle final : public act::Actor {};

class Spawner final : public act::Actor {
 public:
  Spawner(Finish* finish, std::vector<gen::PID>* spawned) : finish_(finish), spawned_(spawned) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const auto factory = gen::Factory<Idle>();
    for (std::int64_t left = message.As<Start>()->count; left > 0; --left) {
      spawned_->push_back(MustSpawn(Spawn(factory)));
    }
    finish_->Part();
    return gen::Continue();
  }

  Finish* finish_;
  std::vector<gen::PID>* spawned_;
};

Measurement RunIdle(gen::Node& node, const Params& params) {
  const std::int64_t n = params["n"];
  std::vector<gen::PID> spawned(static_cast<std::size_t>(n));  // touches its memory
  spawned.clear();
  Finish finish(node, 1);
  Cast cast(node);
  const gen::PID spawner = cast.Spawn(gen::Factory<Spawner>(&finish, &spawned));
  const std::int64_t before = ResidentBytes();
  const std::int64_t start = Now();
  Must(node.Send(spawner, Start{{}, n}));
  Measurement measurement{n, finish.Wait() - start};
  // Grows in the first run of a program only: later ones use the same memory again.
  static double bytes = 0;
  bytes = std::max(bytes, static_cast<double>(ResidentBytes() - before) / static_cast<double>(n));
  const std::int64_t stop = Now();
  for (const gen::PID pid : spawned) Must(node.SendExit(pid, gen::Reason::Normal()));
  while (node.Info().processes > 1) std::this_thread::yield();
  measurement.extra.emplace_back("stop_ns_per_op",
                                 static_cast<double>(Now() - stop) / static_cast<double>(n));
  measurement.extra.emplace_back("bytes_per_actor", bytes);
  return measurement;
}

// ---- spawn, message, answer, end

class Mayfly final : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    Must(Send(from, *message.As<Number>()));
    return gen::Stop(gen::Reason::Normal());
  }
};

class Breeder final : public act::Actor {
 public:
  explicit Breeder(Finish* finish) : finish_(finish) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* start = message.As<Start>()) {
      left_ = start->count;
    } else if (--left_ == 0) {
      finish_->Part();
      return gen::Continue();
    }
    Must(Send(MustSpawn(Spawn(factory_)), Number{left_}));
    return gen::Continue();
  }

  Finish* finish_;
  std::int64_t left_ = 0;
  const gen::ProcessFactory factory_ = gen::Factory<Mayfly>();
};

Measurement RunChurn(gen::Node& node, const Params& params) {
  const std::int64_t n = params["n"];
  Finish finish(node, 1);
  Cast cast(node);
  const gen::PID breeder = cast.Spawn(gen::Factory<Breeder>(&finish));
  const std::int64_t start = Now();
  Must(node.Send(breeder, Start{{}, n}));
  return {n, finish.Wait() - start};
}

// ---- skynet: a tree of processes whose leaves' numbers are summed on the way up

struct Grow {
  std::int64_t first = 0;
  std::int64_t leaves = 0;
};

class Branch final : public act::Actor {
 public:
  Branch(Finish* finish, std::int64_t* sum) : finish_(finish), sum_(sum) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* number = message.As<Number>()) {
      total_ += number->value;
      return --left_ == 0 ? Report() : gen::Continue();
    }
    const Grow grow = *message.As<Grow>();
    parent_ = from;
    if (grow.leaves == 1) {
      total_ = grow.first;
      return Report();
    }
    left_ = kBranches;
    const auto factory = gen::Factory<Branch>(nullptr, nullptr);
    const std::int64_t share = grow.leaves / kBranches;
    for (std::int64_t i = 0; i < kBranches; ++i) {
      Must(Send(MustSpawn(Spawn(factory)), Grow{grow.first + i * share, share}));
    }
    return gen::Continue();
  }

  gen::Status Report() {
    if (finish_ == nullptr) {
      Must(Send(parent_, Number{total_}));
    } else {
      *sum_ = total_;
      finish_->Part();
    }
    return gen::Stop(gen::Reason::Normal());
  }

  Finish* finish_;  // the root's only
  std::int64_t* sum_;
  gen::PID parent_;
  std::int64_t total_ = 0;
  std::int64_t left_ = 0;
};

Measurement RunSkynet(gen::Node& node, const Params& params) {
  const std::int64_t leaves = SkynetLeaves(params);
  Finish finish(node, 1);
  std::int64_t sum = 0;
  Cast cast(node);
  const gen::PID root = cast.Spawn(gen::Factory<Branch>(&finish, &sum));
  const std::int64_t start = Now();
  Must(node.Send(root, Grow{0, leaves}));
  Measurement measurement{leaves, finish.Wait() - start};
  CheckSkynetSum(sum, leaves);
  return measurement;
}

}  // namespace

Workload SpawnIdle() {
  return {"spawn",
          "idle processes made by a handler; bytes of each; stopping them all",
          {{"n", 1'000'000, 1, 10'000'000}},
          RunIdle};
}

Workload Churn() {
  return {
      "churn", "spawn, message, answer, end; one after the other", {{"n", 1'000'000}}, RunChurn};
}

Workload Skynet() {
  return {"skynet",
          "leaves of a tree of factor 10, summed upward",
          {{"n", 1'000'000, 1, 10'000'000, "leaves, rounded down to a power of 10"}},
          RunSkynet};
}

}  // namespace ergon::bench
