// A file descriptor that is closed in time.
#pragma once

#include <utility>

#include <unistd.h>

namespace ergon::node {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor(std::move(other)).Swap(*this);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) (void)close(number_);
  }

  explicit operator bool() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }
  // Gives it away.
  [[nodiscard]] int Release() noexcept { return std::exchange(number_, -1); }

 private:
  void Swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }

  int number_ = -1;  // none
};

}  // namespace ergon::node
