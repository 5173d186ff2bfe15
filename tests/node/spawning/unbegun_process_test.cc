// What is left of a process for which something could not be allocated.
#include <cstdlib>
#include <new>

#include <node/subject.h>

// The sanitizers have operators of their own, and must keep them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace ergon::node {
namespace {

// The allocation of this thread that fails, counted from 1; 0: none.
constinit thread_local int failing_allocation = 0;

}  // namespace
}  // namespace ergon::node

void* operator new(std::size_t bytes) {
  int& failing = ergon::node::failing_allocation;
  if (failing > 0 && --failing == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ergon::node {
namespace {

constexpr int kMoreThanASpawnAllocates = 100;

// Calls `spawn` again and again; each time another allocation fails. Returns how often the exception came out of it.
int SpawnWithoutMemory(const std::function<void()>& spawn) {
  int thrown = 0;
  for (int n = 1; n <= kMoreThanASpawnAllocates; ++n) {
    failing_allocation = n;
    try {
      spawn();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    failing_allocation = 0;
  }
  return thrown;
}

TEST_CASE("unbegun process: it ends, whatever could not be allocated, and its name is free") {
  TestNode t;
  const auto factory = Make({});
  const auto name = gen::Atom("ends");
  const int thrown = SpawnWithoutMemory([&] {
    if (auto pid = t.node.SpawnRegister(name, factory)) {
      failing_allocation = 0;
      CHECK(t.node.Kill(*pid));
      CHECK(t.Ended(*pid));
    }
  });
  CHECK(thrown > 0);
  CHECK(thrown < kMoreThanASpawnAllocates);
  CHECK(t.EventuallyProcesses(0));
  CHECK(t.node.SpawnRegister(name, factory));
}

TEST_CASE("unbegun process: so does a child, and its parent lives on") {
  TestNode t;
  const auto factory = Make({});
  const auto name = gen::Atom("child");
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    const int thrown = SpawnWithoutMemory([&] {
      const auto pid = self.SpawnRegister(name, factory, {.link_parent = true});
      failing_allocation = 0;
      if (pid) {
        CHECK(self.Unlink(*pid));
        CHECK(t.node.Kill(*pid));
      }
      while (t.node.Info().processes != 1) (void)self.Sleep(100us);
    });
    CHECK(thrown > 0);
    CHECK(thrown < kMoreThanASpawnAllocates);
    CHECK(self.SpawnRegister(name, factory));
  }));
}

}  // namespace
}  // namespace ergon::node

#endif
