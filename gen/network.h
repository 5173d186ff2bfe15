// How a node reaches other nodes.
#pragma once

namespace ergon::gen {

// Made by a function such as dist::Erlang of <ergon/node/erlang.h>, and given to one node or several: see
// NodeOptions::network.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

 protected:
  Network() = default;
};

}  // namespace ergon::gen
