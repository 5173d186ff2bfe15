// Handlers that tell how a message was addressed: by the process's name, or by one of its aliases.
#pragma once

#include <ergon/act/message_loop.h>
#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>

namespace ergon::act {

// The handlers of a behaviour that has some for that, too.
class SplitCallbacks : public Callbacks {
 public:
  virtual gen::Status HandleMessageName(gen::Atom name, gen::PID from, gen::Message& message) = 0;
  virtual gen::Status HandleMessageAlias(gen::Alias alias, gen::PID from,
                                         gen::Message& message) = 0;
  virtual gen::CallResult HandleCallName(gen::Atom name, gen::PID from, gen::Ref ref,
                                         gen::Message& request) = 0;
  virtual gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID from, gen::Ref ref,
                                          gen::Message& request) = 0;

 protected:
  SplitCallbacks() = default;
  SplitCallbacks(const SplitCallbacks&) = default;
  SplitCallbacks& operator=(const SplitCallbacks&) = default;
  ~SplitCallbacks() = default;
};

// Calls those of `own` that fit. What came through a pool was addressed to the pool, not to its
// worker: HandleMessage and HandleCall.
class SplitHandle final : public Callbacks {
 public:
  // `self` is the process's.
  SplitHandle(SplitCallbacks& own, gen::PID self) : own_(own), self_(self) {}

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
    return own_.HandleResponse(ref, response);
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    return own_.HandleEvent(event);
  }
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override {
    return own_.HandleInspect(from, items);
  }

 private:
  SplitCallbacks& own_;
  const gen::PID self_;
};

}  // namespace ergon::act
