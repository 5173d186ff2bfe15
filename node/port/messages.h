// What a port is sent, and what it sends to its owner; see port.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <ergon/gen/pid.h>

namespace ergon::node {

// To the port: bytes for the program's standard input. As a message, or as a request that is answered when all
// of them are in the pipe: how many that are.
struct PortInput {
  using Reply = std::size_t;
  std::string bytes;
};

// To the port, as a message: the end of the program's standard input, after what was sent before.
struct PortCloseInput {};

// Which of a program's streams.
enum class PortOutput : std::uint8_t { kOutput, kErrors };

// To the owner: what the program has written. All that it writes to one stream comes in order.
struct PortData {
  gen::PID port = {};
  PortOutput which = PortOutput::kOutput;
  // With PortOptions::lines one line, or a piece of one, without its '\n'.
  std::string bytes;
  // With PortOptions::lines: the line ends here. False: it goes on with the next one, or the stream has ended
  // without a '\n'.
  bool ends_line = false;
};

// To the owner: the program has ended. The last message of a port.
struct PortExit {
  gen::PID port = {};
  // What it has returned or given to exit(), 0..255. -1: a signal has ended it, or nothing is known of its end,
  // because this program ignores SIGCHLD or waits for children that are not its own.
  int code = -1;
  // The number of the signal that has ended it; 0: none.
  int signal = 0;

  // "exited with status 3", "was ended by signal SIGKILL", "has ended, nobody knows how".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::node
