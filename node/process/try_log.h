// Lines about a process that is about to end.
#pragma once

namespace ergon::node {

// Calls `line`, which writes a line to the log. Without memory for it the line is left out: the end goes on.
template <class Line>
void TryLog(const Line& line) noexcept {
  try {
    line();
  } catch (...) {  // nobody could be told either
  }
}

}  // namespace ergon::node
