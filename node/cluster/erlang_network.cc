#include <ergon/node/cluster/erlang_network.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/node/cluster/erlang_option_keys.h>
#include <ergon/node/cluster/erlang_transport.h>
#include <ergon/node/cluster/exports/export_checks.h>
#include <ergon/node/cluster/handshake/epmd.h>
#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kLongestCookie = 255;

gen::Result<void> CheckRange(const char* name, std::int64_t value, std::int64_t low,
                             std::int64_t high) {
  if (value >= low && value <= high) return {};
  return node::Incorrect(fmt::format("network: {}: {} is outside {}..{}", name, value, low, high));
}

gen::Result<void> CheckBytes(const char* name, std::uint64_t value, std::uint64_t low,
                             std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return node::Incorrect(fmt::format("network: {}: {} is outside {}..{}", name, value, low, high));
}

gen::Result<void> CheckTime(const char* name, std::chrono::nanoseconds value,
                            std::chrono::nanoseconds low, std::chrono::nanoseconds high) {
  if (value >= low && value <= high) return {};
  return node::Incorrect(fmt::format("network: {}: {} is outside {}..{}", name,
                                     core::ExactTime(value), core::ExactTime(low),
                                     core::ExactTime(high)));
}

// What a node writes of its own accord fits: at most three PIDs with the name of a node (255 bytes), a name of Erlang's
// (255 characters, 1020 bytes), a reference, whose node may have such a name, and a sentence.
constexpr std::uint64_t kLeastFrameBytes = 4096;

