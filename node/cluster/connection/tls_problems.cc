#include <ergon/node/cluster/connection/tls_problems.h>

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ssl/error.hpp>
#include <asio/ssl/host_name_verification.hpp>

namespace ergon::dist {
namespace {

// Erlang looks for the host among the DNS names, also if it is an address.
bool HasAddressAsName(X509_STORE_CTX* store, const std::string& host) {
  asio::error_code is_name;
  (void)asio::ip::make_address(host, is_name);
  X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  constexpr unsigned kFlags = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return !is_name && certificate != nullptr &&
         X509_check_host(certificate, host.c_str(), host.size(), kFlags, nullptr) == 1;
}

// An alert that the peer has sent, RFC 8446, section 6.2; 0: it is none.
int AlertOf(const asio::error_code& code) {
  if (code.category() != asio::error::get_ssl_category()) return 0;
  const auto value = static_cast<unsigned long>(code.value());
  const int alert = ERR_GET_REASON(value) - SSL_AD_REASON_OFFSET;
  return ERR_GET_LIB(value) == ERR_LIB_SSL && alert > 0 && alert <= 255 ? alert : 0;
}

bool IsOfCertificate(int alert) {
  return (alert >= SSL3_AD_NO_CERTIFICATE && alert <= SSL3_AD_CERTIFICATE_UNKNOWN) ||
         alert == TLS1_AD_UNKNOWN_CA || alert == TLS13_AD_CERTIFICATE_REQUIRED;
}

}  // namespace

std::shared_ptr<const std::string> VerifyPeer(TlsLayer& layer, const std::string& host) {
  auto problem = std::make_shared<std::string>();
  layer.set_verify_callback([host, problem](bool is_trusted, asio::ssl::verify_context& context) {
    X509_STORE_CTX* const store = context.native_handle();
    if (!is_trusted) {
      *problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
      return false;
    }
    if (host.empty() || asio::ssl::host_name_verification(host)(true, context) ||
        HasAddressAsName(store, host)) {
      return true;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    *problem = fmt::format("it does not name the host '{}'", host);
    return false;
  });
  return problem;
}

std::string TlsProblem(const std::system_error& error, std::string_view problem) {
  if (!problem.empty()) return fmt::format("the peer's certificate: {}", problem);
  const asio::error_code code = error.code();
  if (const int alert = AlertOf(code); alert != 0) {
    return fmt::format("the peer refuses {}: {}; its log may say more",
                       IsOfCertificate(alert) ? "this node's certificate" : "this node",
                       code.message());
  }
  if (code.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(code.value())) == SSL_R_WRONG_VERSION_NUMBER) {
    return "the peer speaks no TLS: give both nodes ErlangOptions::tls, or none";
  }
  if (code == asio::error::eof || code == asio::ssl::error::stream_truncated ||
      code == asio::error::connection_reset) {
    return "the peer has closed the connection: it speaks no TLS, or is stopping";
  }
  return error.what();
}

// A record of TLS begins with its type, 22 or 21, and with the major version 3.
bool IsBeginOfTls(std::size_t length) noexcept { return length == 0x1603 || length == 0x1503; }

}  // namespace ergon::dist
