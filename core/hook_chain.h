// Several hooks as one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ergon/core/dispatcher.h>

namespace ergon::core {

// Calls all of them: before a turn in the given order, after it in reverse.
class HookChain final : public DispatcherHooks {
 public:
  // None may be null.
  explicit HookChain(std::vector<std::shared_ptr<DispatcherHooks>> hooks)
      : hooks_(std::move(hooks)) {}

  void BeforeTurn(Schedulable& schedulable, int worker) override;
  void AfterTurn(Schedulable& schedulable, int worker, TurnEnd end) override;
  void AfterCompletion(Schedulable& schedulable, int worker) override;

 private:
  const std::vector<std::shared_ptr<DispatcherHooks>> hooks_;
};

}  // namespace ergon::core
