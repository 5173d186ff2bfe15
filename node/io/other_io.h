// The I/O of one more library on a thread of its own, which belongs to the node; see boost_await.h, which is
// what users include.
//
// Ergon itself is built without that library: it only keeps the thread, and ends it at the right moment.
#pragma once

#include <memory>

namespace ergon::node {

class OtherIo {
 public:
  OtherIo() = default;
  OtherIo(const OtherIo&) = delete;
  OtherIo& operator=(const OtherIo&) = delete;
  virtual ~OtherIo() = default;

  // Ends its thread. Called once, by the node: its processes have ended, and nothing of the node is gone
  // yet that an operation might look at which has just completed. The object lives as long as the node.
  virtual void Stop() = 0;
};

using MakeOtherIo = std::unique_ptr<OtherIo> (*)();

}  // namespace ergon::node
