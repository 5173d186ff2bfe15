// How a program of the operating system is started as a process of the node; see port.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::node {

// Where one of the program's three standard streams leads.
enum class PortStream : std::uint8_t {
  kPipe,  // to the node: PortInput, or PortData
  kInherit,  // where this program's own stream leads. A terminal can only be written to: the program is not in
             // the foreground, and the system stops it when it reads from the terminal
  kNull,      // to /dev/null
  kAsOutput,  // errors only: where the output leads, in the order in which the program writes
};

struct PortOptions {
  // The path of the program, or a name without a slash, which is looked up in the folders of this program's PATH. Not
  // empty. A relative path is relative to `directory`.
  std::string program = {};
  // The arguments, without the name of the program itself. No shell sees them, so nothing has to be quoted.
  std::vector<std::string> arguments = {};
  // Variables of the program's environment, which also has this program's variables that are not named here.
  std::map<std::string, std::string> environment = {};
  // True: the environment has only the variables of `environment`.
  bool clear_environment = false;
  // The directory in which the program runs; empty: this program's directory.
  std::string directory = {};

  PortStream input = PortStream::kPipe;
  PortStream output = PortStream::kPipe;
  PortStream errors = PortStream::kInherit;

  // If not 0, the output comes line by line, and this is the longest line in bytes, up to 16 MiB; a longer line comes
  // in pieces. 0: the output comes as it is read, up to 64 KiB at a time.
  int lines = 0;

  // The process that gets PortData and PortExit; PID(): the parent. Set it for a child of a supervisor, because a
  // supervisor has no use for these messages, and for a port that Node::Spawn starts and whose output or errors are
  // piped, because such a port has no parent.
  gen::PID owner = {};
  // How many messages of any senders may wait in the owner's mailbox or be stashed there, 1 or more. When there are as
  // many, the port reads no more, and the program waits when its pipe is full. The number counts for each of the two
  // streams. A smaller bound of the mailbox takes its place.
  int window = 64;

  // How long the program may go on after it was asked to end, 0 or more; then it is killed. gen::kInfinite: it is
  // never killed.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
};

}  // namespace ergon::node
