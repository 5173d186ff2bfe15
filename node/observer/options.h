// How a node is observed over HTTP; see observer.h.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ergon::node {

struct ObserverOptions {
  // Where it listens: an address of IPv4 or IPv6, not a name. "0.0.0.0" and "::" stand for all of the machine's. One
  // that is not a loopback address requires a token.
  std::string address = "127.0.0.1";
  int port = 9911;  // 0..65535; 0: any that is free, see GetObserverAddress

  // The token that a request needs in "Authorization: Bearer TOKEN": 16 to 1,024 visible characters of ASCII. At most
  // one of these two is given. If neither is, the environment's variable ERGON_OBSERVER_TOKEN is the token, if there is
  // one.
  std::string token = {};
  std::string token_file =
      {};  // contains the token, with or without a line end; it is read once, at the start

  // Whether the observer also changes processes and pools on request: POST /api/stop and the like, see observer.h.
  // Needs a token. Whoever has the token can then end each process: do not give it to those who only read.
  bool actions = false;

  // Names, without a port, by which clients may call the observer in the header Host, besides its address (with
  // "0.0.0.0" and "::" any address) and, on a loopback address, "localhost", "127.0.0.1" and "[::1]". On another
  // address any name is accepted if this is empty.
  std::vector<std::string> hosts = {};

  // At most so many open connections, 1..10,000. One more closes an old one: the one that has waited longest for a
  // request; else the one that has been sending a request for longest; else the one that has been taking its answer for
  // longest. If all wait for the observer, the new one gets 503.
  int max_connections = 32;
  int max_header_bytes = 8'192;  // of a request, 256..1,048,576; beyond: 431
  int max_body_bytes = 1'024;    // of a request, 0..1,048,576; beyond: 413
  // From the first byte of a request to its last, 1 ms..1 h; beyond: 408, and the connection ends.
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(5);
  // For the client to take an answer, 1 ms..1 h; beyond that the connection ends.
  std::chrono::nanoseconds answer_timeout = std::chrono::seconds(10);
  // Without a request, 1 ms..1 h; then the connection ends.
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);

  // At most so many behaviours have numbers of their own in the metrics and /api/node, 1..10,000, the first that were
  // seen; the others are summed up there as "(other)".
  int max_behaviors = 200;
  int max_pools = 200;  // pools that are asked for their numbers, 1..10,000; the others are counted
  // How long all pools together may take to answer, 1 ms..1 h; none may take more than a tenth of it, or 1 ms if that
  // is more. For a pool that does not answer in time the numbers of its last answer are shown. Pools that there was no
  // time for come first the next time.
  std::chrono::nanoseconds pools_timeout = std::chrono::seconds(2);
  // Numbers and tables that are not older than this are shown again instead of being collected, 0..1 h. After an action
  // of this observer what was collected before it is not shown again.
  std::chrono::nanoseconds metrics_period = std::chrono::seconds(1);
};

}  // namespace ergon::node
