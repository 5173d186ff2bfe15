// Requests of other processes to an observer; see observer.h.
#pragma once

#include <string>

namespace ergon::node {

// Where an observer listens.
struct ObserverAddress {
  std::string address;
  int port = 0;  // the one that was chosen, if ObserverOptions::port is 0
};
// The request for that: node.Call(observer, node::GetObserverAddress{}). Inspect returns the same as "address" and
// "port"; the number of "connections"; how many of them wait for a request, "connections_idle", have sent a part of
// one, "connections_reading", and have yet to take an answer, "connections_writing".
struct GetObserverAddress {
  using Reply = ObserverAddress;
};

}  // namespace ergon::node
