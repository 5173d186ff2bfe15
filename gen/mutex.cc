#include <ergon/gen/mutex.h>

#include <ergon/core/foundations/fatal.h>

namespace ergon::gen {
namespace {

constinit thread_local int held_mutexes [[gnu::tls_model("initial-exec")]] = 0;

// Out of line, with a clobber: handlers change threads between two calls, so the address of the
// thread's counter must not be kept.
[[gnu::noinline]] int& Held() noexcept {
  asm volatile("" ::: "memory");
  return held_mutexes;
}

}  // namespace

void Mutex::lock() {
  mutex_.lock();
  ++Held();
}

bool Mutex::try_lock() {
  if (!mutex_.try_lock()) return false;
  ++Held();
  return true;
}

void Mutex::unlock() {
  if (Held() == 0) core::Fatal("gen::Mutex::unlock", "this thread has not locked it");
  --Held();
  mutex_.unlock();
}

[[gnu::noinline]] int detail::HeldMutexes() noexcept {
  asm volatile("" ::: "memory");
  return held_mutexes;
}

}  // namespace ergon::gen
