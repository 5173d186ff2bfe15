// What a node writes down, line by line. A line that was written stays when the program is killed.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace ergon::chaos {

class Ledger {
 public:
  // Throws std::system_error.
  explicit Ledger(const std::string& path);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Any thread.
  template <class... Part>
  void Note(fmt::format_string<Part...> text, Part&&... parts) {
    Write(fmt::format(text, std::forward<Part>(parts)...));
  }

 private:
  void Write(std::string line);

  int file_ = -1;
};

}  // namespace ergon::chaos
