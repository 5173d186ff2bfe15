#include <ergon/gen/mutex.h>

#include <mutex>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <kit/child.h>

namespace ergon::gen {
namespace {

TEST_CASE("mutex: excludes others, and knows how many this thread holds") {
  Mutex first;
  Mutex second;
  CHECK(detail::HeldMutexes() == 0);
  {
    const std::lock_guard lock(first);
    CHECK(detail::HeldMutexes() == 1);
    CHECK(second.try_lock());
    CHECK(detail::HeldMutexes() == 2);
    std::thread([&] {
      CHECK(detail::HeldMutexes() == 0);
      CHECK_FALSE(first.try_lock());
      CHECK(detail::HeldMutexes() == 0);
    }).join();
    second.unlock();
    CHECK(detail::HeldMutexes() == 1);
  }
  CHECK(detail::HeldMutexes() == 0);
  std::thread([&] {
    CHECK(first.try_lock());
    first.unlock();
  }).join();
}

TEST_CASE("mutex: counts what it protects") {
  Mutex mutex;
  int count = 0;
  auto add = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const std::lock_guard lock(mutex);
      ++count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  CHECK(count == 20'000);
}

TEST_CASE("mutex: child that unlocks on another thread" * doctest::skip()) {
  kit::ChildBegins();
  Mutex mutex;
  mutex.lock();
  std::thread([&] { mutex.unlock(); }).join();
}

TEST_CASE("mutex: a thread that has not locked it cannot unlock it") {
  kit::Child child("mutex: child that unlocks on another thread");
  CHECK(child.Errors().find("ergon: gen::Mutex::unlock: ") != std::string::npos);
  CHECK(child.IsAborted());
}

}  // namespace
}  // namespace ergon::gen
