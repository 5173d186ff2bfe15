#include <ergon/node/cluster/handshake/handshake_errors.h>

#include <string>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/node_names.h>

namespace ergon::dist {

gen::Error NoPacket(std::string_view wanted, std::string_view packet) {
  std::string came = "nothing";
  if (!packet.empty()) {
    came = fmt::format("{} bytes that begin with {}", packet.size(), Quoted(packet.substr(0, 1)));
  }
  return gen::Error(gen::ErrorCode::kIncorrect,
                    fmt::format("handshake: {} was expected, {} came", wanted, came));
}

gen::Error NoStatus(std::string_view wanted, std::string_view status) {
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format("handshake: {} was expected, the status {} came", wanted, Quoted(status)));
}

gen::Error OldPeer() {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    "handshake: the other node speaks version 5, which OTP 25 has given up: update "
                    "it to OTP 24 or later");
}

gen::Error OtherCookie(std::string_view peer) {
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("the cookie of {} is another one: give both nodes the same", peer));
}

gen::Error NoMd5() {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    "handshake: it needs MD5, which OpenSSL refuses here: is it in FIPS mode?");
}

gen::Error NoCreation(std::string_view peer) {
  return gen::Error(gen::ErrorCode::kIncorrect,
                    fmt::format("handshake: {} has the creation 0", peer));
}

}  // namespace ergon::dist
