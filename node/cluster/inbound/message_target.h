// Whom a message of another node is for.
#pragma once

#include <cstdint>
#include <string_view>

#include <ergon/gen/pid.h>

namespace ergon::dist {

// The name of Erlang's process that answers net_adm:ping/1.
inline constexpr std::string_view kNetKernel = "net_kernel";

struct MessageTarget {
  gen::PID pid{};           // empty: nobody has that name or alias here
  std::string_view name{};  // empty: the message was not sent to a name
  std::uint64_t tag = 0;    // see gen::Target::Tag
};

}  // namespace ergon::dist
