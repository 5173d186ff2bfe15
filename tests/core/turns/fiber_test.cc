#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/fiber_cache.h>
#include "turns.h"

namespace ergon::core::fiber_test {
namespace {

using testing::kSanitized;

constexpr std::size_t kStack = 64 * 1024;

void Nothing(void*, Fiber&, Fiber&) {}

// The tests' fibers run `*g_body` again and again and return to `*g_home` after each run.
std::function<void(Fiber&)>* g_body = nullptr;
Fiber* g_home = nullptr;

void Body(Fiber& self) {
  for (;;) {
    (*g_body)(self);
    self.SwitchTo(*g_home, &Nothing, nullptr);
  }
}

TEST_CASE("fiber: runs, comes back, and can be entered again") {
  Fiber home;
  auto fiber = Fiber::Create(kStack, &Body);
  REQUIRE(fiber != nullptr);
  int runs = 0;
  std::function<void(Fiber&)> body = [&](Fiber&) { ++runs; };
  g_body = &body;
  g_home = &home;
  for (int i = 1; i <= 3; ++i) {
    home.SwitchTo(*fiber, &Nothing, nullptr);
    CHECK(runs == i);
  }
}

TEST_CASE("fiber: the callback after the switch runs on the other side") {
  Fiber home;
  auto fiber = Fiber::Create(kStack, &Body);
  REQUIRE(fiber != nullptr);
  struct Seen {
    Fiber* from = nullptr;
    Fiber* to = nullptr;
  } seen;
  std::function<void(Fiber&)> body = [&](Fiber&) { CHECK(seen.to == fiber.get()); };
  g_body = &body;
  g_home = &home;
  home.SwitchTo(
      *fiber,
      [](void* context, Fiber& from, Fiber& to) {
        *static_cast<Seen*>(context) = {&from, &to};
      },
      &seen);
  CHECK(seen.from == &home);
}

TEST_CASE("fiber: exceptions belong to the fiber that handles them") {
  Fiber home;
  auto fiber = Fiber::Create(kStack, &Body);
  REQUIRE(fiber != nullptr);
  std::function<void(Fiber&)> body = [&](Fiber& self) {
    CHECK(std::current_exception() == nullptr);
    try {
      throw std::runtime_error("inner");
    } catch (const std::exception&) {
      self.SwitchTo(*g_home, &Nothing, nullptr);  // in the middle of a handler
      CHECK_THROWS_WITH(throw, "inner");
    }
  };
  g_body = &body;
  g_home = &home;
  try {
    throw std::runtime_error("outer");
  } catch (const std::exception&) {
    home.SwitchTo(*fiber, &Nothing, nullptr);
    CHECK_THROWS_WITH(throw, "outer");
    home.SwitchTo(*fiber, &Nothing, nullptr);
    CHECK_THROWS_WITH(throw, "outer");
  }
  CHECK(std::current_exception() == nullptr);
}

// pthread_self is declared const: two calls in one function are merged, even around a switch.
[[gnu::noinline]] std::thread::id ThisThread() {
  asm volatile("" ::: "memory");
  return std::this_thread::get_id();
}

TEST_CASE("fiber: continues on another thread") {
  Fiber home;
  auto fiber = Fiber::Create(kStack, &Body);
  REQUIRE(fiber != nullptr);
  std::thread::id first;
  std::thread::id second;
  std::function<void(Fiber&)> body = [&](Fiber& self) {
    first = ThisThread();
    self.SwitchTo(*g_home, &Nothing, nullptr);
    second = ThisThread();
  };
  g_body = &body;
  g_home = &home;
  home.SwitchTo(*fiber, &Nothing, nullptr);
  std::thread other([&] {
    Fiber there;
    g_home = &there;
    there.SwitchTo(*fiber, &Nothing, nullptr);
  });
  const std::thread::id other_id = other.get_id();
  other.join();
  CHECK(first == ThisThread());
  CHECK(second == other_id);
}

[[gnu::noinline]] int Recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  if (depth == 0) return frame[0];
  return Recurse(depth - 1) + frame[0];
}

TEST_CASE("fiber: a stack is as deep as was asked for") {
  constexpr std::size_t kLarge = 1024 * 1024;
  Fiber home;
  auto fiber = Fiber::Create(kLarge, &Body);
  REQUIRE(fiber != nullptr);
  std::function<void(Fiber&)> body = [&](Fiber&) { Recurse(1500); };  // 512 bytes and more each
  g_body = &body;
  g_home = &home;
  home.SwitchTo(*fiber, &Nothing, nullptr);
}

// Frames of a fiber that is destroyed in the middle must not poison what is mapped there next.
TEST_CASE("fiber: destroyed while suspended") {
  for (int i = 0; i < 20; ++i) {
    Fiber home;
    auto fiber = Fiber::Create(kStack, &Body);
    REQUIRE(fiber != nullptr);
    std::function<void(Fiber&)> body = [&](Fiber& self) {
      char frame[128];
      std::snprintf(frame, sizeof frame, "%d", i);
      self.SwitchTo(*g_home, &Nothing, frame);
    };
    g_body = &body;
    g_home = &home;
    home.SwitchTo(*fiber, &Nothing, nullptr);
  }
}

TEST_CASE("fiber: without memory there is none, and that is all") {
  if (kSanitized) return;  // their shadow memory does not live with a limit
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 1024 * 1024;
  REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
  const bool made = Fiber::Create(16 * 1024 * 1024, &Body) != nullptr;
  FiberPool pool(16 * 1024 * 1024, &Body, 10);
  FiberCache cache(pool);
  const bool got = cache.Get() != nullptr;
  const bool prepared = cache.Prepare();
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK_FALSE(made);
  CHECK_FALSE(got);
  CHECK_FALSE(prepared);
  CHECK(cache.Prepare());
}

TEST_CASE("fiber cache: what is returned is used again, across caches too") {
  FiberPool pool(kStack, &Body, 100);
  FiberCache one(pool);
  FiberCache two(pool);
  Fiber* fiber = one.Get();
  REQUIRE(fiber != nullptr);
  one.Put(*fiber);
  CHECK(one.Get() == fiber);
  one.Put(*fiber);
  one.Flush();
  CHECK(two.Get() == fiber);
  two.Put(*fiber);
}

TEST_CASE("fiber cache: many at once, and back") {
  FiberPool pool(kStack, &Body, 50);
  FiberCache cache(pool);
  for (int round = 0; round < 2; ++round) {
    std::vector<Fiber*> fibers;
    for (int i = 0; i < 300; ++i) {
      fibers.push_back(cache.Get());
      REQUIRE(fibers.back() != nullptr);
    }
    std::sort(fibers.begin(), fibers.end());
    CHECK(std::adjacent_find(fibers.begin(), fibers.end()) == fibers.end());
    for (Fiber* fiber : fibers) cache.Put(*fiber);  // most of them are unmapped
  }
}

}  // namespace
}  // namespace ergon::core::fiber_test
