// The observer: a node that tells over HTTP how it does. A process like any other.
//
//   auto observer = node.Spawn(node::ObserverFactory({.address = "127.0.0.1", .port = 9911}));
//   // curl http://127.0.0.1:9911/metrics
//
//   GET /          a page for people: the node, its processes, pools and applications, its tree of processes, who waits
//                  for whom, its events, groups and connections, live. It takes nothing from the network, and asks for
//                  the token if there is one
//   GET /metrics   numbers of the node, its messages, dispatcher, processes by behaviour, pools, applications and
//                  connections, and of the program; then what the program counts itself (gen/metrics.h): OpenMetrics
//                  text, as Prometheus reads it. Who accepts text/plain only gets the older format. No label of the
//                  node's own names a PID, and each has a bounded number of values. With NodeOptions::measure_latency
//                  also how long calls and handlers take, as histograms
//   GET /healthz   200 as long as the node runs processes
//   GET /readyz    200 while all applications that were loaded run, or have ended in order, and the node does not stop;
//                  else 503, and the reason as text
//
//   GET /api/node, /api/pools, /api/processes?sort=queued&search=TEXT&limit=100, /api/process?pid=ID
//                  what the page shows, as JSON. The processes are sorted (queued, handled, held, running, newest,
//                  name, behavior) and searched on the node, 1..1,000 of them are told; an ID is what these tell as
//                  "id"
//
//   GET /api/tree?root=ID&limit=200
//                  which process has started which, with the links of each, each before its children; from the process
//                  with that ID, or from the node; 1..1,000 rows, level by level, of very many children only some
//   GET /api/waits which processes wait in a call, and for whom: first those that wait for each other in a circle
//                  ("circle": its number), then those that wait longest; 500 at most
//   GET /api/events, /api/cluster
//                  events with their subscribers, and groups with their members; connections with other nodes, and the
//                  bytes that wait for each
//   POST /api/stop?pid=ID, /api/kill?pid=ID, /api/suspend?pid=ID, /api/resume?pid=ID, /api/resize?pid=ID&workers=N
//                  Node::StopProcess, which is not waited for, Kill, Suspend, Resume; how many workers a pool has,
//                  1..10,000. Only with ObserverOptions::actions and a token, else 403. Else 200; 404: no such process;
//                  409: it refuses, the text says why; 504: not within five seconds, but maybe later. The log has each
//                  of them
//
// HEAD is answered, too. By GET and HEAD the observer changes nothing.
//
// Who may ask. The observer listens on a loopback address by default. On any other one each request needs a token,
// "Authorization: Bearer TOKEN"; without a token such an observer does not start. With a token a loopback address needs
// it, too. Nobody may act without one. There is no TLS: across a network that you do not trust, put a proxy or ssh in
// between. Pages of the web in a browser of the same machine cannot read it: the header Host must name the observer
// (ObserverOptions::hosts), Origin must be the observer's own if there is one, and no answer allows other origins.
//
// What it costs. Nothing as long as nobody asks. The numbers are collected at most once in
// ObserverOptions::metrics_period, by one process that gives way now and then. It looks at each process, about a
// microsecond the first time it sees one and some nanoseconds later, and asks each pool. The first look at a process
// takes up to 700 bytes, as Node::Dump does. Connections, the size and the time of requests and the time for an answer
// have limits.
//
// The end. The listener and the connections end with the process: nobody waits for a client that does not read. When
// StopProcess, or a supervisor, has ended it in order, its port is free.
#pragma once

#include <ergon/gen/factory.h>
#include <ergon/node/observer/messages.h>
#include <ergon/node/observer/options.h>

namespace ergon::node {

// Returns a factory of observers. Any thread; it may be used many times, as by a supervisor. Spawn returns
// kProcessTerminated if an option is wrong, which the text names with its value (but never the token), or if the
// address cannot be listened at. Only for nodes of node::Start; the program aborts if the node has a clock of its own
// (see gen::NodeOptions::clock). A program that uses Boost.Asio itself (boost_await.h) must be compiled with the
// version that Ergon was.
[[nodiscard]] gen::ProcessFactory ObserverFactory(ObserverOptions options = {});

}  // namespace ergon::node
