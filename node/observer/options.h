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

  // What a request has to have in "Authorization: Bearer TOKEN": 16 to 1,024 visible characters of ASCII. At most one
  // of the two is given. If neither is, the environment's variable ERGON_OBSERVER_TOKEN is the token, if there is one.
  std::string token = {};
  std::string token_file =
      {};  // has the token, and a line end maybe; it is read once, at the start

  // Whether it also changes processes and pools when it is asked to: POST /api/stop and the like, see observer.h. Only
  // with a token. Who has the token may end each process then: do not give it to those who only read.
  bool actions = false;

  // Names, without a port, by which clients may call the observer in the header Host, besides its address and, on a
  // loopback address, "localhost", "127.0.0.1" and "[::1]". On other addresses all names are right if none is given
  // here.
  std::vector<std::string> hosts = {};

  // Open connections, 1..10,000. Beyond that the one that has waited longest for a request gives way; if none waits,
  // the one that has been longest at sending its request; if none sends one, the one that has been longest at taking
  // its answer. If all of them still wait for the observer's answer, the new one is answered with 503.
  int max_connections = 32;
  int max_header_bytes = 8'192;  // of a request, 256..1,048,576; beyond: 431
  int max_body_bytes = 1'024;    // of a request, 0..1,048,576; beyond: 413
  // From the first byte of a request to its last, 1 ms..1 h; beyond: 408, and the connection ends.
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(5);
  // For the client to take an answer, 1 ms..1 h; beyond that the connection ends.
  std::chrono::nanoseconds answer_timeout = std::chrono::seconds(10);
  // Without a request, 1 ms..1 h; then the connection ends.
  std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);

  // Behaviours that have numbers of their own in the metrics, 1..10,000, the first that were seen; the others are
  // summed up as "(other)".
  int max_behaviors = 200;
  int max_pools = 200;  // pools that are asked for their numbers, 1..10,000; the others are counted
  // How long all pools together may take to answer, 1 ms..1 h; none may take more than a tenth of it. Of those that did
  // not answer the last numbers are told.
  std::chrono::nanoseconds pools_timeout = std::chrono::seconds(2);
  // Numbers that are not older than this are told again instead of being collected, 0..1 h.
  std::chrono::nanoseconds metrics_period = std::chrono::seconds(1);
};

}  // namespace ergon::node
