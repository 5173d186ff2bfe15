// Why a handshake fails. The texts say which side has to change what.
#pragma once

#include <string_view>

#include <ergon/gen/error.h>

namespace ergon::dist {

// The text does not quote the packet: it may have a digest of the cookie, which logs must not keep.
[[nodiscard]] gen::Error NoPacket(std::string_view wanted, std::string_view packet);
[[nodiscard]] gen::Error NoStatus(std::string_view wanted, std::string_view status);
[[nodiscard]] gen::Error OldPeer();
[[nodiscard]] gen::Error OtherCookie(std::string_view peer);
[[nodiscard]] gen::Error NoMd5();
[[nodiscard]] gen::Error NoCreation(std::string_view peer);

}  // namespace ergon::dist
