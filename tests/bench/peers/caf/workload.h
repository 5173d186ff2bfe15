// What every workload on CAF is made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include <bench/machine.h>
#include <bench/measurement.h>
#include <bench/offer.h>
#include <bench/params.h>
#include <bench/peers/caf/versions.h>
#include <bench/peers/finish.h>

namespace ergon::bench::on_caf {

using Workload = WorkloadOn<caf::actor_system>;

Workload PingPong();
Workload PingPongPairs();
Workload Stream();
Workload StreamPairs();
Workload FanIn();
Workload Ring();
Workload SpawnIdle();
Workload Churn();
Workload Skynet();
Workload Call();
Workload CallMany();
Workload Pool();
Workload PoolWork();

// The actors of one run; ends them, and returns when they are gone.
class Cast {
 public:
  explicit Cast(caf::actor_system& system) : system_(system) {}
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;
  ~Cast() {
    for (const caf::actor& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::kill);
    system_.await_all_actors_done();
  }

  template <class Actor, class... Args>
  caf::actor Spawn(Args&&... args) {
    return Add(system_.spawn<Actor>(std::forward<Args>(args)...));
  }
  caf::actor Add(caf::actor actor) {
    actors_.push_back(actor);
    return actor;
  }

 private:
  caf::actor_system& system_;
  std::vector<caf::actor> actors_;
};

// Sends `count` numbers to `peer`, all from one handler.
class Producer final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

 private:
  caf::behavior make_behavior() override {
    return {[this](Begin, const caf::actor& peer, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) Tell(*this, peer, i);
    }};
  }
};

}  // namespace ergon::bench::on_caf
