#include <bench/params.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace ergon::bench {

Params::Params(const std::vector<Param>& known) : known_(known) {
  for (const Param& param : known_) values_[param.name] = param.value;
}

std::string Params::Set(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos) return fmt::format("'{}': not of the form key=value", word);
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = word.substr(equals + 1);
  for (const Param& param : known_) {
    if (param.name == name) return Parse(param, text, values_[param.name]);
  }
  std::string names;
  for (const Param& param : known_) names += (names.empty() ? "" : ", ") + param.name;
  return fmt::format("{}: no such key; this workload knows {}", name, names);
}

std::string Params::Parse(const Param& param, std::string_view text, std::int64_t& value) {
  if (!param.choices.empty()) {
    const auto found = std::find(param.choices.begin(), param.choices.end(), text);
    if (found == param.choices.end()) {
      return fmt::format("{}: '{}' is none of {}", param.name, text,
                         fmt::join(param.choices, ", "));
    }
    value = found - param.choices.begin();
    return "";
  }
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number < param.min || number > param.max) {
    return fmt::format("{}: '{}' is not a number in {}..{}", param.name, text, param.min,
                       param.max);
  }
  value = number;
  return "";
}

std::string Params::ToJson() const {
  std::string json;
  for (const Param& param : known_) {
    const std::string text = param.Text(values_.at(param.name));
    json += fmt::format("{}\"{}\":", json.empty() ? "" : ",", param.name);
    json += param.choices.empty() ? text : '"' + text + '"';
  }
  return "{" + json + "}";
}

}  // namespace ergon::bench
