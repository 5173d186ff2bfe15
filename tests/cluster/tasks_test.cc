// Tasks that have no stack.
#include <ergon/node/cluster/connection/tasks.h>

#include <chrono>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <kit/eventually.h>

namespace ergon::dist {

TEST_CASE("tasks: whoever starts one is told that there is no memory for its stack") {
  if (kit::kSanitized) return;  // their shadow memory does not live with a limit
  constexpr int kMost = 1000;   // more stacks than are kept for the next ones
  asio::io_context context(1);
  Tasks tasks(context);
  int begun = 0;
  int without_stack = 0;
  for (int i = 0; i < kMost; ++i) {
    tasks.Start(
        [&] {
          ++begun;
          tasks.Sleep(std::chrono::hours(1));
        },
        [&] { ++without_stack; });
  }
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit little = before;
  little.rlim_cur = 1024 * 1024;
  setrlimit(RLIMIT_AS, &little);
  context.poll();
  setrlimit(RLIMIT_AS, &before);
  CHECK(without_stack > 0);
  CHECK(begun + without_stack == kMost);
  tasks.Cancel();
  context.run();
}

}  // namespace ergon::dist
