// Actors that come and go.
#include <algorithm>

#include <bench/peers/caf/workload.h>
#include <bench/skynet.h>

namespace ergon::bench::on_caf {
namespace {

// ---- idle actors

class Idle final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

 private:
  caf::behavior make_behavior() override {
    return {[](std::int64_t) {}};
  }
};

class Spawner final : public caf::event_based_actor {
 public:
  Spawner(caf::actor_config& config, Finish* finish, std::vector<caf::actor>* spawned)
      : caf::event_based_actor(config), finish_(finish), spawned_(spawned) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](Begin, std::int64_t count) {
      // lazy_init: not scheduled before its first message. CAF's quickest way.
      for (; count > 0; --count) spawned_->push_back(spawn<Idle, caf::lazy_init>());
      finish_->Part();
    }};
  }

  Finish* finish_;
  std::vector<caf::actor>* spawned_;
};

Measurement RunIdle(caf::actor_system& system, const Params& params) {
  const std::int64_t n = params["n"];
  std::vector<caf::actor> spawned(static_cast<std::size_t>(n));  // touches its memory
  spawned.clear();
  Finish finish(1);
  Cast cast(system);
  const caf::actor spawner = cast.Spawn<Spawner>(&finish, &spawned);
  const std::int64_t before = ResidentBytes();
  const std::int64_t start = Now();
  TellToBegin(spawner, n);
  Measurement measurement{n, finish.Wait() - start};
  // Grows in the first run of a program only: later ones use the same memory again.
  static double bytes = 0;
  bytes = std::max(bytes, static_cast<double>(ResidentBytes() - before) / static_cast<double>(n));
  for (const caf::actor& actor : spawned) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  measurement.extra.emplace_back("bytes_per_actor", bytes);
  return measurement;
}

// ---- spawn, message, answer, end

class Mayfly final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t number) {
      quit();
      return number;
    }};
  }
};

class Breeder final : public caf::event_based_actor {
 public:
  Breeder(caf::actor_config& config, Finish* finish)
      : caf::event_based_actor(config), finish_(finish) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t) {
              if (--left_ > 0) {
                Breed();
              } else {
                finish_->Part();
              }
            },
            [this](Begin, std::int64_t count) {
              left_ = count;
              Breed();
            }};
  }
  void Breed() { Tell(*this, spawn<Mayfly, caf::lazy_init>(), left_); }

  Finish* finish_;
  std::int64_t left_ = 0;
};

Measurement RunChurn(caf::actor_system& system, const Params& params) {
  const std::int64_t n = params["n"];
  Finish finish(1);
  Cast cast(system);
  const caf::actor breeder = cast.Spawn<Breeder>(&finish);
  const std::int64_t start = Now();
  TellToBegin(breeder, n);
  return {n, finish.Wait() - start};
}

// ---- skynet: a tree of actors whose leaves' numbers are summed on the way up

class Branch final : public caf::event_based_actor {
 public:
  Branch(caf::actor_config& config, caf::actor parent, std::int64_t first, std::int64_t leaves)
      : caf::event_based_actor(config),
        parent_(std::move(parent)),
        first_(first),
        leaves_(leaves) {}

 private:
  caf::behavior make_behavior() override {
    if (leaves_ == 1) {
      Tell(*this, parent_, first_);
      return {};  // which is its end
    }
    const std::int64_t share = leaves_ / kBranches;
    for (std::int64_t i = 0; i < kBranches; ++i) {
      spawn<Branch>(caf::actor(this), first_ + i * share, share);
    }
    return {[this](std::int64_t number) {
      total_ += number;
      if (--left_ > 0) return;
      Tell(*this, parent_, total_);
      quit();
    }};
  }

  const caf::actor parent_;
  const std::int64_t first_;
  const std::int64_t leaves_;
  std::int64_t total_ = 0;
  std::int64_t left_ = kBranches;
};

// What the tree's root reports to.
class Gardener final : public caf::event_based_actor {
 public:
  Gardener(caf::actor_config& config, Finish* finish, std::int64_t* sum)
      : caf::event_based_actor(config), finish_(finish), sum_(sum) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t number) {
              *sum_ = number;
              finish_->Part();
            },
            [this](Begin, std::int64_t leaves) {
              spawn<Branch>(caf::actor(this), std::int64_t{0}, leaves);
            }};
  }

  Finish* finish_;
  std::int64_t* sum_;
};

Measurement RunSkynet(caf::actor_system& system, const Params& params) {
  const std::int64_t leaves = SkynetLeaves(params);
  Finish finish(1);
  std::int64_t sum = 0;
  Cast cast(system);
  const caf::actor gardener = cast.Spawn<Gardener>(&finish, &sum);
  const std::int64_t start = Now();
  TellToBegin(gardener, leaves);
  const Measurement measurement{leaves, finish.Wait() - start};
  CheckSkynetSum(sum, leaves);
  return measurement;
}

}  // namespace

Workload SpawnIdle() {
  return {"spawn",
          "idle actors made by a handler; bytes of each",
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

}  // namespace ergon::bench::on_caf
