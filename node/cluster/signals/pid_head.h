// The first bytes of the PIDs of a node on the wire.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/signals/control_tags.h>

namespace ergon::dist {

// Made once for each node of a connection, so that a PID is read with one comparison.
class PidHead {
 public:
  PidHead(gen::Atom node)  // NOLINT(google-explicit-constructor): it stands for the node
      : node_(node) {
    const std::string_view name = node.Text();  // at most 255 bytes
    bytes_ = {static_cast<char>(kNewPidTag), static_cast<char>(kSmallAtomUtf8Tag),
              static_cast<char>(name.size())};
    bytes_ += name;
  }
  PidHead() : PidHead(gen::Atom()) {}

  [[nodiscard]] gen::Atom node() const noexcept { return node_; }
  // Returns the bytes as nodes of today write them. Older nodes have other tags for atoms.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

 private:
  gen::Atom node_;
  std::string bytes_;
};

// The two nodes of a connection.
struct Peers {
  PidHead own;
  PidHead peer;
};

}  // namespace ergon::dist
