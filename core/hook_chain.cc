#include <ergon/core/hook_chain.h>

#include <ergon/core/foundations/tell_thrown.h>

namespace ergon::core {

void HookChain::BeforeTurn(Schedulable& schedulable, int worker) {
  for (const auto& hooks : hooks_) {
    CallUser("BeforeTurn of the hooks", [&] { hooks->BeforeTurn(schedulable, worker); });
  }
}

void HookChain::AfterTurn(Schedulable& schedulable, int worker, TurnEnd end) {
  for (auto hooks = hooks_.rbegin(); hooks != hooks_.rend(); ++hooks) {
    CallUser("AfterTurn of the hooks", [&] { (*hooks)->AfterTurn(schedulable, worker, end); });
  }
}

void HookChain::AfterCompletion(Schedulable& schedulable, int worker) {
  for (auto hooks = hooks_.rbegin(); hooks != hooks_.rend(); ++hooks) {
    CallUser("AfterCompletion of the hooks",
             [&] { (*hooks)->AfterCompletion(schedulable, worker); });
  }
}

}  // namespace ergon::core
