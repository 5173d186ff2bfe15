#include <ergon/node/observer/views/url_query.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ergon::node {
namespace {

std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const char byte = text.front();
    if (byte != '%') {
      decoded += byte == '+' ? ' ' : byte;
      text.remove_prefix(1);
      continue;
    }
    unsigned code = 0;
    const std::string_view digits = text.substr(1, 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || read.ec != std::errc() || read.ptr != digits.data() + 2) return {};
    decoded += static_cast<char>(code);
    text.remove_prefix(3);
  }
  return decoded;
}

}  // namespace

std::optional<UrlQuery> ParseUrlQuery(std::string_view target) {
  UrlQuery query;
  const std::size_t begin = target.find('?');
  if (begin == std::string_view::npos) return query;
  std::string_view rest = target.substr(begin + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    auto name = Decode(pair.substr(0, equals));
    auto value = Decode(pair.substr(equals + 1));
    if (!name || !value) return std::nullopt;
    if (!query.emplace(std::move(*name), std::move(*value)).second) return std::nullopt;
  }
  return query;
}

std::optional<std::uint64_t> NumberIn(const UrlQuery& query, const std::string& name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace ergon::node
