// Pools whose workers live on other Ergon nodes.
//
//   // On the nodes where the workers are to live:
//   network.behaviors.Register("images", "thumbnailer", gen::Factory<Thumbnailer>());
//
//   // On the pool's node:
//   gen::Result<act::PoolOptions> Init(const gen::Args&) override {
//     return act::PoolOptions{
//         .pool_size = 8,
//         .worker_factory = dist::RemoteWorkers({.nodes = {"cpp@east", "cpp@west"},
//                                                .module = "images",
//                                                .function = "thumbnailer"}),
//         .worker_mailbox_size = 100};
//   }
//
// A pool like any other: all that act::Pool promises of its workers holds for the dist::RemoteWorker processes that this
// makes on the pool's node. Each of them starts one worker on one of the nodes, gives it what it gets from the pool, in
// that order, and has its answers brought to the callers. It gives no more than there is room for in the worker's mailbox
// (RemoteWorkersOptions::max_in_flight); what comes then waits in its own mailbox, whose bound is
// PoolOptions::worker_mailbox_size, and when that is full, the pool passes it by.
//
// Where. Each worker starts on the node that has the fewest of this pool, the first of those in the list; so
// PoolOptions::pool_size is spread over the nodes. A node that cannot be reached, has nothing of that name, or runs as
// many processes as it may, is passed by for the next one; one that cannot be reached is passed by for 100 ms at
// first, then for longer, 10 s at most. If there is none, that is a failure of the worker's Init: at the
// start of the pool the pool's failure, later one that the pool tries to make good again and again, less and less often
// (PoolOptions::restart_backoff_max). Meanwhile messages wait as they do for any worker that is missing. A worker stays
// where it is: one that was moved because its node was gone does not return by itself when that is back.
//
// A worker ends, or its node, or the connection: its place in the pool is replaced, on whichever node has the fewest
// then, and what it had not been given yet goes to the others. What it had been given is not handled again:
//   requests   The caller gets the worker's answer if it was on its way; else kProcessTerminated with the worker's
//              reason, or kNoConnection: then it may have been handled or not.
//   messages   What is in the mailbox of a worker that ends, or comes then, is counted on its node, as dropped_terminated
//              or dropped_unknown. When the connection is lost, what was not sent yet is counted on the pool's node, as
//              dropped_no_connection; what was on its way may have arrived or not, as any message between nodes.
//
// A worker may be a pool itself, or have a mailbox with an order of its own: then nobody here knows how much room there
// is, and each message is confirmed before the next one is sent (Messenger::SendImportant), while a request that finds no
// room is answered with that error. What was given to a worker counts as handled by its place: one that crashes by its
// first message each time is replaced at once (PoolOptions::restart_backoff_min is for places that handle nothing). Others should not write to a
// worker: they take the room of what is on its way, which is counted as dropped_mailbox_full there then.
//
// The pool ends, or takes workers out: they handle what they have and end with the same reason. A worker whose place
// in the pool is killed, or fails, is killed. One that loses its connection ends with the reason noconnection, unless it
// traps exits; then it is told, and should end.
//
// Messages need a form on the wire (gen::NodeOptions::types), answers as well. What has none is refused here: a request
// with kUnsupported, or kIncorrect; a message, and each event, is counted as dropped_terminated, and the log says so once
// for each worker. The worker sees the sender of a message, but as that of a request the dist::RemoteWorker.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/cluster/workers/options.h>

namespace ergon::dist {

// For PoolOptions::worker_factory. Use one for one pool: what it makes counts the workers on each node together. Any
// thread.
[[nodiscard]] gen::ProcessFactory RemoteWorkers(RemoteWorkersOptions options);

}  // namespace ergon::dist
