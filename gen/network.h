// How a node reaches other nodes.
#pragma once

#include <string>

namespace ergon::gen {

// An option of the network as text, as an options file has it.
struct NetworkOption {
  std::string key;    // as in "tls.certificate_file"
  std::string value;  // as SetOption of <ergon/node/option_keys.h> takes one of its type
  std::string where;  // for errors, as in "node.toml:7"
};

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
