// Behaviour that changes: sets of handlers that an actor uses instead of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <ergon/act/message_loop.h>

namespace ergon::act {

// The handlers that an actor uses from now on. If a function is empty, the actor's own handler is called.
struct HandlerSet {
  std::function<gen::Status(gen::PID from, gen::Message& message)> message = {};
  std::function<gen::CallResult(gen::PID from, gen::Ref ref, gen::Message& request)> call = {};
  std::function<gen::Status(gen::Ref ref, gen::Response& response)> response = {};
};

// A stack of the sets that an actor has become; the top one is current. Pure; used by Actor.
class HandlerStack {
 public:
  HandlerStack();
  ~HandlerStack();
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;

  // Replaces the top set, if there is one; else pushes `set`.
  void Replace(HandlerSet set);
  void Push(HandlerSet set);
  // Removes the top set. Returns false if there is none.
  bool Pop();
  [[nodiscard]] bool empty() const noexcept { return sets_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept;

  // Does what act::Dispatch does, with the top set, which there must be. The set lives until its handler has
  // returned, even if the handler changes the stack. `own` are the actor's own handlers.
  gen::Status Dispatch(gen::ProcessHost& host, Callbacks& own, core::Envelope& envelope) const;

 private:
  // Null if there is no set. Most actors have none, and this keeps them small.
  std::unique_ptr<std::vector<std::shared_ptr<const HandlerSet>>> sets_;
};

}  // namespace ergon::act
