// The end of standard input as a reason to stop, for a program that another one starts.
//
// A port of Erlang or Elixir closes the standard input of its program when the port ends, however that happens: by a
// supervisor, with its owner, or because the whole virtual machine was killed. A program that stops then is never left
// behind:
//
//   auto node = node::Start("cpp@127.0.0.1", options);
//   if (const auto watch = node::StopAtEndOfInput(*node); !watch) return Fail(watch.error());
//   node->Wait();
#pragma once

#include <ergon/gen/node.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Spawns a process that stops the node when the program's standard input has ended, and returns its PID. What comes in
// before is dropped, so nobody else may read the input. A regular file is read to its end, and then the node stops; if
// standard input cannot be read, the node stops at once. As long as the process lives, the input is non-blocking, also
// for other programs that have it. If this process itself is stopped or killed, the node goes on. Any thread, but as
// gen::Node::Spawn not in a handler: kNotAllowed. Once for a program. Errors: those of gen::Node::Spawn.
[[nodiscard]] gen::Result<gen::PID> StopAtEndOfInput(gen::Node& node);

}  // namespace ergon::node
