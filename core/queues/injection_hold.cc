#include <ergon/core/queues/injection_hold.h>

#include <utility>

namespace ergon::core {

thread_local InjectionHold* InjectionHold::current = nullptr;

InjectionHold::InjectionHold() noexcept {
  if (current == nullptr) current = this;
}

InjectionHold::~InjectionHold() {
  if (current != this) return;
  Release();
  current = nullptr;
}

void InjectionHold::ReleaseCurrent() {
  if (current != nullptr) current->Release();
}

void InjectionHold::Add(Target& dispatcher, Schedulable& schedulable) {
  if (size_ == kMost || dispatcher_ != &dispatcher) Release();
  dispatcher_ = &dispatcher;
  waiting_[size_++] = &schedulable;
  if (!schedulable.HasRoomForMore()) Release();
}

void InjectionHold::Release() {
  if (size_ != 0) dispatcher_->InjectAtOnce(waiting_.data(), std::exchange(size_, 0));
}

}  // namespace ergon::core
