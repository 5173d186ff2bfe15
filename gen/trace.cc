#include <ergon/gen/trace.h>

#include <atomic>
#include <random>

#include <fmt/core.h>

#include <ergon/core/foundations/mix.h>

namespace ergon::gen {
namespace {

std::uint64_t RandomBits() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

TraceId NewTraceId() {
  static const std::uint64_t first = RandomBits();
  static std::atomic<std::uint64_t> count{0};
  const TraceId trace = core::Mix(first + count.fetch_add(1, std::memory_order_relaxed));
  return trace != 0 ? trace : 1;
}

std::string TraceText(TraceId trace) { return fmt::format("{:016x}", trace); }

}  // namespace ergon::gen
