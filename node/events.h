// The events of a node: who produces and who subscribes.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Bookkeeping only; sending is the runtime's. Any thread.
class Events {
 public:
  // kTaken: there is such an event.
  gen::Result<void> Add(gen::Atom name, gen::PID producer, gen::Ref token);
  // The former subscribers. kProcessUnknown: not an event of this producer.
  gen::Result<std::vector<gen::PID>> Remove(gen::Atom name, gen::PID producer);
  // kProcessUnknown: no such event; kTaken: subscribed already.
  gen::Result<void> Subscribe(gen::Atom name, gen::PID subscriber);
  gen::Result<void> Unsubscribe(gen::Atom name, gen::PID subscriber);
  // Who gets what is published with this token. kNotAllowed: another token.
  gen::Result<std::vector<gen::PID>> Subscribers(gen::Atom name, gen::Ref token) const;

 private:
  struct Entry {
    gen::PID producer;
    gen::Ref token;
    std::vector<gen::PID> subscribers;
  };
  mutable std::mutex mutex_;
  std::unordered_map<gen::Atom, Entry> entries_;
};

}  // namespace ergon::node
