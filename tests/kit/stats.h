// The numbers of a pool's Inspect, and what must be true of them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <ergon/gen/messenger.h>

namespace ergon::kit {

class Stats {
 public:
  explicit Stats(gen::Inspection values) : values_(std::move(values)) {}

  // Throws, naming the key, if there is no such key or it is no number.
  [[nodiscard]] std::int64_t operator[](const std::string& key) const {
    const std::string& text = Text(key);
    try {
      std::size_t used = 0;
      const std::int64_t value = std::stoll(text, &used);
      if (used == text.size()) return value;
    } catch (const std::logic_error&) {
    }
    throw std::out_of_range("not a number: " + key + " = " + text);
  }
  [[nodiscard]] const std::string& Text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw std::out_of_range("no such key: " + key);
    return found->second;
  }
  [[nodiscard]] bool Has(const std::string& key) const { return values_.count(key) > 0; }
  [[nodiscard]] const gen::Inspection& values() const { return values_; }

  // Nobody is busy and nothing waits. Those that leave are not among the busy.
  [[nodiscard]] bool AtRest() const {
    return (*this)["workers_busy"] == 0 && (*this)["workers_leaving"] == 0 &&
           (*this)["messages_queued"] == 0;
  }
  // What went in is somewhere. Must hold at rest, and while all busy workers stand still: a message
  // being handled counts as handled.
  [[nodiscard]] bool Conserved() const {
    return (*this)["messages_forwarded"] ==
           (*this)["messages_handled"] + (*this)["messages_queued"] + (*this)["messages_lost"];
  }

  // As in "messages_forwarded=3 ...", for failure messages.
  [[nodiscard]] std::string ToString() const {
    std::string text;
    for (const auto& [key, value] : values_) {
      text.append(key).append("=").append(value).append(" ");
    }
    return text;
  }

 private:
  gen::Inspection values_;
};

}  // namespace ergon::kit
