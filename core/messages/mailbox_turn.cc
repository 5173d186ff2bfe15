#include <ergon/core/messages/mailbox_turn.h>

namespace ergon::core {

bool Mailbox::TryIdle(bool with_main) noexcept {
  if (!urgent_.empty() || !system_.empty()) return false;
  if (!with_main) {
    AppendMain();
  } else if (!main_.empty() || HasQueued()) {
    return false;
  }
  return TryIdleOnceEmpty(with_main);
}

}  // namespace ergon::core
