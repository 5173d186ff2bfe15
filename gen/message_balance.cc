#include <ergon/gen/message_balance.h>

#include <fmt/core.h>

namespace ergon::gen {

std::string MessageBalance::ToString() const {
  return fmt::format(
      "{} accepted = {} handled + {} dropped (terminated {}, unknown {}, mailbox full {}, expired "
      "{}, no connection {}, unreadable {}, failed {}) + {} queued + {} held + {} sent to other "
      "nodes, {} "
      "unaccounted",
      accepted, handled, Dropped(), dropped_terminated, dropped_unknown, dropped_mailbox_full,
      dropped_expired, dropped_no_connection, dropped_unreadable, dropped_failed, queued, held,
      sent_to_nodes, Unaccounted());
}

}  // namespace ergon::gen
