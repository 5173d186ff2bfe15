// The switch from one fiber to another, inlined into the function that switches.
//
// After a switch the processor expects functions to return as on the fiber that was left, and is wrong each time. So
// the worker's functions contain the switch rather than call it: the fewer returns, the better. A function that
// contains it must not use anything of the thread afterwards that it has read before.
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
  const void* from_stack;
  std::size_t from_bytes;
  sanitizers::FinishSwitch(fake_stack_, &from_stack, &from_bytes);
  if (from.mapping_ == nullptr) {  // a thread's own stack: only the sanitizer knows its bounds
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
  const boost::context::detail::transfer_t transfer =
      boost::context::detail::jump_fcontext(to.context_, &handover);
  const Handover back = *static_cast<Handover*>(transfer.data);
  Arrive(back, transfer.fctx);
}

}  // namespace ergon::core
