// The answer to a call that was made in a simulation, sooner or later.
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

#include <ergon/gen/result.h>

namespace ergon::testkit {

template <class R>
class Answer {
 public:
  explicit Answer(std::future<gen::Result<R>> future) : future_(std::move(future)) {}

  // Returns whether there is a result, be it a value or an error. After RunUntilIdle there always is,
  // unless the call has no time-out (gen::kInfinite).
  [[nodiscard]] bool ready() const {
    return result_.has_value() ||
           future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // Returns the result, as often as you like. Throws std::logic_error before it is ready, because in a simulation
  // nothing happens while a test waits.
  [[nodiscard]] gen::Result<R>& get() {
    if (!result_) {
      if (!ready())
        throw std::logic_error("Answer::get: not ready, the simulation has to run first");
      result_ = future_.get();
    }
    return *result_;
  }

 private:
  std::future<gen::Result<R>> future_;
  std::optional<gen::Result<R>> result_;
};

}  // namespace ergon::testkit
