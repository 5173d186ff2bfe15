// Who waits for whom: an edge of a node's wait-for graph.
#pragma once

#include <chrono>
#include <string>

#include <ergon/gen/pid.h>

namespace ergon::gen {

// A process that is suspended in a Call; see Node::WaitForGraph.
struct WaitEdge {
  PID from;  // the process that waits
  PID to;  // the process that got the request: of a pool, the worker; empty: it is on another node
  std::string message;  // what the request's type calls itself: its kTag, or its name in C++
  std::chrono::nanoseconds waiting{0};  // up to 10 ms too much
  // Whether `to` has to answer. It does not if the handler that got the request has returned without an answer
  // (gen::NoReply, Stash, Forward): then any process that has the ref may answer, and what `to` does says nothing.
  bool certain = true;
};

}  // namespace ergon::gen
