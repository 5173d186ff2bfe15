#include <ergon/core/turns/injection_hold.h>

#include <utility>

namespace ergon::core {

thread_local InjectionHold* InjectionHold::current_ = nullptr;

InjectionHold::InjectionHold() noexcept {
  if (current_ == nullptr) current_ = this;
}

InjectionHold::~InjectionHold() {
  if (current_ != this) return;
  Release();
  current_ = nullptr;
}

void InjectionHold::ReleaseCurrent() {
  if (current_ != nullptr) current_->Release();
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
