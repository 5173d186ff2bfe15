// Starting a node, and waiting for signals, where resources are short.
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include <unistd.h>

#include <kit/descriptors.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_CASE("start: without file descriptors it is an error with the reason, and nothing is left" *
          kit::WithoutDescriptors()) {
  const auto threads = Threads();
  const auto descriptors = kit::OpenDescriptors();
  int refused = 0;
  for (int more = 0; more < 16; ++more) {
    CAPTURE(more);
    gen::Result<Node> node = gen::ErrTimeout;
    {
      const kit::FewDescriptors few(more);
      node = Start("test@localhost");
    }
    if (node) break;
    ++refused;
    CHECK(node.error().code() == gen::ErrorCode::kInternal);
    CHECK(node.error().ToString().find("thread for timers and signals") != std::string::npos);
    CHECK(node.error().ToString().find("Too many open files") != std::string::npos);
  }
  CHECK(refused > 0);
  CHECK(refused < 16);
  CHECK(kit::Eventually([&] { return Threads() == threads; }));
  CHECK(kit::OpenDescriptors() == descriptors);
  TestNode t;  // as soon as there are some
  CHECK(t.Run(t.Spawn(), [](Subject&) {}));
}

TEST_CASE("start: WaitForSignal without file descriptors is an error, and the node runs on" *
          kit::WithoutDescriptors()) {
  TestNode t;
  const gen::PID pid = t.Spawn();
  for (int i = 0; i < 2; ++i) {
    const kit::FewDescriptors few(0);
    const auto waited = t.node.WaitForSignal();
    REQUIRE_FALSE(waited);
    CHECK(waited.error().code() == gen::ErrorCode::kInternal);
    CHECK(waited.error().ToString().find("Too many open files") != std::string::npos);
    CHECK(t.Run(pid, [](Subject& self) { CHECK(self.Sleep(1us)); }));
  }
  std::thread waiter([&] { CHECK(t.node.WaitForSignal()); });
  CHECK(t.Run(pid, [](Subject& self) { self.Node().Stop(); }));
  waiter.join();
}

TEST_CASE("start: WaitForSignal where it cannot wait is an error") {
  TestNode t;
  CHECK(t.Run(t.Spawn(), [](Subject& self) {
    const auto waited = self.Node().WaitForSignal();
    REQUIRE_FALSE(waited);
    CHECK(waited.error() == gen::ErrNotAllowed);
  }));
}

}  // namespace
}  // namespace ergon::node
