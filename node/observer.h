// The observer: a process that shows over HTTP what its node does.
//
//   auto observer = node.Spawn(node::ObserverFactory({.address = "127.0.0.1", .port = 9911}));
//   // curl http://127.0.0.1:9911/metrics
//
//   GET /          a page for people: the node, its processes, pools and applications, its tree of processes, who waits
//                  for whom, its events, groups and connections, live. It loads nothing from elsewhere, and asks for
//                  the token if there is one
//   GET /metrics   numbers of the node, its messages, dispatcher, processes by behaviour, pools, applications and
//                  connections, and of the program; then the program's own metrics (gen/metrics.h): OpenMetrics text,
//                  as Prometheus reads it. A client that accepts only text/plain gets the older format. No label of
//                  the node's own names a PID, and each has a bounded number of values. The number of messages in one
//                  mailbox is modulo 4,194,304: a mailbox with 4,194,305 shows 1, here as below. With
//                  NodeOptions::measure_latency also histograms of how long messages wait, and of how long calls and
//                  handlers take
//   GET /healthz   200 as long as the node runs processes
//   GET /readyz    200 while all applications that were loaded run, or have ended in order, and the node does not stop;
//                  else 503, and the reason as text
//
//   GET /api/node, /api/pools, /api/processes?sort=queued&search=TEXT&limit=100, /api/process?pid=ID
//                  what the page shows, as JSON. The node sorts the processes (queued, handled, held, running, newest,
//                  name, behavior), searches them, and returns 1..1,000 of them; ID is the member "id" in these
//                  answers. An ID belongs to no particular run of the program: after a restart it may be another
//                  process's. With &creation=N, the member "creation" of /api/node, /api/process and the actions below
//                  answer 404 after a restart, unless NodeOptions::creation is set
//
//   GET /api/tree?root=ID&limit=200
//                  the tree of processes: which one has started which, and the links of each. A process stands before
//                  its children. The tree begins with the process with that ID, or else with the node. It has
//                  1..1,000 rows, chosen level by level; of very many children it has only some
//   GET /api/waits which processes wait in a call, and for whom: first those that wait for each other in a circle
//                  ("circle": its number), then those that wait longest; 500 at most
//   GET /api/events, /api/cluster
//                  events with their subscribers, and groups with their members; connections with other nodes, and the
//                  bytes that wait for each
//   POST /api/stop?pid=ID, /api/kill?pid=ID, /api/suspend?pid=ID, /api/resume?pid=ID, /api/resize?pid=ID&workers=N
//                  the same as Node::StopProcess, without waiting for the end, Kill, Suspend and Resume; and the number
//                  of workers of a pool, 1..10,000. Only with ObserverOptions::actions and a token, else 403. Else 200;
//                  404: no such process; 409: it refuses, the text says why; 504: not within five seconds, but maybe
//                  later. Each of them is logged, at each log level of the node but off
//
// HEAD is answered, too. GET and HEAD change nothing.
//
// Who may ask. The observer listens on a loopback address by default. On any other address it does not start without a
// token. With a token every request needs "Authorization: Bearer TOKEN", except those for the page, its scripts and its
// style, which contain no data of the node. Actions always need a token. There is no TLS: across a network that you do
// not trust, put a proxy or ssh in between. Web pages in a browser on the same machine cannot read the observer: the
// header Host must name the observer (ObserverOptions::hosts), Origin must be the observer's own if there is one, and
// no answer allows other origins.
//
// What it costs. Nothing as long as nobody asks. One process collects the numbers and the tables, at most once in
// ObserverOptions::metrics_period, and yields to others meanwhile. All who ask in that time get the same bytes; a table
// that is sorted or searched in another way is found anew, and so is another process. It looks at each process, about a
// microsecond the first time it sees one and some nanoseconds later, and asks each pool. A process that is shown by
// itself is asked, too, and has half a second to answer; meanwhile others wait. The first look at a process takes up
// to 700 bytes, as Node::Dump does. The number of connections, the size and the time of a request and the time for an
// answer are limited.
//
// The end. The listener and the connections end with the process, which does not wait for a client that does not read.
// After StopProcess, or an orderly end by a supervisor, its port is free.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/observer/messages.h>
#include <ergon/node/observer/options.h>

namespace ergon::node {

// Returns a factory of observers, which may be used many times, as by a supervisor. Any thread. Spawn returns
// kProcessTerminated if an option is wrong, which the text names with its value (but never the token), or if the
// observer cannot listen on its address. Only for nodes of node::Start; the program aborts if the node has a clock of
// its own (see gen::NodeOptions::clock). A program that uses Boost.Asio itself (boost_await.h) must be compiled with
// the version that Ergon was compiled with.
[[nodiscard]] gen::ProcessFactory ObserverFactory(ObserverOptions options = {});

}  // namespace ergon::node
