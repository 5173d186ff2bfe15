// The I/O of one more library on a thread of its own, which belongs to the node; see boost_await.h, which is
// what users include.
//
// Ergon itself is built without that library: it only keeps the thread, and ends it at the right moment.
#pragma once

#include <memory>
#include <string_view>

namespace ergon::node {

// Throws std::logic_error, which names both versions, if they differ: objects of `library` that were made by code
// compiled with one version of its headers have another layout for code compiled with the other. As ASIO_VERSION.
void RequireSameVersion(std::string_view library, int made_with, int used_with);

class OtherIo {
 public:
  // `compiled_with`: the version of the library's headers.
  explicit OtherIo(int compiled_with) : version(compiled_with) {}
  OtherIo(const OtherIo&) = delete;
  OtherIo& operator=(const OtherIo&) = delete;
  virtual ~OtherIo() = default;

  // Ends its thread. Called once, by the node: its processes have ended, and nothing of the node is gone
  // yet that an operation might look at which has just completed. The object lives as long as the node.
  virtual void Stop() = 0;

  const int version;
};

using MakeOtherIo = std::unique_ptr<OtherIo> (*)();

}  // namespace ergon::node
