#include <ergon/node/io/io_thread.h>

#include <atomic>
#include <csignal>
#include <future>

#include <unistd.h>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>

#include <kit/eventually.h>
#include <kit/threads.h>

namespace ergon::node {
namespace {

TEST_CASE("io thread: it may ask for the clock's changes while another thread waits for it") {
  const core::SteadyClock clock;
  core::TimerQueue timers(clock);
  IoThread io(timers);
  std::atomic<pid_t> waiter{0};
  std::promise<bool> watches;
  asio::post(io.context(), [&] {
    CHECK(kit::Eventually([&] { return waiter != 0 && kit::Sleeps(waiter); }));
    watches.set_value(io.WatchClock([] {}, [](const gen::Error&) {}).has_value());
  });
  kit::Threads threads;
  threads.Start([&] {
    waiter = gettid();
    CHECK(io.StartSignals({SIGURG}, [](int) {}));
  });
  auto watched = watches.get_future();
  // Otherwise both wait for ever: the test ends with its program.
  REQUIRE(watched.wait_for(kit::kDeadline) == std::future_status::ready);
  CHECK(watched.get());
  threads.Join();
  io.Stop();
  CHECK(io.WatchClock([] {}, [](const gen::Error&) {}).error() == gen::ErrNodeTerminated);
}

}  // namespace
}  // namespace ergon::node
