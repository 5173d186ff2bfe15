// The key=value words of a benchmark's command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ergon::bench {

// One thing that a workload can be told, with its default and range.
struct Param {
  std::string name;
  std::int64_t value = 0;
  std::int64_t min = 1;
  std::int64_t max = 1'000'000'000;
  std::string meaning = {};
  // Words for the values 0, 1, ...; none: the value is a number in min..max.
  std::vector<std::string> choices = {};

  // The value as it is written on the command line.
  [[nodiscard]] std::string Text(std::int64_t of) const {
    return choices.empty() ? std::to_string(of) : choices[static_cast<std::size_t>(of)];
  }
};

class Params {
 public:
  explicit Params(const std::vector<Param>& known);

  // Takes one "key=value". "" or what is wrong with it, naming the key and the value.
  std::string Set(std::string_view word);

  [[nodiscard]] std::int64_t operator[](const std::string& name) const { return values_.at(name); }
  // As JSON.
  [[nodiscard]] std::string ToJson() const;

 private:
  static std::string Parse(const Param& param, std::string_view text, std::int64_t& value);

  std::vector<Param> known_;
  std::map<std::string, std::int64_t> values_;
};

}  // namespace ergon::bench
