// Notices that the machine's clock was set, or the machine was suspended.
#pragma once

#include <functional>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <ergon/gen/result.h>
#include <ergon/node/io/descriptor.h>

namespace ergon::node {

// Becomes readable whenever the machine's clock is set, which is also what follows a suspension. kInternal: the text
// says why there is none.
[[nodiscard]] gen::Result<Descriptor> OpenClockAlarm();

// One thread, that of the context.
class ClockWatch {
 public:
  // Calls `on_set` each time that `alarm`, which is not blocking, is readable, and takes what is there. Throws
  // std::system_error if the context cannot watch it.
  ClockWatch(asio::io_context& context, Descriptor alarm, std::function<void()> on_set);
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;

 private:
  void Wait();

  asio::posix::stream_descriptor alarm_;
  const std::function<void()> on_set_;
};

}  // namespace ergon::node
