// What every workload on SObjectizer is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <so_5/all.hpp>

#include <bench/machine.h>
#include <bench/measurement.h>
#include <bench/offer.h>
#include <bench/params.h>
#include <bench/peers/finish.h>

namespace ergon::bench::on_sobjectizer {

struct System {
  so_5::environment_t& environment;
  so_5::disp_binder_shptr_t binder;  // of all agents to the same threads
};

using Workload = WorkloadOn<const System>;

Workload PingPong();
Workload PingPongPairs();
Workload Stream();
Workload StreamPairs();
Workload FanIn();
Workload Ring();
Workload SpawnIdle();
Workload Churn();
Workload Skynet();
Workload Pool();
Workload PoolWork();

// The messages.
struct Number final : public so_5::message_t {
  explicit Number(std::int64_t number) : value(number) {}
  std::int64_t value;
};
// Begins a run.
struct Begin final : public so_5::message_t {
  Begin(std::vector<so_5::mbox_t> others, std::int64_t number)
      : peers(std::move(others)), count(number) {}
  const std::vector<so_5::mbox_t> peers;
  const std::int64_t count;
};

// Agents of one run, in one cooperation; ends them, and returns when they are gone.
class Cast {
 public:
  // `make` adds them to the cooperation.
  Cast(const System& system, const std::function<void(so_5::coop_t&)>& make)
      : environment_(system.environment) {
    auto coop = environment_.make_coop(system.binder);
    make(*coop);
    // Shared, as it is used until its function has returned.
    auto gone = std::make_shared<std::promise<void>>();
    gone_ = gone->get_future();
    coop->add_dereg_notificator(
        [gone](so_5::environment_t&, const so_5::coop_handle_t&,
               const so_5::coop_dereg_reason_t&) noexcept { gone->set_value(); });
    handle_ = environment_.register_coop(std::move(coop));
  }
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;
  ~Cast() {
    environment_.deregister_coop(handle_, so_5::dereg_reason::normal);
    gone_.wait();
  }

 private:
  so_5::environment_t& environment_;
  so_5::coop_handle_t handle_;
  std::future<void> gone_;
};

// Sends `count` numbers to its peers, to each in turn, all from one handler.
class Producer final : public so_5::agent_t {
 public:
  explicit Producer(context_t context) : so_5::agent_t(std::move(context)) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event([](so_5::mhood_t<Begin> begin) {
      std::size_t turn = 0;
      for (std::int64_t i = 0; i < begin->count; ++i) {
        so_5::send<Number>(begin->peers[turn], i);
        if (++turn == begin->peers.size()) turn = 0;
      }
    });
  }
};

}  // namespace ergon::bench::on_sobjectizer
