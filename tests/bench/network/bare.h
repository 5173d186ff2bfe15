// What loopback moves without an actor: Asio and the framing of a message, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ergon::bench {

struct BareOptions {
  std::uint16_t port = 0;
  std::int64_t count = 0;
  std::size_t frame_bytes = 0;  // with the four of its length
  std::size_t write_bytes = 0;  // of one write, about
};

// Counts the frames of whoever connects, and says how many there were when no more come. Prints "ready PORT"; ends with
// its standard input.
void ServeBare();

// The nanoseconds of one frame, until the other side has told that it has all. Throws std::runtime_error.
double MeasureBare(const BareOptions& options);

// The bytes of the frame that a node sends for one of the messages that are measured, between nodes with these names.
std::size_t FrameBytes(const char* from, const char* to);

}  // namespace ergon::bench