gen::Result<void> CheckOptions(const ErlangOptions& options) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  for (const auto& checked :
       {CheckRange("listen_port", options.listen_port, 0, 65'535),
        CheckRange("epmd_port", options.epmd_port, 0, 65'535),
        CheckTime("tick_time", options.tick_time, std::chrono::seconds(1), hours(24)),
        CheckTime("handshake_timeout", options.handshake_timeout, milliseconds(10), hours(1)),
        CheckBytes("send_queue_bytes", options.send_queue_bytes, 1024, std::uint64_t{1} << 40),
        CheckBytes("max_queued_bytes", options.max_queued_bytes, 1024, std::uint64_t{1} << 40),
        CheckBytes("max_frame_bytes", options.max_frame_bytes, kLeastFrameBytes, 0xffff'ffff),
        CheckRange("max_term_depth", options.max_term_depth, 1, 100'000),
        CheckRange("max_handshakes", options.max_handshakes, 1, 10'000),
        CheckRange("max_new_atoms", options.max_new_atoms, 0, 4'000'000),
        CheckRange("max_remote_processes", options.max_remote_processes, 1, 1'000'000),
        CheckRemoteCode(options.functions, options.behaviors)}) {
    if (!checked) return checked;
  }
  return {};
}

// `is_given`: by the option.
gen::Result<std::string> ReadCookieFile(const std::string& path, bool is_given) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const std::string why = std::system_category().message(errno);
    return node::Incorrect(
        is_given
            ? fmt::format("network: cookie_file '{}': {}", path, why)
            : fmt::format(
                  "network: no cookie: option cookie and RELEASE_COOKIE are empty, and '{}': {}",
                  path, why));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return node::Incorrect(
        fmt::format("network: cookie_file '{}': others can read it: chmod 400 '{}'", path, path));
  }
  errno = 0;
  std::ifstream file(path);
  std::string cookie;
  std::getline(file, cookie);
  if (!file.is_open() || file.bad()) {  // a directory can be opened, but not read
    return node::Incorrect(fmt::format("network: cookie_file '{}': cannot be read: {}", path,
                                       std::system_category().message(errno)));
  }
  while (!cookie.empty() && (cookie.back() == '\r' || cookie.back() == ' ')) cookie.pop_back();
  if (cookie.empty()) {
    return node::Incorrect(fmt::format("network: cookie_file '{}': its first line is empty", path));
  }
  return cookie;
}

gen::Result<std::string> CookieOf(const ErlangOptions& options) {
  std::string cookie = options.cookie;
  if (cookie.empty() && options.cookie_file.empty()) {
    if (const char* value = std::getenv("RELEASE_COOKIE")) cookie = value;
  }
  if (cookie.empty()) {
    std::string path = options.cookie_file;
    if (path.empty()) {
      const char* home = std::getenv("HOME");
      path = fmt::format("{}/.erlang.cookie", home == nullptr ? "" : home);
    }
    auto read = ReadCookieFile(path, !options.cookie_file.empty());
    if (!read) return read;
    cookie = std::move(*read);
  }
  if (cookie.size() > kLongestCookie) {
    return node::Incorrect(fmt::format("network: the cookie has {} bytes, at most {} are allowed",
                                       cookie.size(), kLongestCookie));
  }
  return cookie;
}

gen::Result<std::shared_ptr<asio::ssl::context>> TlsContext(const TlsOptions& options) {
  const char* field = "certificate_file";
  std::string file = options.certificate_file;
  const auto is_encrypted = std::make_shared<bool>(false);
  try {
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls);
    // Else OpenSSL asks at the terminal, and waits.
    tls->set_password_callback([is_encrypted](std::size_t, asio::ssl::context::password_purpose) {
      *is_encrypted = true;
      return std::string();
    });
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                     asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                     asio::ssl::context::no_tlsv1_1);
    // Each connection has to show its certificates, so sessions are not kept and not resumed.
    SSL_CTX_set_session_cache_mode(tls->native_handle(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(tls->native_handle(), SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(tls->native_handle(), 0);
    tls->use_certificate_chain_file(file);
    field = "private_key_file";
    file = options.private_key_file;
    tls->use_private_key_file(file, asio::ssl::context::pem);
    field = "authorities_file";
    file = options.authorities_file;
    tls->load_verify_file(file);
    tls->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    return tls;
  } catch (const std::system_error& error) {
    return node::Incorrect(
        fmt::format("network: tls.{} '{}': {}", field, file,
                    *is_encrypted && std::string_view(field) == "private_key_file"
                        ? "it is encrypted, and nobody is there to give the passphrase: keep it "
                          "without one, in a file that only its owner can read"
                        : error.what()));
  }
}

gen::Error At(const std::string& where, std::string_view text) {
  return node::Incorrect(where.empty() ? std::string(text) : fmt::format("{}: {}", where, text));
}

// Sets options of a file. SettingsOf checks them.
gen::Result<void> SetOptions(ErlangOptions& options, const std::vector<gen::NetworkOption>& given) {
  for (const gen::NetworkOption& one : given) {
    auto key = FindErlangOption(one.key);
    if (!key) return At(one.where, key.error().detail());
    if (const char* wanted = (*key)->set(options, one.value)) {
      return At(one.where,
                fmt::format("network.{}: \"{}\", must be {}", one.key, one.value, wanted));
    }
  }
  return {};
}

// Returns an error of SettingsOf, with the place where the file gives the option that it names first.
gen::Error AtItsPlace(const gen::Error& error, const std::vector<gen::NetworkOption>& given) {
  const std::string_view text = error.detail();
  for (const gen::NetworkOption& one : given) {
    const std::string name = fmt::format("network: {}", one.key);
    if (!text.starts_with(name)) continue;
    const std::string_view rest = text.substr(name.size());
    if (rest.starts_with(':') || rest.starts_with(' ')) return At(one.where, text);
  }
  return error;
}

}  // namespace

gen::Result<Settings> SettingsOf(const std::string& node, const ErlangOptions& options) {
  auto named = CheckPeerName(node);
  if (!named) return std::move(named.error());
  auto checked = CheckOptions(options);
  if (!checked) return std::move(checked.error());
  Settings settings;
  settings.node = gen::Atom(node);
  const std::size_t at = node.find('@');
  settings.alive = node.substr(0, at);
  settings.host = node.substr(at + 1);
  asio::error_code error;
  settings.listen_address = asio::ip::make_address(options.listen_address, error);
  if (error) {
    return node::Incorrect(
        fmt::format("network: listen_address: '{}' is no IP address", options.listen_address));
  }
  auto cookie = CookieOf(options);
  if (!cookie) return std::move(cookie.error());
  settings.cookie = std::move(*cookie);
  settings.hidden = options.hidden;
  settings.listen = options.listen;
  settings.listen_port = static_cast<std::uint16_t>(options.listen_port);
  settings.epmd_port = static_cast<std::uint16_t>(options.epmd_port);
  if (options.epmd_port == 0) {
    auto port = EpmdPort();
    if (!port) return std::move(port.error());
    settings.epmd_port = *port;
  }
  settings.start_epmd = options.start_epmd;
  settings.tick_time = options.tick_time;
  settings.handshake_timeout = options.handshake_timeout;
  settings.max_handshakes = static_cast<std::size_t>(options.max_handshakes);
  settings.max_frame_bytes = options.max_frame_bytes;
  settings.max_term_depth = static_cast<std::size_t>(options.max_term_depth);
  settings.send_queue_bytes = options.send_queue_bytes;
  settings.max_queued_bytes = std::max(options.max_queued_bytes, options.send_queue_bytes);
  settings.max_new_atoms = static_cast<std::size_t>(options.max_new_atoms);
  settings.max_remote_processes = static_cast<std::size_t>(options.max_remote_processes);
  settings.observable = options.observable;
  settings.absent = options.absent;
  settings.functions = options.functions;
  settings.behaviors = options.behaviors;
  if (options.tls) {
    auto tls = TlsContext(*options.tls);
    if (!tls) return std::move(tls.error());
    settings.tls = std::move(*tls);
  }
  return settings;
}

ErlangChanges::ErlangChanges(ErlangTransport& transport, ErlangOptions options, node::NodeLog& log)
    : transport_(transport),
      options_(std::move(options)),
      cookie_(transport.settings().cookie),
      log_(log) {}

gen::Result<std::function<void()>> ErlangChanges::Prepare(
    const std::vector<gen::NetworkOption>& given) {
  ErlangOptions fresh = options_;
  auto set = SetOptions(fresh, given);
  if (!set) return std::move(set.error());
  for (const gen::NetworkOption& one : given) {
    const ErlangOptionKey& key = **FindErlangOption(one.key);
    const std::string value = key.get(fresh);
    const std::string before = key.get(options_);
    const bool is_for_tls = one.key.starts_with("tls.") && !options_.tls;
    if (value == before || (key.may_change && !is_for_tls)) continue;
    return node::Incorrect(
        fmt::format("{}: network.{}: {}, but it is {}, and a change takes a restart of the node",
                    one.where, one.key, value, before.empty() ? "not given" : before));
  }
  auto settings = SettingsOf(transport_.settings().node.ToString(), fresh);
  if (!settings) return AtItsPlace(settings.error(), given);
  return std::function<void()>([this, fresh, checked = *settings] {
    Tell(fresh, checked);
    transport_.TakeOver(checked);
    options_ = fresh;
    cookie_ = checked.cookie;
  });
}

void ErlangChanges::Tell(const ErlangOptions& fresh, const Settings& settings) {
  for (const ErlangOptionKey& key : ErlangOptionKeys()) {
    const std::string value = key.get(fresh);
    const std::string before = key.get(options_);
    if (value != before) log_.TellChange(fmt::format("network.{}", key.name), value, before);
  }
  if (settings.cookie != cookie_ && log_.Level() != gen::LogLevel::kOff) {
    log_.Write(gen::LogLevel::kInfo, "network: the cookie was changed");  // as TellChange
  }
  if (settings.tls != nullptr) gen::Log(log_).Info("network: certificates were read again");
}

gen::Result<std::unique_ptr<node::Transport>> ErlangNetwork::Open(
    const Needs& needs, const gen::WireTypes& types,
    const std::vector<gen::NetworkOption>& given) const {
  ErlangOptions options = options_;
  auto set = SetOptions(options, given);
  if (!set) return std::move(set.error());
  auto settings = SettingsOf(needs.addresses.node().ToString(), options);
  if (!settings) return AtItsPlace(settings.error(), given);
  settings->creation = needs.addresses.creation();
  std::unique_ptr<ErlangTransport> transport;
  try {
    transport = std::make_unique<ErlangTransport>(needs, std::move(*settings), types);
  } catch (const std::invalid_argument& error) {
    return node::Incorrect(fmt::format("types: {}", error.what()));
  } catch (const std::exception& error) {
    return gen::Error(gen::ErrorCode::kInternal, fmt::format("network: {}", error.what()));
  }
  const auto changes = std::make_shared<ErlangChanges>(*transport, std::move(options), needs.log);
  transport->SetPreparation([changes](const auto& further) { return changes->Prepare(further); });
  auto open = transport->Open();
  if (!open) return AtItsPlace(open.error(), given);
  return std::unique_ptr<node::Transport>(std::move(transport));
}

}  // namespace ergon::dist
