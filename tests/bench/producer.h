// What sends in the workloads that measure streams.
#pragma once

#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {

// Sends Start::count numbers to Start::peer, all from one handler.
class Producer final : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const auto* start = message.As<Start>();
    for (std::int64_t i = 0; i < start->count; ++i) Must(Send(start->peer, Number{i}));
    return gen::Continue();
  }
};

// What a workload with producers can be told, and how they are spawned then.
inline const Param kYieldOnSend{"yield_on_send", 0, 0, 1,
                                "ProcessOptions::yield_on_send of producers"};
inline gen::ProcessOptions ProducerOptions(const Params& params) {
  return {.yield_on_send = params["yield_on_send"] != 0};
}

}  // namespace ergon::bench
