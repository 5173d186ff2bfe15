#include <ergon/gen/message_balance.h>

#include <fmt/core.h>

namespace ergon::gen {

std::string MessageBalance::ToString() const {
  return fmt::format(
      "{} accepted = {} handled + {} dropped (terminated {}, unknown {}, mailbox full {}, expired "
      "{}) + {} queued + {} held, {} unaccounted",
      accepted, handled, Dropped(), dropped_terminated, dropped_unknown, dropped_mailbox_full,
      dropped_expired, queued, held, Unaccounted());
}

}  // namespace ergon::gen
