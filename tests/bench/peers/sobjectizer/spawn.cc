// Agents that come and go. What comes and goes is a cooperation; here each has one agent, but for those of skynet.
#include <algorithm>

#include <bench/peers/sobjectizer/workload.h>
#include <bench/skynet.h>

namespace ergon::bench::on_sobjectizer {
namespace {

// ---- idle agents

class Idle final : public so_5::agent_t {
 public:
  explicit Idle(context_t context) : so_5::agent_t(std::move(context)) {}
};

class Spawner final : public so_5::agent_t {
 public:
  Spawner(context_t context, const System* system, Finish* finish)
      : so_5::agent_t(std::move(context)), system_(system), finish_(finish) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event([this](so_5::mhood_t<Begin> begin) {
      for (std::int64_t i = 0; i < begin->count; ++i) {
        so_5::introduce_child_coop(*this, system_->binder,
                                   [](so_5::coop_t& coop) { coop.make_agent<Idle>(); });
      }
      finish_->Part();
    });
  }

  const System* system_;
  Finish* finish_;
};

Measurement RunIdle(const System& system, const Params& params) {
  const std::int64_t n = params["n"];
  Finish finish(1);
  so_5::mbox_t spawner;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    spawner = coop.make_agent<Spawner>(&system, &finish)->so_direct_mbox();
  });
  const std::int64_t before = ResidentBytes();
  const std::int64_t start = Now();
  so_5::send<Begin>(spawner, std::vector<so_5::mbox_t>(), n);
  Measurement measurement{n, finish.Wait() - start};
  // Grows in the first run of a program only: later ones use the same memory again.
  static double bytes = 0;
  bytes = std::max(bytes, static_cast<double>(ResidentBytes() - before) / static_cast<double>(n));
  measurement.extra.emplace_back("bytes_per_actor", bytes);
  return measurement;
}

// ---- spawn, message, answer, end

class Mayfly final : public so_5::agent_t {
 public:
  Mayfly(context_t context, so_5::mbox_t breeder)
      : so_5::agent_t(std::move(context)), breeder_(std::move(breeder)) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event([this](so_5::mhood_t<Number> number) {
      so_5::send(breeder_, number);
      so_deregister_agent_coop_normally();
    });
  }

  const so_5::mbox_t breeder_;
};

class Breeder final : public so_5::agent_t {
 public:
  Breeder(context_t context, const System* system, Finish* finish)
      : so_5::agent_t(std::move(context)), binder_(system->binder), finish_(finish) {}

 private:
  void so_define_agent() override {
    so_subscribe_self()
        .event([this](so_5::mhood_t<Number>) {
          if (--left_ > 0) {
            Breed();
          } else {
            finish_->Part();
          }
        })
        .event([this](so_5::mhood_t<Begin> begin) {
          left_ = begin->count;
          Breed();
        });
  }
  void Breed() {
    so_5::mbox_t mayfly;
    so_5::introduce_child_coop(*this, binder_, [&](so_5::coop_t& coop) {
      mayfly = coop.make_agent<Mayfly>(so_direct_mbox())->so_direct_mbox();
    });
    so_5::send<Number>(mayfly, left_);
  }

  const so_5::disp_binder_shptr_t binder_;
  Finish* finish_;
  std::int64_t left_ = 0;
};

Measurement RunChurn(const System& system, const Params& params) {
  const std::int64_t n = params["n"];
  Finish finish(1);
  so_5::mbox_t breeder;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    breeder = coop.make_agent<Breeder>(&system, &finish)->so_direct_mbox();
  });
  const std::int64_t start = Now();
  so_5::send<Begin>(breeder, std::vector<so_5::mbox_t>(), n);
  return {n, finish.Wait() - start};
}

// ---- skynet: a tree of agents whose leaves' numbers are summed on the way up

// Ten agents are a cooperation, and end together.
class Branch final : public so_5::agent_t {
 public:
  Branch(context_t context, const System* system, so_5::mbox_t parent, std::int64_t first,
         std::int64_t leaves)
      : so_5::agent_t(std::move(context)),
        system_(system),
        parent_(std::move(parent)),
        first_(first),
        leaves_(leaves) {}

 private:
  void so_define_agent() override {
    if (leaves_ == 1) return;
    so_subscribe_self().event([this](so_5::mhood_t<Number> number) {
      total_ += number->value;
      if (--left_ > 0) return;
      so_5::send<Number>(parent_, total_);
      so_environment().deregister_coop(branches_, so_5::dereg_reason::normal);
    });
  }
  void so_evt_start() override {
    if (leaves_ == 1) {
      so_5::send<Number>(parent_, first_);
      return;
    }
    const std::int64_t share = leaves_ / kBranches;
    so_5::introduce_child_coop(*this, system_->binder, [&](so_5::coop_t& coop) {
      branches_ = coop.handle();
      for (std::int64_t i = 0; i < kBranches; ++i) {
        coop.make_agent<Branch>(system_, so_direct_mbox(), first_ + i * share, share);
      }
    });
  }

  const System* system_;
  const so_5::mbox_t parent_;
  const std::int64_t first_;
  const std::int64_t leaves_;
  so_5::coop_handle_t branches_;
  std::int64_t total_ = 0;
  std::int64_t left_ = kBranches;
};

// What the tree's root reports to.
class Gardener final : public so_5::agent_t {
 public:
  Gardener(context_t context, const System* system, Finish* finish, std::int64_t* sum)
      : so_5::agent_t(std::move(context)), system_(system), finish_(finish), sum_(sum) {}

 private:
  void so_define_agent() override {
    so_subscribe_self()
        .event([this](so_5::mhood_t<Number> number) {
          *sum_ = number->value;
          finish_->Part();
        })
        .event([this](so_5::mhood_t<Begin> begin) {
          so_5::introduce_child_coop(*this, system_->binder, [&](so_5::coop_t& coop) {
            coop.make_agent<Branch>(system_, so_direct_mbox(), std::int64_t{0}, begin->count);
          });
        });
  }

  const System* system_;
  Finish* finish_;
  std::int64_t* sum_;
};

Measurement RunSkynet(const System& system, const Params& params) {
  const std::int64_t leaves = SkynetLeaves(params);
  Finish finish(1);
  std::int64_t sum = 0;
  so_5::mbox_t gardener;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    gardener = coop.make_agent<Gardener>(&system, &finish, &sum)->so_direct_mbox();
  });
  const std::int64_t start = Now();
  so_5::send<Begin>(gardener, std::vector<so_5::mbox_t>(), leaves);
  const Measurement measurement{leaves, finish.Wait() - start};
  CheckSkynetSum(sum, leaves);
  return measurement;
}

}  // namespace

Workload SpawnIdle() {
  return {"spawn",
          "idle agents made by a handler; bytes of each",
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

}  // namespace ergon::bench::on_sobjectizer
