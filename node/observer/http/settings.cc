#include <ergon/node/observer/http/settings.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

constexpr const char* kTokenVariable = "ERGON_OBSERVER_TOKEN";
constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 1'024;

// Empty: it is no address.
std::optional<bool> IsLoopback(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 127;
  return static_cast<bool>(IN6_IS_ADDR_LOOPBACK(&six));
}

gen::Result<void> CheckNumbers(const ObserverOptions& options) {
  struct Number {
    std::string_view name;
    int value;
    int least;
    int most;
  };
  const Number numbers[] = {{"port", options.port, 0, 65'535},
                            {"max_connections", options.max_connections, 1, 10'000},
                            {"max_header_bytes", options.max_header_bytes, 256, 1'048'576},
                            {"max_body_bytes", options.max_body_bytes, 0, 1'048'576},
                            {"max_behaviors", options.max_behaviors, 1, 10'000},
                            {"max_pools", options.max_pools, 1, 10'000}};
  for (const Number& number : numbers) {
    if (number.value < number.least || number.value > number.most) {
      return Incorrect(fmt::format("{}: {} is outside {}..{}", number.name, number.value,
                                   number.least, number.most));
    }
  }
  return {};
}

gen::Result<void> CheckTimes(const ObserverOptions& options) {
  constexpr std::chrono::nanoseconds kMost = std::chrono::hours(1);
  constexpr std::chrono::nanoseconds kLeast = std::chrono::milliseconds(1);
  struct Time {
    std::string_view name;
    std::chrono::nanoseconds value;
    std::chrono::nanoseconds least;
  };
  const Time times[] = {{"request_timeout", options.request_timeout, kLeast},
                        {"answer_timeout", options.answer_timeout, kLeast},
                        {"idle_timeout", options.idle_timeout, kLeast},
                        {"pools_timeout", options.pools_timeout, kLeast},
                        {"metrics_period", options.metrics_period, {}}};
  for (const Time& time : times) {
    if (time.value < time.least || time.value > kMost) {
      return Incorrect(fmt::format("{}: {} is outside {}..{}", time.name,
                                   core::ExactTime(time.value), core::ExactTime(time.least),
                                   core::ExactTime(kMost)));
    }
  }
  return {};
}

gen::Result<void> CheckHosts(const ObserverOptions& options) {
  for (std::size_t i = 0; i < options.hosts.size(); ++i) {
    const std::string& host = options.hosts[i];
    const bool has_port = host.find(':') != std::string::npos && host.back() != ']';
    const bool is_odd = std::ranges::any_of(
        host, [](char byte) { return byte <= ' ' || byte == '/' || byte == 0x7f; });
    if (host.empty() || has_port || is_odd) {
      return Incorrect(
          fmt::format("hosts[{}]: \"{}\" is no name of a host without a port", i, host));
    }
  }
  return {};
}

// The value stays out of the text: logs are read by more people than the token is for.
gen::Result<void> CheckToken(std::string_view source, std::string_view token) {
  if (token.size() < kShortestToken || token.size() > kLongestToken) {
    return Incorrect(fmt::format("{}: the token has {} characters, must have {}..{}", source,
                                 token.size(), kShortestToken, kLongestToken));
  }
  const auto odd = std::ranges::find_if(token, [](char byte) { return byte <= ' ' || byte > '~'; });
  if (odd == token.end()) return {};
  return Incorrect(fmt::format("{}: character {} of the token is a space or no visible ASCII",
                               source, odd - token.begin() + 1));
}

gen::Result<std::string> ReadTokenFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string token(kLongestToken + 3, '\0');  // a longer file is found to be too long
  if (file) file.read(token.data(), static_cast<std::streamsize>(token.size()));
  if (file.bad() || file.gcount() == 0) {
    return Incorrect(fmt::format("token_file: \"{}\": {}", path,
                                 errno != 0 ? std::strerror(errno) : "it is empty"));
  }
  token.resize(static_cast<std::size_t>(file.gcount()));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  auto checked = CheckToken(fmt::format("token_file: \"{}\"", path), token);
  if (!checked) return std::move(checked.error());
  return token;
}

gen::Result<std::string> FindToken(const ObserverOptions& options) {
  if (!options.token.empty() && !options.token_file.empty()) {
    return Incorrect(fmt::format("token_file: \"{}\", but token is given too", options.token_file));
  }
  if (!options.token_file.empty()) return ReadTokenFile(options.token_file);
  const char* const variable = std::getenv(kTokenVariable);
  const bool is_option = !options.token.empty();
  if (!is_option && variable == nullptr) return std::string();
  std::string token = is_option ? options.token : variable;
  auto checked =
      CheckToken(is_option ? "token" : fmt::format("environment, {}", kTokenVariable), token);
  if (!checked) return std::move(checked.error());
  return token;
}

}  // namespace

gen::Result<ObserverSettings> CheckObserverOptions(ObserverOptions options) {
  const auto is_loopback = IsLoopback(options.address);
  if (!is_loopback) {
    return Incorrect(fmt::format("address: \"{}\" is no address of IPv4 or IPv6", options.address));
  }
  for (auto* check : {&CheckNumbers, &CheckTimes, &CheckHosts}) {
    auto checked = (*check)(options);
    if (!checked) return std::move(checked.error());
  }
  auto token = FindToken(options);
  if (!token) return std::move(token.error());
  if (!*is_loopback && token->empty()) {
    return Incorrect(
        fmt::format("address: \"{}\" is no loopback address, and there is no token: set token, "
                    "token_file or the environment's {}",
                    options.address, kTokenVariable));
  }
  return ObserverSettings{std::move(options), *is_loopback, std::move(*token)};
}

}  // namespace ergon::node
