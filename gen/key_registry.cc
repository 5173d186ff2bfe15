#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/key_registry.h>

#include <ergon/gen/process.h>

namespace ergon::gen::detail {

void TellStuckKey(Process& self, PID gone, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    self.Log().Error("key registry: a key of {}, which has ended, stays taken: the key threw: {}",
                     gone, core::ThrownText());
  }
}

}  // namespace ergon::gen::detail
