// The conservation law of a node: nothing is lost without a count.
#pragma once

#include <cstdint>
#include <string>

namespace ergon::gen {

// What became of all messages that were accepted since the node's start: sends, requests, delayed
// sends whose time has come, published events (one for each subscriber); not signals and notices.
//
//   accepted = handled + dropped + queued + held + sent to other nodes
//
// Exact when the node is at rest: no handler runs and no thread outside sends. Before that a message on its way may be
// missing on one side. The messages that wait in one mailbox are counted up to 4,194,303 (modulo 4,194,304).
struct MessageBalance {
  std::uint64_t accepted = 0;  // the send succeeded, or failed later and was counted as dropped
  std::uint64_t handled = 0;   // a handler was called
  std::uint64_t queued = 0;    // in mailboxes
  std::uint64_t held = 0;      // taken by a behaviour that will pass it on: a pool without workers
  // Given to the connection with the receiver's node. Messages that the connection loses are dropped_no_connection, as
  // far as this node knows.
  std::uint64_t sent_to_nodes = 0;
  // Not handled; see NodeInfo for the reasons:
  std::uint64_t dropped_terminated = 0;
  std::uint64_t dropped_unknown = 0;
  std::uint64_t dropped_mailbox_full = 0;
  std::uint64_t dropped_expired = 0;
  std::uint64_t dropped_no_connection = 0;
  std::uint64_t dropped_unreadable = 0;
  std::uint64_t dropped_failed = 0;

  [[nodiscard]] std::uint64_t Dropped() const noexcept {
    return dropped_terminated + dropped_unknown + dropped_mailbox_full + dropped_expired +
           dropped_no_connection + dropped_unreadable + dropped_failed;
  }
  // Returns the messages that cannot be accounted for; negative: handled twice. 0 at rest.
  [[nodiscard]] std::int64_t Unaccounted() const noexcept {
    return static_cast<std::int64_t>(accepted - handled - Dropped() - queued - held -
                                     sent_to_nodes);
  }
  // Returns one line for people.
  [[nodiscard]] std::string ToString() const;

  friend bool operator==(const MessageBalance&, const MessageBalance&) = default;
};

}  // namespace ergon::gen
