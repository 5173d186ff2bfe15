#include <ergon/node/observer/http/gate.h>

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
  if (settings.is_loopback) hosts_ = {"localhost", "127.0.0.1", "[::1]"};
  const bool is_six = options.address.find(':') != std::string::npos;
  hosts_.push_back(LowerCase(is_six ? '[' + options.address + ']' : options.address));
  for (const std::string& host : options.hosts) hosts_.push_back(LowerCase(host));
}

std::optional<Refusal> Gate::Refuse(const RequestHead& head, bool is_public) const {
  if (!head.host || !IsHost(*head.host)) return Refusal::kHost;
  if (head.origin) {
    const std::string host = LowerCase(*head.host);
    const std::string origin = LowerCase(*head.origin);
    if (origin != "http://" + host && origin != "https://" + host) return Refusal::kOrigin;
  }
  // What browsers say also where they send no Origin.
  if (head.fetch_site && *head.fetch_site != "same-origin" && *head.fetch_site != "none") {
    return Refusal::kOrigin;
  }
  if (!is_public && !token_.empty() && !(head.authorization && IsToken(*head.authorization))) {
    return Refusal::kToken;
  }
  return std::nullopt;
}

bool Gate::IsHost(std::string_view host) const {
  return hosts_.empty() || std::ranges::find(hosts_, LowerCase(NameOf(host))) != hosts_.end();
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
