// The switch from one fiber to another, inlined into the function that switches.
//
// The processor remembers calls to predict where functions return to. The switch is no call for it (SwitchContext), and
// the worker's functions contain the switch rather than call it: so what has been called on the fiber that is left, and
// on the one that goes on, is what returns there. A function that contains it must not use anything of the thread
// afterwards that it has read before.
//
// The C++ runtime keeps the caught and the uncaught exceptions of a thread in two words, which are
// exchanged at each switch. Their address is asked for once per thread and handed from fiber to
// fiber: the accessor is declared const, so a compiler that sees calls on both sides of a switch
// would merge them and address the former thread.
#pragma once

#include <cstring>

#include <boost/context/detail/fcontext.hpp>

#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/fiber_annotations.h>

namespace ergon::core {

// As jump_fcontext, which ends by a jump and not by a return. So it is entered by a jump, too: after a call without its
// return the processor would be wrong by one in all that it remembers. Where the system compares returns with calls
// (CET's shadow stack) it is a call.
//
// The registers named are those that a call may change. As a call, it writes below the stack pointer; the compiler does
// not know that, and keeps nothing there in functions that call others.
[[gnu::always_inline]] inline boost::context::detail::transfer_t SwitchContext(void* to,
                                                                               void* data) {
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2) != 0)
  void* from;
  void* received;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "jmp jump_fcontext@PLT\n"
      "1:"
      : "=a"(from), "=d"(received), "+D"(to), "+S"(data)
      :
      : "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
        "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
        "k7",
#endif
        "memory", "cc");
  return {from, received};
#else
  return boost::context::detail::jump_fcontext(to, data);
#endif
}

// Travels through a switch; lives on the stack that is left.
struct Fiber::Handover {
  Fiber& from;
  Fiber& to;
  AfterSwitch after;
  void* context;
};

// Completes, on this fiber, the switch that led to it.
[[gnu::always_inline]] inline void Fiber::Arrive(const Handover& handover, void* from_context) {
  Fiber& from = handover.from;
  from.context_ = from_context;
  std::memcpy(thread_exceptions_, exceptions_, sizeof(exceptions_));
  const void* from_stack = nullptr;
  std::size_t from_bytes = 0;
  if (sanitizers::FinishSwitch(fake_stack_, &from_stack, &from_bytes) && from.mapping_ == nullptr) {
    // A thread's own stack: only the sanitizer knows its bounds.
    from.stack_ = from_stack;
    from.stack_bytes_ = from_bytes;
  }
  // Last: it may publish `from` to other threads.
  handover.after(handover.context, from, *this);
}

[[gnu::always_inline]] inline void Fiber::SwitchInPlace(Fiber& to, AfterSwitch after,
                                                        void* context) {
  Handover handover{*this, to, after, context};
  std::memcpy(exceptions_, thread_exceptions_, sizeof(exceptions_));
  to.thread_exceptions_ = thread_exceptions_;
  sanitizers::StartSwitch(&fake_stack_, to.stack_, to.stack_bytes_, to.tsan_fiber_);
  const boost::context::detail::transfer_t transfer = SwitchContext(to.context_, &handover);
  const Handover back = *static_cast<Handover*>(transfer.data);
  Arrive(back, transfer.fctx);
  // What Arrive calls is called, and is not the end of this function: see SwitchContext.
  asm volatile("");
}

}  // namespace ergon::core
