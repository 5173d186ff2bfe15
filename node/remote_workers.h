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
// This is a pool like any other: all promises of act::Pool hold for the processes that the factory
// makes on the pool's node. Each of them starts one worker on one of the nodes, gives it the messages that it gets from
// the pool, in that order, and passes its answers on to the callers. It gives the worker no more than there is room for
// in the worker's mailbox (RemoteWorkersOptions::max_in_flight). Further messages wait in its own mailbox, whose bound
// is PoolOptions::worker_mailbox_size; when this mailbox is full, the pool tries the next worker.
//
// Places. Each worker starts on the node that has the fewest workers of this pool; among equals, on the first in the
// list. So PoolOptions::pool_size is spread over the nodes. A node is skipped for the next one if it cannot be reached,
// has registered nothing of that name, runs as many processes as it may, or does not run Ergon: then what it has
// started is killed. A node that cannot be reached or does not run Ergon is skipped for 100 ms at first, then for
// longer, at most for 10 s. If no node is left, the Init of the worker fails. At the
// start of the pool this is a failure of the pool; later the pool tries again and again, less and less often
// (PoolOptions::restart_backoff_max). Meanwhile messages wait as they do for any missing worker. A worker stays where
// it is: a worker that has been moved because its node was gone does not return by itself when the node is back.
//
// End of a worker, its node, or the connection. Its place in the pool gets a replacement, on the node that has the
// fewest workers then. Messages that the worker had not been given yet go to the others. Those that it had been given
// are not handled again:
//   requests   The caller gets the worker's answer if it was on its way; else kProcessTerminated with the worker's
//              exit reason, or kNoConnection, and then the request may have been handled or not.
//   messages   Messages in the mailbox of a worker that ends, or that arrive later, are counted on its node, as
//              dropped_terminated or dropped_unknown. If the connection is lost, messages that were not sent yet are
//              counted on the pool's node, as dropped_no_connection. Messages that were on their way may have arrived
//              or not, as any message between nodes.
//
// A worker may be a pool itself, or have a mailbox with an order of its own. Then the pool's node does not know how
// much room there is: each message is confirmed before the next one is sent (Messenger::SendImportant), and a request
// that finds no room is answered with that error. A message that was given to a worker counts as handled in the pool:
// a worker that crashes with each first message is replaced at once (PoolOptions::restart_backoff_min is for workers
// that were given nothing). PoolOptions::strategy counts in the same way: ByKey gives equal keys to the same worker, in
// order, but after a resize or a crash the next one may begin elsewhere while the former worker still has some. Other
// processes should not send to a worker: their messages take the room of messages that are on their way from the pool,
// which are then counted as dropped_mailbox_full there.
//
// End of the pool. When the pool ends or takes workers out, the workers handle what they have and end with the same
// reason. A worker whose place in the pool is killed or fails is killed. A worker that loses its connection ends with
// the reason noconnection. If it traps exits, it gets this exit signal and should end.
//
// Messages and answers need a form on the wire (gen::NodeOptions::types). A value without one is refused here: a
// request with kUnsupported or kIncorrect; a message, and each event, is counted as dropped_unreadable, and the log
// says so once for each worker. The worker sees the sender of a message; as the sender of a request it sees the
// process here.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/cluster/workers/options.h>

namespace ergon::dist {

// Returns the value for PoolOptions::worker_factory. Use one factory for one pool only, because the processes that it
// makes count the workers on each node together. Any thread.
[[nodiscard]] gen::ProcessFactory RemoteWorkers(RemoteWorkersOptions options);

}  // namespace ergon::dist
