// Why a process could not wait, or had to stop waiting.
#pragma once

#include <ergon/gen/error.h>

namespace ergon::node {

[[nodiscard]] inline gen::Error EndingError() {
  return gen::Error(gen::ErrorCode::kProcessTerminated, "this process is being ended");
}
[[nodiscard]] inline gen::Error NoStackError() {
  return gen::Error(gen::ErrorCode::kTooManyCalls,
                    "no memory map left for one more stack: raise their number with the sysctl "
                    "vm.max_map_count, or use Request");
}

}  // namespace ergon::node
