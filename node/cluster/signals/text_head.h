// The head of a message that is a text.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/gen/pid.h>

namespace ergon::dist {

// Returns what stands before the text in the frame of a message from one process to another: what OpenMessage, a
// binary's head and CloseFrame write. The lengths of a text of 4 GiB or more are wrong: the caller sends none.
//
// The memory belongs to the calling thread and is used again by its next call: until then the caller must not suspend
// its process, nor call a user's code. A stream of messages between the same two processes has the same head each time,
// in which only the two lengths change.
[[nodiscard]] std::string_view TextHead(const gen::PID& from, const gen::PID& to,
                                        std::size_t text_bytes);

}  // namespace ergon::dist
