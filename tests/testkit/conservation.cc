#include <ergon/testkit/conservation.h>

#include <algorithm>
#include <string>
#include <thread>

#include <ergon/testkit/expectation_failed.h>

namespace ergon::testkit {

void ExpectConservation(const gen::Node& node, std::chrono::nanoseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kMost =
      std::chrono::hours(24 * 365);  // of what may be infinite
  const auto deadline = Clock::now() + std::min(patience, kMost);
  for (;;) {
    const gen::MessageBalance balance = node.MessageBalance();
    if (balance.Unaccounted() == 0) return;
    if (Clock::now() >= deadline) {
      throw ExpectationFailed("messages of " + node.Name().ToString() +
                              " are not conserved: " + balance.ToString());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace ergon::testkit
