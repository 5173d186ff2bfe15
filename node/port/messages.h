// The messages to a port, and the messages of a port to its owner; see port.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <ergon/gen/pid.h>

namespace ergon::node {

// To the port: bytes for the program's standard input. Send it as a message, or as a request, which is answered with
// the number of bytes when all of them are in the pipe.
struct PortInput {
  using Reply = std::size_t;
  std::string bytes;
};

// To the port, as a message: the end of the program's standard input, after what was sent before.
struct PortCloseInput {};

// Names one of a program's streams.
enum class PortOutput : std::uint8_t { kOutput, kErrors };

// To the owner: bytes that the program has written. The bytes of one stream come in order.
struct PortData {
  gen::PID port = {};
  PortOutput which = PortOutput::kOutput;
  // With PortOptions::lines one line, or a piece of a line, without its '\n'.
  std::string bytes;
  // With PortOptions::lines: true if the line ends here, false if it goes on in the next PortData of the stream, or if
  // the stream has ended without a '\n'.
  bool ends_line = false;
};

// To the owner: the program has ended, or goes on as another user's, which nobody can end. The last message of a port.
struct PortExit {
  gen::PID port = {};
  // The value that the program has returned or given to exit(), 0..255. -1: a signal has ended it, or its status is not
  // known, because this program ignores SIGCHLD or waits for children that are not its own, or because it goes on.
  int code = -1;
  // The number of the signal that has ended it; 0: none.
  int signal = 0;

  // Returns "exited with status 3", "was ended by signal SIGKILL", or "has ended with an unknown status".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::node
