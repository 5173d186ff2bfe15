#include <ergon/node/observer/http/gate.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace ergon::node {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return lower;
}

// Without the port.
std::string_view NameOf(std::string_view host) {
  const std::size_t end = host.rfind(':');
  if (end == std::string_view::npos || host.ends_with(']')) return host;
  const std::string_view port = host.substr(end + 1);
  const bool is_port = std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return is_port ? host.substr(0, end) : host;
}

// An address as it is written shortest, without brackets; none: `host`, in lower case, is a name.
std::optional<std::string> AddressIn(const std::string& host) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  in6_addr six{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    const std::string inside = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, inside.c_str(), &six) != 1) return std::nullopt;
    return ::inet_ntop(AF_INET6, &six, text.data(), text.size());
  }
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) != 1) return std::nullopt;
  return ::inet_ntop(AF_INET, &four, text.data(), text.size());
}

using Digest = std::array<unsigned char, 32>;
// None: it cannot be computed.
std::optional<Digest> DigestOf(std::string_view text) {
  Digest digest{};
  if (::EVP_Digest(text.data(), text.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr) != 1)
    return std::nullopt;
  return digest;
}

}  // namespace

Gate::Gate(const ObserverSettings& settings) : token_(settings.token) {
  const ObserverOptions& options = settings.options;
  if (!settings.is_loopback && options.hosts.empty()) return;
  if (settings.is_loopback) hosts_ = {"localhost", "127.0.0.1", "::1"};
  const bool is_six = options.address.find(':') != std::string::npos;
  const auto address = AddressIn(is_six ? '[' + options.address + ']' : options.address);
  is_any_address_ = address == "0.0.0.0" || address == "::";
  if (address) hosts_.push_back(*address);
  for (const std::string& host : options.hosts) {
    const std::string name = LowerCase(host);
    hosts_.push_back(AddressIn(name).value_or(name));
  }
}

std::optional<Refusal> Gate::Refuse(const RequestHead& head, bool is_public) const {
  if (!head.host || !IsHost(*head.host)) return Refusal::kHost;
  if (head.origin) {
    const std::string host = LowerCase(*head.host);
    const std::string origin = LowerCase(*head.origin);
    if (origin != "http://" + host && origin != "https://" + host) return Refusal::kOrigin;
  }
  // What browsers say also where they send no Origin. Whoever follows a link to the page comes from another one, and
  // its own requests do not.
  if (!is_public && head.fetch_site && *head.fetch_site != "same-origin" &&
      *head.fetch_site != "none") {
    return Refusal::kOrigin;
  }
  if (!is_public && !token_.empty() && !(head.authorization && IsToken(*head.authorization))) {
    return Refusal::kToken;
  }
  return std::nullopt;
}

bool Gate::IsHost(std::string_view host) const {
  if (hosts_.empty()) return true;
  const std::string name = LowerCase(NameOf(host));
  const auto address = AddressIn(name);
  // A page's name that was bound to this address later on is a name.
  if (address && is_any_address_) return true;
  return std::ranges::find(hosts_, address.value_or(name)) != hosts_.end();
}

bool Gate::IsToken(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  if (LowerCase(authorization.substr(0, kScheme.size())) != kScheme) return false;
  authorization.remove_prefix(kScheme.size());
  // Digests have one length, so that the time tells neither the length nor the first wrong character.
  const auto given = DigestOf(authorization);
  const auto wanted = DigestOf(token_);
  return given && wanted && ::CRYPTO_memcmp(given->data(), wanted->data(), given->size()) == 0;
}

}  // namespace ergon::node
