#include <ergon/act/become.h>

#include <utility>

namespace ergon::act {
namespace {

// A set of handlers, and behind it the actor's own.
class Overlay final : public Callbacks {
 public:
  Overlay(const HandlerSet& set, Callbacks& own) : set_(set), own_(own) {}

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    return set_.message ? set_.message(from, message) : own_.HandleMessage(from, message);
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return set_.call ? set_.call(from, ref, request) : own_.HandleCall(from, ref, request);
  }
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
    return set_.response ? set_.response(ref, response) : own_.HandleResponse(ref, response);
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    return own_.HandleEvent(event);
  }
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override {
    return own_.HandleInspect(from, items);
  }

 private:
  const HandlerSet& set_;
  Callbacks& own_;
};

}  // namespace

HandlerStack::HandlerStack() = default;
HandlerStack::~HandlerStack() = default;

void HandlerStack::Replace(HandlerSet set) {
  Pop();
  Push(std::move(set));
}

void HandlerStack::Push(HandlerSet set) {
  if (sets_ == nullptr) sets_ = std::make_unique<std::vector<std::shared_ptr<const HandlerSet>>>();
  sets_->push_back(std::make_shared<const HandlerSet>(std::move(set)));
}

bool HandlerStack::Pop() {
  if (empty()) return false;
  sets_->pop_back();
  if (sets_->empty()) sets_.reset();
  return true;
}

std::size_t HandlerStack::size() const noexcept { return empty() ? 0 : sets_->size(); }

gen::Status HandlerStack::Dispatch(gen::ProcessHost& host, Callbacks& own,
                                   core::Envelope& envelope) const {
  const std::shared_ptr<const HandlerSet> top = sets_->back();
  Overlay overlay(*top, own);
  return act::Dispatch(host, overlay, envelope);
}

}  // namespace ergon::act
