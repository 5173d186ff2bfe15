// How many workers a pool has, how they are made, and what happens when they fail.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <ergon/act/pool_autoscale.h>
#include <ergon/act/pool_strategy.h>
#include <ergon/core/messages/mailbox_bound.h>
#include <ergon/gen/args.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/mailbox.h>
#include <ergon/gen/pool_change.h>
#include <ergon/gen/process_options.h>

namespace ergon::act {

using gen::kMaxPoolSize;
inline constexpr int kMaxMailboxSize = core::kMaxMailboxBound;  // messages

// What Init of a pool returns. A value out of range makes the spawn fail with a text that names the field and
// the value.
struct PoolOptions {
  // The number of workers at the start, 1..kMaxPoolSize; see Pool::AddWorkers.
  int pool_size = 5;
  // Makes the pool keep its number of workers itself, from pool_size on, which has to be within autoscale's bounds. Not
  // with the strategy Broadcast, by which each worker has all messages to handle.
  std::optional<PoolAutoscale> autoscale = std::nullopt;
  // Makes each worker and each replacement. Required. It makes a behaviour, such as act::Actor or another
  // pool; a process function is refused.
  gen::ProcessFactory worker_factory = {};
  // How many messages of normal priority may wait at one worker, 1..4,000,000; 0: any number, whatever
  // NodeOptions::mailbox_size says: then no send is refused, and memory grows with the backlog. When all workers are
  // full, a send to the pool returns ErrProcessMailboxFull. Of a worker that is a pool its own bounds count.
  int worker_mailbox_size = 0;
  // The kind of each worker's mailbox, such as one ordered by priority; give this or worker_mailbox_size, not
  // both: PoolChange::worker_mailbox_size changes the bound of either. With a bound that drops
  // (Overflow::kDropNewest, kDropOldest) a worker drops a message only when all workers are full; the worker whose
  // turn it is drops. The ProcessOptions::fallback of the pool itself comes after that.
  gen::Mailbox worker_mailbox = {};
  // Which worker gets a message. ByKey and SharedQueue keep the messages in an order of their own and cannot be
  // combined with a worker_mailbox that is ordered by priority.
  PoolStrategy strategy = {};
  // A message that would wait longer than this before its handler starts is refused at once: the sender or caller gets
  // kOverloaded, and Error::RetryAfter says when there will be room again. The wait is an estimate: how many messages
  // wait, at the recent pace of the workers (PoolStats). Of a worker that is a pool it is that of its own workers,
  // once they have handled some in a row; a pool that places its messages itself (ByKey, SharedQueue, Broadcast) shows
  // none as a worker, and with workers that are pools it knows only how quickly these pass messages on: give the limit
  // to those then. Messages that the pool itself keeps, because no worker is ready or because its strategy keeps them,
  // are not refused before it has looked: give a bound of the mailboxes, too. 0: no limit. Must be 0 with the strategy
  // Broadcast.
  std::chrono::nanoseconds admission_limit{0};
  // The arguments that the Init of each worker gets.
  gen::Args worker_args = {};
  // Gives each worker a thread of its own, for handlers that block their thread.
  bool worker_detached = false;
  // How long the Init of a worker may take; see gen::ProcessOptions::init_timeout. The init_timeout of the pool
  // itself has to be long enough for all workers that it starts with. A replacement that waits longer has failed; one
  // that keeps its thread busy for longer has not.
  std::chrono::nanoseconds worker_init_timeout = gen::kDefaultInitTimeout;

  // A worker that ends is replaced at once if it had handled a message or had lived for a second. A worker that
  // had not (because its factory, its Init, or its first message fails each time) is replaced at once the first
  // time. If this happens again and again, its replacement waits, first for the minimum, then twice as long each
  // time, up to the maximum. The minimum is more than 0, the maximum not less than the minimum.
  std::chrono::nanoseconds restart_backoff_min = std::chrono::milliseconds(10);
  std::chrono::nanoseconds restart_backoff_max = std::chrono::seconds(5);
  // The pool ends with an error when more than `max_restarts` workers have to be replaced within
  // `restart_period`, so that its supervisor can decide. 0: the pool never gives up.
  int max_restarts = 0;
  std::chrono::nanoseconds restart_period = std::chrono::seconds(5);

  // How long workers may handle what they have queued when the pool ends; then they are killed. 0: they are
  // killed at once.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);

  // Returns how many messages may wait at one worker. 0: any number, or only the worker's mailbox knows.
  [[nodiscard]] int WorkerBound() const noexcept {
    return worker_mailbox_size != 0 ? worker_mailbox_size : worker_mailbox.bound();
  }
  // Returns whether a full worker drops a message instead of refusing one.
  [[nodiscard]] bool WorkersMakeRoom() const noexcept {
    return worker_mailbox.overflow() != gen::Overflow::kReject;
  }

  // Returns the current values of all options that may change while the pool runs.
  [[nodiscard]] gen::PoolChange Changeable() const;

  // Returns an empty text, or what is wrong, as in "pool_size: 0 is outside 1..10000".
  [[nodiscard]] std::string Validate() const;
};

}  // namespace ergon::act
