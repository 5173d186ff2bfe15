#include <ergon/node/cluster/handshake/node_names.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/atom.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kMostQuoted = 80;

gen::Error WrongName(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, std::move(text));
}

bool IsPrintable(char byte) { return byte > 0x20 && byte < 0x7f; }

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char byte : text.substr(0, kMostQuoted)) {
    if (byte == ' ' || IsPrintable(byte)) {
      quoted += byte;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  if (text.size() > kMostQuoted) quoted += "...";
  return quoted + '\'';
}

gen::Result<void> CheckPeerName(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos || at == 0) {
    return WrongName(fmt::format("node name: {} is not of the form name@host", Quoted(name)));
  }
  if (name.size() > gen::Atom::kMaxBytes) {
    return WrongName(fmt::format("node name: {} has {} bytes, at most {} are possible",
                                 Quoted(name), name.size(), gen::Atom::kMaxBytes));
  }
  if (!std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(at), IsPrintable)) {
    return WrongName(
        fmt::format("node name: {} has other characters than printable ASCII", Quoted(name)));
  }
  return CheckHost(name.substr(at + 1));
}

gen::Result<void> CheckHost(std::string_view host) {
  if (host.empty()) return WrongName("node name: there is no host");
  if (host.find('@') != std::string_view::npos) {
    return WrongName(fmt::format("node name: the host {} has an @", Quoted(host)));
  }
  if (host.size() > gen::Atom::kMaxBytes) {
    return WrongName(fmt::format("node name: the host {} has {} bytes, at most {} are possible",
                                 Quoted(host), host.size(), gen::Atom::kMaxBytes));
  }
  if (!std::all_of(host.begin(), host.end(), IsPrintable)) {
    return WrongName(fmt::format("node name: the host {} has other characters than printable ASCII",
                                 Quoted(host)));
  }
  return {};
}

gen::Result<void> CheckPair(std::string_view own, std::string_view peer) {
  if (own == peer) {
    return WrongName(fmt::format("both nodes have the name {}: give each its own", Quoted(peer)));
  }
  const bool is_own_long = IsLongName(own);
  if (is_own_long == IsLongName(peer)) return {};
  return WrongName(
      fmt::format("{} has a short name and {} a long one: start both with erl's -name and a host "
                  "with a domain or "
                  "an address, or both with -sname",
                  Quoted(is_own_long ? peer : own), Quoted(is_own_long ? own : peer)));
}

bool IsLongName(std::string_view name) noexcept {
  return name.substr(name.find('@') + 1).find_first_of(".:") != std::string_view::npos;
}

}  // namespace ergon::dist
