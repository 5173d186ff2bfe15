#include <ergon/core/hook_chain.h>

namespace ergon::core {

void HookChain::BeforeTurn(Schedulable& schedulable, int worker) {
  for (const auto& hooks : hooks_) hooks->BeforeTurn(schedulable, worker);
}

void HookChain::AfterTurn(Schedulable& schedulable, int worker, TurnEnd end) {
  for (auto hooks = hooks_.rbegin(); hooks != hooks_.rend(); ++hooks) {
    (*hooks)->AfterTurn(schedulable, worker, end);
  }
}

void HookChain::AfterCompletion(Schedulable& schedulable, int worker) {
  for (auto hooks = hooks_.rbegin(); hooks != hooks_.rend(); ++hooks) {
    (*hooks)->AfterCompletion(schedulable, worker);
  }
}

}  // namespace ergon::core
