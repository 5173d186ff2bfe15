// Whether this is the program that has started the node, or a fork of it.
#pragma once

#include <cstdint>

#include <fmt/core.h>

#include <ergon/core/foundations/fork_count.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>

namespace ergon::node {

// Any thread.
class ForkGuard {
 public:
  explicit ForkGuard(gen::Atom node) : node_(node) {}

  // Returns whether this program is a fork of the one that has the node's threads.
  [[nodiscard]] bool IsForked() const noexcept { return started_in_ != core::ForkCount(); }
  // Returns kNodeTerminated, with the reason.
  [[nodiscard]] gen::Error Error() const {
    return gen::Error(
        gen::ErrorCode::kNodeTerminated,
        fmt::format("this is a fork of the process of {}, whose threads did not come along",
                    node_));
  }
  // Returns the ForkCount of the program that has started the node.
  [[nodiscard]] std::uint32_t started_in() const noexcept { return started_in_; }

 private:
  const gen::Atom node_;
  const std::uint32_t started_in_ = core::ForkCount();
};

}  // namespace ergon::node
