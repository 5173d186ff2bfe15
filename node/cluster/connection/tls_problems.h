// What people have to do when two nodes cannot agree on TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <asio/ip/tcp.hpp>
#include <asio/ssl/stream.hpp>

namespace ergon::dist {

using TlsLayer = asio::ssl::stream<asio::ip::tcp::socket&>;

// Makes a handshake accept only certificates of the authorities, and `host` in the peer's one, as a DNS name or as an
// address; empty: any. Returns the text that says why one was not accepted, if that happens.
[[nodiscard]] std::shared_ptr<const std::string> VerifyPeer(TlsLayer& layer,
                                                            const std::string& host);
// Returns what went wrong in a handshake, for people. `problem`: of VerifyPeer.
[[nodiscard]] std::string TlsProblem(const std::system_error& error, std::string_view problem);
// Returns whether what a plain node takes for the length of the first packet is the beginning of TLS.
[[nodiscard]] bool IsBeginOfTls(std::size_t length) noexcept;

}  // namespace ergon::dist
