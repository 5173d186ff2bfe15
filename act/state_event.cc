#include <ergon/act/state_event.h>

#include <stdexcept>

#include <fmt/core.h>

#include <ergon/gen/event.h>

namespace ergon::act {

Caller StateEvent::Caller() const {
  if (!IsRequest()) throw std::logic_error("Caller: nobody waits for an answer to " + ToString());
  return {from_, ref_};
}

gen::Response StateEvent::Response() const {
  if (kind_ != StateEventKind::kResponse) {
    throw std::logic_error("Response: not an answer, but " + ToString());
  }
  return gen::Response(value_.envelope(), &is_answer_taken_);
}

std::string StateEvent::ToString() const {
  switch (kind_) {
    case StateEventKind::kMessage:
      return fmt::format("message {} from {}", Describe(), from_);
    case StateEventKind::kRequest:
      return fmt::format("request {} from {}", Describe(), from_);
    case StateEventKind::kPublished:
      return fmt::format("event {} with {}", As<gen::MessageEvent>()->event(),
                         As<gen::MessageEvent>()->TypeName());
    case StateEventKind::kResponse:
      return fmt::format("answer {} with {}", ref_, TypeName());
    case StateEventKind::kRaised:
      return "raised " + TypeName();
    case StateEventKind::kStateTimeout:
      return "state time-out";
    case StateEventKind::kEventTimeout:
      return "event time-out";
    case StateEventKind::kNamedTimeout:
      return fmt::format("time-out '{}'", name_);
  }
  return {};
}

}  // namespace ergon::act
