// The pipe to a program's standard input.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/io/descriptor.h>

namespace ergon::node {

// Inside the port's handlers.
class InputPipe {
 public:
  // `end` does not block. A write that goes on when the process is asked to stop may take so long more.
  InputPipe(gen::Node& node, Descriptor end, std::chrono::nanoseconds stop_timeout);
  ~InputPipe();
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  // Returns when all bytes are in the pipe; suspends the process while that is full. How many they are, or
  // kApplication, with a text: then it is closed.
  gen::Result<std::size_t> Write(std::string_view bytes);
  void Close();

 private:
  struct Pipe;

  // Until there is room: 0, or an error number.
  int AwaitRoom();

  std::unique_ptr<Pipe> pipe_;  // null: closed
  const std::chrono::nanoseconds stop_timeout_;
};

}  // namespace ergon::node
