// Data that is no atomic: each access must be ordered, by acquire and release, with the conflicting
// ones of other threads. Otherwise the execution fails, whatever order it happened in.
#pragma once

#include <utility>

#include "explorer.h"

namespace ergon::model {

template <class T>
class Plain {
 public:
  Plain() = default;
  explicit Plain(T value) : value_(std::move(value)) {}

  void Write(T value) {
    hooks::WritePlain(state_);
    value_ = std::move(value);
  }
  const T& Read() const {
    hooks::ReadPlain(state_);
    return value_;
  }

 private:
  T value_{};
  mutable hooks::PlainState state_;
};

}  // namespace ergon::model
