// Brings a message to the handler for the way in which it was addressed.
#pragma once

#include <string>
#include <vector>

#include <ergon/act/split_callbacks.h>

namespace ergon::act {

// Calls the handlers of `own` that fit: for a PID, a name, or an alias. A message that came through a pool was
// addressed to the pool, not to its worker, so it goes to HandleMessage or HandleCall.
class SplitHandle final : public Callbacks {
 public:
  // `self` is the PID of the process.
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
