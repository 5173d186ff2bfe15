// What goes wrong, and when: all of it is chosen by a seed.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ergon/testkit/random.h>

#include <cluster/chaos/cluster.h>

namespace ergon::chaos {

enum class Fault : std::uint8_t {
  kCut,         // a connection is cut, in one of several ways (Cut)
  kDisconnect,  // a node ends one by itself
  kPart,        // two nodes cannot connect for a while
  kDelay,       // what they say takes longer
  kHold,        // nothing comes through, for less than the tick time
  kSilence,     // or for more
  kStop,        // a node stands still for longer than the tick time (SIGSTOP)
  kKill,        // a node is killed, and started again
};
inline constexpr std::array<const char*, 8> kFaultNames = {
    "cuts", "disconnects", "parted", "delays", "held", "silences", "stops", "kills"};

class Faults {
 public:
  Faults(Cluster& cluster, std::uint64_t seed);

  // Lets things go wrong for so long. Each kind happens at least once if there is time for all.
  void Run(std::chrono::milliseconds duration);
  // Undoes all that was not undone yet.
  void Undo();

  [[nodiscard]] const std::array<int, kFaultNames.size()>& counts() const noexcept {
    return counts_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Undoing {
    Clock::time_point when;
    std::function<void()> does;
  };

  [[nodiscard]] Fault NextFault();
  void Begin(Fault fault);
  void Later(std::chrono::milliseconds delay, std::function<void()> does);
  void UndoWhatIsDue();
  [[nodiscard]] std::chrono::milliseconds Between(std::int64_t least, std::int64_t most);
  // One that runs; empty: there is none.
  [[nodiscard]] std::string SomeNode();
  // Longer than until a silent peer is given up.
  [[nodiscard]] std::chrono::milliseconds LongerThanTick();

  Cluster& cluster_;
  testkit::Random random_;
  std::vector<Fault> deck_;
  std::vector<Undoing> undoings_;
  std::array<int, kFaultNames.size()> counts_{};
};

}  // namespace ergon::chaos
