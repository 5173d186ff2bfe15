// How a program of the operating system is started as a process of the node; see port.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::node {

// Where one of the program's three standard streams leads to.
enum class PortStream : std::uint8_t {
  kPipe,  // to the node: PortInput, or PortData
  kInherit,  // to where this program's own leads. A terminal is only written to: the program is not in the
             // foreground, and is stopped by the system when it reads from it
  kNull,      // to /dev/null
  kAsOutput,  // errors only: to where the output leads, in the order in which the program writes
};

struct PortOptions {
  // Its path, or a name without a slash, which is looked for in the folders of this program's PATH. Not
  // empty. A relative path is relative to `directory`.
  std::string program = {};
  // Without the name of the program itself. No shell sees them: nothing has to be quoted.
  std::vector<std::string> arguments = {};
  // The variables of its environment: these, and those of this program that are not named here.
  std::map<std::string, std::string> environment = {};
  // With true: these only.
  bool clear_environment = false;
  // Where it runs; empty: where this program does.
  std::string directory = {};

  PortStream input = PortStream::kPipe;
  PortStream output = PortStream::kPipe;
  PortStream errors = PortStream::kInherit;

  // The longest line in bytes, if what the program writes comes line by line; a longer one comes in pieces.
  // 0: it comes as it is read, up to 64 KiB at a time. Up to 16 MiB.
  int lines = 0;

  // Who gets PortData and PortExit; nobody's: the parent. To be named for the child of a supervisor, which has no use
  // for them, and for a port that Node::Spawn starts and whose output or errors are piped, since it has no parent.
  gen::PID owner = {};
  // Messages, whoever has sent them, that may wait in the owner's mailbox or be put aside there. With as many the
  // port reads no more, so that the program comes to wait when its pipe is full. It counts for each of the two
  // streams. A smaller bound of that mailbox takes its place. 1 or more.
  int window = 64;

  // How long the program may go on after it was asked to end, 0 or more; then it is killed. gen::kInfinite: as
  // long as it likes.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
};

}  // namespace ergon::node
