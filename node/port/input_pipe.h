// The pipe to a program's standard input.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// Used inside the port's handlers.
class InputPipe {
 public:
  // The pipe is that of `program`, which outlives this. A write that is suspended when the process is asked to stop may
  // take PortOptions::shutdown_timeout more.
  InputPipe(gen::Node& node, Program& program);
  ~InputPipe();
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  // Writes all bytes to the pipe; suspends the process while the pipe is full and the program runs. Returns their
  // number, or kApplication, with a text: then the pipe is closed.
  gen::Result<std::size_t> Write(std::string_view bytes);
  void Close();

 private:
  struct Pipe;

  // Waits until there is room. Returns why there will be none; empty: there is.
  std::string AwaitRoom();

  const Program& program_;
  std::unique_ptr<Pipe> pipe_;  // null: closed
};

}  // namespace ergon::node
