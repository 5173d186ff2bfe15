// Measures how long an actor has handled nothing.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::act {

// A message costs nothing: a timer looks a few times per limit whether any message has been handled since.
class IdleTime {
 public:
  // `limit` is more than 0. The host outlives it.
  IdleTime(gen::ProcessHost& host, std::chrono::nanoseconds limit);
  IdleTime(const IdleTime&) = delete;
  IdleTime& operator=(const IdleTime&) = delete;
  ~IdleTime();

  // Takes each envelope of the actor. Returns true if the envelope is the timer and nothing was handled for the
  // limit; then the time begins anew.
  [[nodiscard]] bool IsOver(core::Envelope& envelope);

 private:
  struct Look {
    std::uint64_t number;
  };

  [[nodiscard]] std::int64_t Step() const;  // from look to look, ns
  void StartTimer(std::int64_t now);

  gen::ProcessHost& host_;
  const std::int64_t limit_;  // ns
  std::uint64_t mark_;        // at the last look
  bool had_work_ = false;     // then
  std::int64_t quiet_since_;
  std::uint64_t looks_ = 0;
  gen::TimerHandle timer_;
};

}  // namespace ergon::act
