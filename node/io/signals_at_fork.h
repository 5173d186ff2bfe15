// Signals that nodes catch, in a child made by fork().
#pragma once

#include <span>

namespace ergon::node {

// From now on these signals, which Asio catches, have their default effect in a child made by fork(), until a node of its
// own catches them. Else a signal to the child would be taken by the node of its parent: both have the pipe that Asio's
// handler writes to. Any thread.
void LeaveToForks(std::span<const int> signals);

}  // namespace ergon::node
