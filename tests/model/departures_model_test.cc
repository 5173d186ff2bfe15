// Processes leave while somebody begins to wait until all have.
#include "shim.h"

#include <ergon/node/spawning/departures.h>

#include "checks.h"

namespace ergon::model {
namespace {

// Thread 0 waits; each of the others leaves once. With `kSpawns`, thread 1 spawns one more before, which leaves on the
// same thread. With `kAgain`, thread 0 spawns one more afterwards, which stays, and looks whether all have left.
template <int kLeavers, bool kSpawns, bool kAgain = false>
class Leaving : public Model {
 public:
  void Run(int thread) override {
    const auto arrived = [this] { return arrived_.load(std::memory_order_seq_cst); };
    if (thread == 0) {
      Check(Wait(arrived, true), "woken by nobody");
      Check(has_left_.load(std::memory_order_relaxed) == arrived(), "woken too early");
      if (!kAgain) return;
      arrived_.fetch_add(1, std::memory_order_seq_cst);
      Check(!Wait(arrived, false), "woken by one that was late for the wait before");
      return;
    }
    if (kSpawns && thread == 1) {
      arrived_.fetch_add(1, std::memory_order_seq_cst);
      Leave(1, arrived);
    }
    Leave(thread, arrived);
  }

 private:
  // As Population::WaitUntilEmpty. Without `is_patient` its time is over at once.
  template <class Arrived>
  bool Wait(Arrived& arrived, bool is_patient) {
    for (;;) {
      core::Event empty;
      const bool is_empty = departures_.Begin(empty, arrived);
      if (!is_empty && is_patient) empty.Wait();
      if (departures_.End()) return is_empty;
      empty.Wait();
    }
  }
  template <class Arrived>
  void Leave(int thread, Arrived& arrived) {
    has_left_.fetch_add(1, std::memory_order_relaxed);
    core::Event* const empty = departures_.Leave(static_cast<std::size_t>(thread - 1), arrived);
    if (empty != nullptr) empty->Set();
  }

  node::Departures<2> departures_;
  std::atomic<std::uint64_t> arrived_{kLeavers};
  std::atomic<std::uint64_t> has_left_{0};
};

TEST_CASE("model: departures, one and with a process that it has spawned") {
  CheckModel<Leaving<1, false>>({.name = "departures-1"}, 5);
  CheckModel<Leaving<1, true>>({.name = "departures-spawning"}, 10);
}

TEST_CASE("model: departures, two on two threads") {
  CheckModel<Leaving<2, false>>({.name = "departures-2", .threads = 3}, 1000);
}

TEST_CASE("model: departures, two on two threads, of which one is late for the wait") {
  CheckModel<Leaving<2, false, true>>({.name = "departures-again", .threads = 3}, 2000);
}

}  // namespace
}  // namespace ergon::model
