// What every workload on CAF is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include <bench/machine.h>
#include <bench/measurement.h>
#include <bench/params.h>

namespace ergon::bench::on_caf {

struct Workload {
  std::string name;
  std::string measures;
  std::vector<Param> params;
  // One run on a started system. Ends the actors it has spawned.
  Measurement (*run)(caf::actor_system&, const Params&);
};

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

// Goes before what begins a run.
using Begin = caf::atom_constant<caf::atom("begin")>;

// Counts the parts of a run that have come to their end; the clock stops in the handler that is the last.
class Finish {
 public:
  explicit Finish(std::int64_t parts) : left_(parts) {}

  // Any thread.
  void Part() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) at_.set_value(Now());
  }
  // The time of the last part.
  std::int64_t Wait() { return at_.get_future().get(); }

 private:
  std::atomic<std::int64_t> left_;
  std::promise<std::int64_t> at_;
};

// The actors of one run; ends them, and returns when they are gone.
class Cast {
 public:
  explicit Cast(caf::actor_system& system) : system_(system) {}
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;
  ~Cast() {
    for (const caf::actor& actor : actors_) anon_send_exit(actor, caf::exit_reason::kill);
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
      for (std::int64_t i = 0; i < count; ++i) send(peer, i);
    }};
  }
};

}  // namespace ergon::bench::on_caf
