#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/turns/fiber_switch.h>
#include "../turns.h"

namespace ergon::core::fiber_switch_test {
namespace {

using boost::context::detail::transfer_t;

// Writes all registers that a function may change.
void UseRegisters() {
#if defined(__x86_64__)
  asm volatile(
      "xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi;"
      "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d;"
      "xorps %%xmm0, %%xmm0; xorps %%xmm1, %%xmm1; xorps %%xmm2, %%xmm2; xorps %%xmm3, %%xmm3;"
      "xorps %%xmm4, %%xmm4; xorps %%xmm5, %%xmm5; xorps %%xmm6, %%xmm6; xorps %%xmm7, %%xmm7;"
      "xorps %%xmm8, %%xmm8; xorps %%xmm9, %%xmm9; xorps %%xmm10, %%xmm10; xorps %%xmm11, %%xmm11;"
      "xorps %%xmm12, %%xmm12; xorps %%xmm13, %%xmm13; xorps %%xmm14, %%xmm14; xorps %%xmm15, "
      "%%xmm15"
      :
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15", "cc");
#endif
}

void Other(transfer_t from) {
  for (;;) {
    UseRegisters();
    from = SwitchContext(from.fctx, from.data);
  }
}

// Two contexts without what a fiber tells the sanitizers.
TEST_CASE("fiber switch: what a function has in registers is there afterwards" *
          doctest::skip(testing::kSanitized)) {
  std::vector<char> stack(std::size_t{64} * 1024);
  void* other =
      boost::context::detail::make_fcontext(stack.data() + stack.size(), stack.size(), &Other);
  volatile long seed = 1;
  volatile double part = 0.5;
  for (int i = 0; i < 3; ++i) {
    const long a = seed, b = seed, c = seed, d = seed, e = seed, f = seed, g = seed, h = seed,
               k = seed, l = seed, m = seed, n = seed;
    const double q = part, r = part, s = part, t = part, u = part, v = part, w = part, x = part,
                 y = part, z = part;
    int data = i;
    const transfer_t back = SwitchContext(other, &data);
    // At once: what is kept for a call of another function is not in a register.
    const long numbers = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * k +
                         10 * l + 11 * m + 12 * n;
    const double parts = q + 2 * r + 3 * s + 4 * t + 5 * u + 6 * v + 7 * w + 8 * x + 9 * y + 10 * z;
    other = back.fctx;
    CHECK(numbers == 78);
    CHECK(parts == 27.5);
    CHECK(back.data == &data);
  }
}

}  // namespace
}  // namespace ergon::core::fiber_switch_test
