#include <ergon/core/foundations/fatal.h>
#include <ergon/core/turns/fiber_switch.h>

namespace ergon::core {

struct Fiber::Entry {
  static void Run(boost::context::detail::transfer_t transfer) {
    const Handover handover = *static_cast<Handover*>(transfer.data);
    Fiber& self = handover.to;
    self.Arrive(handover, transfer.fctx);
    self.body_(self);
    Fatal("Fiber", "the body of a fiber returned");
  }
};

void* Fiber::NewContext(void* stack_top, std::size_t stack_bytes) {
  return boost::context::detail::make_fcontext(stack_top, stack_bytes, &Entry::Run);
}

void Fiber::SwitchTo(Fiber& to, AfterSwitch after, void* context) {
  SwitchInPlace(to, after, context);
}

}  // namespace ergon::core
