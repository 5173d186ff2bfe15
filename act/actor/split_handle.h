// From a message to the handler for the way in which it was addressed.
#pragma once

#include <string>
#include <vector>

#include <ergon/act/split_callbacks.h>

namespace ergon::act {

// Calls those handlers of `own` that fit. What came through a pool was addressed to the pool, not to its
// worker: HandleMessage and HandleCall.
class SplitHandle final : public Callbacks {
 public:
  // `self` is the process's.
  SplitHandle(SplitCallbacks& own, gen::PID self) : own_(own), self_(self) {}

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;

 private:
  SplitCallbacks& own_;
  const gen::PID self_;
};

}  // namespace ergon::act
