// Behaviour that changes: sets of handlers that an actor puts in the place of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <ergon/act/message_loop.h>

namespace ergon::act {

// What an actor does from now on. Where a function is empty, its own handler is called.
struct HandlerSet {
  std::function<gen::Status(gen::PID from, gen::Message& message)> message = {};
  std::function<gen::CallResult(gen::PID from, gen::Ref ref, gen::Message& request)> call = {};
  std::function<gen::Status(gen::Ref ref, gen::Response& response)> response = {};
};

// The sets that an actor has become, the one that counts on top. Pure; used by Actor.
class HandlerStack {
 public:
  HandlerStack();
  ~HandlerStack();
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;

  // Puts a set in the place of the top one, if there is one.
  void Replace(HandlerSet set);
  void Push(HandlerSet set);
  // False: there is none.
  bool Pop();
  [[nodiscard]] bool empty() const noexcept { return sets_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept;

  // As act::Dispatch, with the set on top, which stays until its handler has returned, whatever
  // becomes of the stack meanwhile. `own` are the actor's.
  gen::Status Dispatch(gen::ProcessHost& host, Callbacks& own, core::Envelope& envelope) const;

 private:
  // Null without a set: most actors have none, and are small.
  std::unique_ptr<std::vector<std::shared_ptr<const HandlerSet>>> sets_;
};

}  // namespace ergon::act
