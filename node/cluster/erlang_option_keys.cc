#include <ergon/node/cluster/erlang_option_keys.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/options/nearest.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/options/option_text.h>

namespace ergon::dist {
namespace {

using node::FormatOption;
using node::ParseOption;

const char* ParseOption(std::string_view text, std::string& out) {
  // What was not ASCII's in a file is a question mark here.
  if (text.find('?') != std::string_view::npos) return "of ASCII's characters, without \"?\"";
  out = text;
  return nullptr;
}
std::string FormatOption(const std::string& value) { return value; }

const char* ParseOption(std::string_view text, Absent& out) {
  if (text != "undefined" && text != "nil") return "undefined or nil";
  out = text == "nil" ? Absent::kNil : Absent::kUndefined;
  return nullptr;
}
std::string FormatOption(Absent value) { return value == Absent::kNil ? "nil" : "undefined"; }

template <auto kAccess>
constexpr ErlangOptionKey MakeKey(std::string_view name, bool may_change) {
  return {name, may_change,
          [](ErlangOptions& options, std::string_view text) {
            return ParseOption(text, kAccess(options));
          },
          [](const ErlangOptions& options) {
            return FormatOption(kAccess(const_cast<ErlangOptions&>(options)));
          }};
}

template <std::string TlsOptions::*kFile>
constexpr ErlangOptionKey MakeTlsKey(std::string_view name) {
  return {name, true,
          [](ErlangOptions& options, std::string_view text) {
            if (!options.tls) options.tls.emplace();
            return ParseOption(text, (*options.tls).*kFile);
          },
          [](const ErlangOptions& options) {
            return options.tls ? (*options.tls).*kFile : std::string();
          }};
}

// A file of its own for the cookie takes the place of one that the program has given.
constexpr ErlangOptionKey kCookieFile = {
    "cookie_file", true,
    [](ErlangOptions& options, std::string_view text) {
      options.cookie.clear();
      return ParseOption(text, options.cookie_file);
    },
    [](const ErlangOptions& options) { return options.cookie_file; }};

#define ERGON_FIXED(field)                                                 \
  MakeKey < [](ErlangOptions & options) -> auto& { return options.field; } \
  > (#field, false)
#define ERGON_CHANGEABLE(field)                                            \
  MakeKey < [](ErlangOptions & options) -> auto& { return options.field; } \
  > (#field, true)

constexpr std::array kKeys = {
    kCookieFile,
    ERGON_FIXED(hidden),
    ERGON_FIXED(listen),
    ERGON_FIXED(listen_address),
    ERGON_FIXED(listen_port),
    ERGON_FIXED(epmd_port),
    ERGON_FIXED(start_epmd),
    MakeTlsKey<&TlsOptions::certificate_file>("tls.certificate_file"),
    MakeTlsKey<&TlsOptions::private_key_file>("tls.private_key_file"),
    MakeTlsKey<&TlsOptions::authorities_file>("tls.authorities_file"),
    ERGON_FIXED(tick_time),
    ERGON_CHANGEABLE(handshake_timeout),
    ERGON_FIXED(send_queue_bytes),
    ERGON_FIXED(max_queued_bytes),
    ERGON_FIXED(max_frame_bytes),
    ERGON_FIXED(max_term_depth),
    ERGON_CHANGEABLE(max_handshakes),
    ERGON_FIXED(max_new_atoms),
    ERGON_FIXED(absent),
    ERGON_CHANGEABLE(max_remote_processes),
    ERGON_CHANGEABLE(observable),
};
#undef ERGON_FIXED
#undef ERGON_CHANGEABLE

}  // namespace

std::span<const ErlangOptionKey> ErlangOptionKeys() { return kKeys; }

gen::Result<const ErlangOptionKey*> FindErlangOption(std::string_view key) {
  if (key == "cookie") {
    return node::Incorrect("network.cookie: is no option of a file; give cookie_file instead");
  }
  const auto* const found =
      std::find_if(kKeys.begin(), kKeys.end(),
                   [key](const ErlangOptionKey& known) { return known.name == key; });
  if (found != kKeys.end()) return found;
  return node::Incorrect(fmt::format(
      "network.{}: unknown, the nearest is network.{}", key,
      node::Nearest(key, kKeys, [](const ErlangOptionKey& known) { return known.name; })));
}

}  // namespace ergon::dist
