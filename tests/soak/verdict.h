// What has been found broken.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ergon::soak {

class Verdict {
 public:
  // A law, with its numbers.
  template <class... A>
  void Check(bool holds, fmt::format_string<A...> law, A&&... numbers) {
    if (!holds) broken_.push_back(fmt::format(law, std::forward<A>(numbers)...));
  }
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  [[nodiscard]] bool holds() const { return broken_.empty(); }

 private:
  std::vector<std::string> broken_;
};

}  // namespace ergon::soak
