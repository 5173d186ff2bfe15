// How many workers a pool has, which, and what happens when they fail.
#pragma once

#include <chrono>
#include <string>

#include <ergon/act/pool_strategy.h>
#include <ergon/core/messages/mailbox_bound.h>
#include <ergon/gen/args.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/mailbox.h>
#include <ergon/gen/process_options.h>

namespace ergon::act {

inline constexpr int kMaxPoolSize = 10'000;
inline constexpr int kMaxMailboxSize = core::kMaxMailboxBound;  // messages

// What Init of a pool returns. Names and meaning are those of the fields; a value out of range
// makes the spawn fail with a text that names both.
struct PoolOptions {
  // Workers to start with, 1..10000; see Pool::AddWorkers.
  int pool_size = 5;
  // Makes each worker, and each replacement of one. Required. Of a behaviour, as act::Actor or another
  // pool; not of a function.
  gen::ProcessFactory worker_factory = {};
  // Messages of normal priority that may wait at one worker, 1..4,000,000; 0: any number. When all
  // workers are full, a send to the pool returns ErrProcessMailboxFull.
  int worker_mailbox_size = 0;
  // Instead of worker_mailbox_size: the kind of each worker's mailbox, ordered by priority, say. With
  // a bound that drops (Overflow::kDropNewest, kDropOldest) a worker drops only when all are full:
  // the one whose turn it is then. The ProcessOptions::fallback of the pool itself comes after that.
  gen::Mailbox worker_mailbox = {};
  // Which worker gets a message. ByKey and SharedQueue keep the messages in an order of their own: they
  // do not go with a worker_mailbox that is ordered by priority.
  PoolStrategy strategy = {};
  // When a message would have to wait longer than this before its handler starts, it is refused at once:
  // sender and caller get kOverloaded, and Error::RetryAfter says when there will be room again. The wait
  // is estimated: what waits, times the mean time of recent messages. 0: no limit.
  std::chrono::nanoseconds admission_limit{0};
  // What the Init of each worker gets.
  gen::Args worker_args = {};
  // Each worker has a thread of its own, for handlers that block it.
  bool worker_detached = false;
  // How long the Init of a worker may take; see gen::ProcessOptions::init_timeout. That of the pool
  // itself has to be enough for all that it starts with. A replacement that takes longer has failed.
  std::chrono::nanoseconds worker_init_timeout = gen::kDefaultInitTimeout;

  // A worker that ends is replaced at once if it had handled a message, or lived for a second. One that
  // had not (its factory or Init fails, or the first message each time) is replaced at once the first
  // time; if it happens again and again, after the minimum, doubling to the maximum. More than 0, and
  // in this order.
  std::chrono::nanoseconds restart_backoff_min = std::chrono::milliseconds(10);
  std::chrono::nanoseconds restart_backoff_max = std::chrono::seconds(5);
  // The pool ends with an error when more than `max_restarts` workers have to be replaced within
  // `restart_period`, so that its supervisor can decide; 0: it never gives up.
  int max_restarts = 0;
  std::chrono::nanoseconds restart_period = std::chrono::seconds(5);

  // How long workers may handle what they have queued when the pool ends; then they are killed. 0:
  // at once.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);

  // Messages that may wait at one worker; 0: any number, or known to its mailbox only.
  [[nodiscard]] int WorkerBound() const noexcept {
    return worker_mailbox_size != 0 ? worker_mailbox_size : worker_mailbox.bound();
  }
  // A worker that is full drops a message rather than refuse one.
  [[nodiscard]] bool WorkersMakeRoom() const noexcept {
    return worker_mailbox.overflow() != gen::Overflow::kReject;
  }

  // Empty, or what is wrong: as in "pool_size: 0 is outside 1..10000".
  [[nodiscard]] std::string Validate() const;
};

}  // namespace ergon::act
