// A queue made of processes: one that knows the ends, and one for each item.
#pragma once

#include <cstdint>
#include <optional>

#include <ergon/act/actor.h>

#include "messages.h"

namespace queue_service {

// It is empty, or it is not, or it waits for its first or last cell; each is a behaviour that it
// becomes. While it waits it must not get another request: put a serializer in front.
class Queue : public ergon::act::Actor {
 private:
  // Who waits for the operation.
  struct Customer {
    ergon::gen::PID from;
    ergon::gen::Ref ref;
    std::uint64_t order = 0;
  };

  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  // Only what comes while it waits for a cell gets here.
  ergon::gen::CallResult HandleCall(ergon::gen::PID from, ergon::gen::Ref ref,
                                    ergon::gen::Message& request) override;

  void BecomeEmpty();
  void BecomeNonEmpty(ergon::gen::PID first, ergon::gen::PID last);
  void BecomeWaitingForFirst(Customer customer, ergon::gen::PID last);
  void BecomeWaitingForLast(Customer customer, Item item, ergon::gen::PID first);

  [[nodiscard]] ergon::gen::CallResult Unknown(const Customer& customer,
                                               ergon::gen::Message& request);
  void Answer(const Customer& customer, Item item);

  std::uint64_t entered_ = 0;
};

// One item, and the cell after it.
class Cell : public ergon::act::Actor {
 public:
  // It lives no longer than the queue does.
  Cell(ergon::gen::PID queue, Item item) : queue_(queue), item_(item) {}

 private:
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  void BecomeEntry(std::optional<ergon::gen::PID> next);

  const ergon::gen::PID queue_;
  const Item item_;
};

}  // namespace queue_service
