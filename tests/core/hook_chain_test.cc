#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/hook_chain.h>
#include <ergon/core/stepping.h>
#include "turns.h"

namespace ergon::core::hook_chain_test {
namespace {

class Writer final : public DispatcherHooks {
 public:
  Writer(std::string& text, char name) : text_(text), name_(name) {}
  void BeforeTurn(Schedulable&, int) override { Add('b'); }
  void AfterTurn(Schedulable&, int, TurnEnd) override { Add('a'); }
  void AfterCompletion(Schedulable&, int) override { Add('c'); }

 private:
  void Add(char what) {
    text_ += name_;
    text_ += what;
    text_ += ' ';
  }

  std::string& text_;
  const char name_;
};

TEST_CASE("hook chain: all of them, inside out") {
  std::string text;
  using Hooks = std::vector<std::shared_ptr<DispatcherHooks>>;
  DispatcherOptions options;
  options.hooks = std::make_shared<HookChain>(
      Hooks{std::make_shared<Writer>(text, '1'), std::make_shared<Writer>(text, '2')});
  SteppingDispatcher dispatcher([](std::size_t) { return std::size_t{0}; }, nullptr, options);
  testing::Turn turn([] { return TurnEnd::kCompleted; });
  dispatcher.Schedule(turn);
  dispatcher.RunOne();
  CHECK(text == "1b 2b 2a 1a 2c 1c ");
}

}  // namespace
}  // namespace ergon::core::hook_chain_test
