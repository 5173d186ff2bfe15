// What each process does now, for a recording, and the events recorded so far.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/schedulable.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/recording/recorded_event.h>

namespace ergon::node {

// Any thread. BeginTurn and EndTurn are called on the thread that runs the turn; a turn that suspends its process ends,
// and the turn that resumes it is another one (core::DispatcherHooks).
class Tracks {
  static constexpr std::size_t kStripes = 16;
  // The limits of each stripe. In all, with the events that are being written: at most 48 MiB, and the names.
  static constexpr std::size_t kMostEvents = 8'192;
  static constexpr std::size_t kMostSends = kMostEvents / 2;  // so that turns and waits have room
  static constexpr std::size_t kMostTracks = 2'048;

 public:
  // Only events that name threads can be more.
  static constexpr std::size_t kUsuallyMost = kStripes * kMostEvents + 1'024;

  explicit Tracks(const Addresses& addresses) : addresses_(addresses) {}

  // Begins a recording. `only`: the only process recorded, as ProcessSlot::Id; 0: all. `sends`: also what they send.
  void Begin(std::uint64_t only, bool sends);
  // Returns whether to tell what the process sends in the turn, by NoteSend.
  [[nodiscard]] bool BeginTurn(const ProcessSlot& process);
  // Returns false if the process is not recorded (any more).
  [[nodiscard]] bool NoteSend(const ProcessSlot& process, gen::PID to,
                              const core::Envelope& envelope);
  void EndTurn(core::TurnEnd end);
  // Appends the events since the last call, which are hardly ever more than kUsuallyMost.
  void TakeEvents(std::vector<RecordedEvent>& events);
  // Does the same, and cuts what goes on now; nothing is recorded any more.
  void End(std::vector<RecordedEvent>& events);
  // Ends a recording that has no writer, also without memory.
  void Cancel() noexcept;
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return left_out_.load(std::memory_order_relaxed);
  }

 private:
  struct Track {
    std::uint32_t number = 0;
    std::uint64_t turns = 0;
    std::shared_ptr<const std::string> label = nullptr;
    bool is_busy = false;  // since `since`
    bool waits = false;    // as `wait` says, until `resumed`, if that is not 0
    std::int64_t since = 0;
    std::int64_t resumed = 0;
    RecordedEvent wait = {RecordedEvent::Kind::kWaits};
  };
  struct Stripe {
    std::mutex mutex;
    bool is_on = false;
    std::unordered_map<std::uint64_t, Track> tracks;
    std::vector<RecordedEvent> events;
    std::size_t sends = 0;  // among the events
  };

  [[nodiscard]] Stripe& StripeOf(std::uint64_t id) noexcept { return stripes_[id % kStripes]; }
  // Returns the track of a process; null if there are too many, or there is no room for its name. With the lock of the
  // stripe, as the rest.
  Track* FindOrMake(Stripe& stripe, const ProcessSlot& process);
  void Put(Stripe& stripe, RecordedEvent event);
  void EndWait(Stripe& stripe, Track& track, std::int64_t end);
  void EndBusy(Stripe& stripe, Track& track, std::int64_t end, const core::TypeDescriptor* type);
  void BeginWait(Track& track, const ProcessSlot& process, std::int64_t begin, gen::TraceId trace);
  void TellThread(Stripe& stripe);

  const Addresses& addresses_;
  std::array<Stripe, kStripes> stripes_;
  std::atomic<std::uint64_t> recording_{0};  // unique in the program; 0: none
  std::atomic<std::uint64_t> only_{0};
  std::atomic<bool> records_sends_{false};
  std::atomic<std::uint32_t> numbers_{0};
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace ergon::node
