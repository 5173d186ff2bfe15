#include "queue.h"

#include <stdexcept>

#include <ergon/gen/match.h>

namespace queue_service {

using namespace ergon;

// -- the queue --

gen::Status Queue::Init(const gen::Args&) {
  BecomeEmpty();
  return gen::Continue();
}

gen::CallResult Queue::HandleCall(gen::PID, gen::Ref, gen::Message&) {
  throw std::logic_error("a request while another one is being worked on");
}

gen::CallResult Queue::Unknown(const Customer& customer, gen::Message& request) {
  return Actor::HandleCall(customer.from, customer.ref, request);
}

void Queue::BecomeEmpty() {
  Become({.call = [this](gen::PID from, gen::Ref ref, gen::Message& request) {
    const Customer customer{from, ref, ++entered_};
    return gen::Match(
        request,
        [&](const Put& put) {
          const gen::PID cell = Spawn(gen::Factory<Cell>(Self(), put.item)).value();
          BecomeNonEmpty(cell, cell);
          return gen::Reply(Done{customer.order, put.item});
        },
        [&](const Take&) {
          return gen::Reply(Done{customer.order, std::nullopt});
        },
        [&](gen::Message& other) { return Unknown(customer, other); });
  }});
}

void Queue::BecomeNonEmpty(gen::PID first, gen::PID last) {
  Become({.call = [this, first, last](gen::PID from, gen::Ref ref, gen::Message& request) {
    const Customer customer{from, ref, ++entered_};
    return gen::Match(
        request,
        [&](const Put& put) {
          Request(last, Append{put.item}).value();
          BecomeWaitingForLast(customer, put.item, first);
          return gen::NoReply();
        },
        [&](const Take&) {
          Request(first, Remove{}).value();
          BecomeWaitingForFirst(customer, last);
          return gen::NoReply();
        },
        [&](gen::Message& other) { return Unknown(customer, other); });
  }});
}

void Queue::BecomeWaitingForFirst(Customer customer, gen::PID last) {
  Become({.response = [this, customer, last](gen::Ref, gen::Response& response) {
    const auto removed = response.Take<Removed>().value();  // throws if the cell has crashed
    if (removed.next) {
      BecomeNonEmpty(*removed.next, last);
    } else {
      BecomeEmpty();
    }
    Answer(customer, removed.item);
    return gen::Continue();
  }});
}

void Queue::BecomeWaitingForLast(Customer customer, Item item, gen::PID first) {
  Become({.response = [this, customer, item, first](gen::Ref, gen::Response& response) {
    BecomeNonEmpty(first, response.Take<gen::PID>().value());
    Answer(customer, item);
    return gen::Continue();
  }});
}

void Queue::Answer(const Customer& customer, Item item) {
  // From here on the serializer lets the next one in. Whether this one still waits does not matter.
  (void)SendResponse(customer.from, customer.ref, Done{customer.order, item});
}

// -- its cells --

gen::Status Cell::Init(const gen::Args&) {
  Link(queue_).value();
  BecomeEntry(std::nullopt);
  return gen::Continue();
}

void Cell::BecomeEntry(std::optional<gen::PID> next) {
  Become({.call = [this, next](gen::PID from, gen::Ref ref, gen::Message& request) {
    return gen::Match(
        request,
        [&](const Append& append) {
          const gen::PID cell = Spawn(gen::Factory<Cell>(queue_, append.item)).value();
          BecomeEntry(cell);
          return gen::Reply(cell);
        },
        [&](const Remove&) {
          return gen::ReplyAndStop(Removed{item_, next}, gen::Reason::Normal());
        },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }});
}

}  // namespace queue_service
