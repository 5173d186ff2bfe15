// Signals of the Erlang distribution protocol in frames, as they are on the wire. Pure functions, without sockets,
// clocks and state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/pid_head.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {

// Appends the frame of a signal with its length in front, ready for the socket. `flags` are those that both sides
// understand (see flags.h): an older peer gets the older form of kSend, kExit, kExitRequest and kDown, and no trace
// token. Nothing is appended for kUnknown, and for what a peer without the flag would not understand: kMonitor,
// kDemonitor, kDown and kSpawnRequest. The signal has all fields of its kind; only a kSend may have no sender. The
// caller limits its terms: a frame has less than 4 GiB, a name less than 64 KiB. Throws std::bad_alloc; `out` is as
// before then.
void AppendFrame(std::string& out, const Signal& signal, std::uint64_t flags);
// These begin the frame of a message, as AppendFrame writes it for nodes of today: to the process `to`, to the process
// with the name `name`, or to the alias `reference`. The caller appends the payload and calls CloseFrame
// (frame_writer.h). If `from` has no node, the message has no sender. `token` is what Signal::token is.
void OpenMessage(std::string& out, const gen::PID& from, const gen::PID& to,
                 std::string_view token = {});
void OpenMessageToName(std::string& out, const gen::PID& from, std::string_view name,
                       std::string_view token = {});
void OpenMessageToAlias(std::string& out, const gen::PID& from, std::string_view reference,
                        std::string_view token = {});
// Appends a frame of length 0.
void AppendTick(std::string& out);

// Returns the signal in a frame, which is given without its length. The whole frame is checked before anything is read,
// the payload too. Returns kIncorrect, with a text that says what was found where, for terms nested deeper than
// `max_depth`, lengths beyond the frame, PIDs of the wrong node, and bytes that are no signal; the connection has to be
// closed then. Makes no atoms. A message may have kLevelsAround more levels, which Signal::is_deep says: who handles it
// checks the value in it, and calls ThrowTooDeep if that is too deep.
//
// `to` is a process of this node, of any incarnation; no process has the PID of a former one. `from` is a process of
// the peer. Only a message that was passed on has a sender of another node: `from` has no node if this program has no
// atom of that node's name, which is unknown_node. The group leader of a kSpawnRequest is left out, and so are the
// options that are not in `links`.
//
// An operation with a trace token (seq_trace) gives the same signal as the operation without, and the token.
[[nodiscard]] gen::Result<Signal> ParseFrame(std::string_view frame, const Peers& peers,
                                             std::size_t max_depth);
// Returns whether the bytes are what most messages are: a version byte and one binary, as of a string or a packed
// value. The length of the binary shows that nothing follows.
[[nodiscard]] inline bool IsOneBinary(std::string_view bytes) noexcept {
  constexpr std::size_t kBinaryHeadBytes = 2 + 4;
  if (bytes.size() <= kBinaryHeadBytes || bytes[0] != kTermVersion) return false;
  const std::size_t size = ReadBigEndian<std::uint32_t>(bytes.substr(2));
  const TermTag tag{static_cast<std::uint8_t>(bytes[1])};
  if (tag == TermTag::kBinary) return bytes.size() == kBinaryHeadBytes + size;
  return tag == TermTag::kBitBinary && size != 0 && bytes.size() == kBinaryHeadBytes + 1 + size &&
         bytes[kBinaryHeadBytes] == 8;
}
// Takes the message behind the control tuple as the payload of the signal. `rest` is the rest of the frame, which is
// not empty and begins with the version byte; the payload is without that byte. Has the errors of ParseFrame.
[[nodiscard]] gen::Result<void> TakePayload(std::string_view rest, std::size_t max_depth,
                                            Signal& signal);
// Ends the connection of who has sent it: called by who handles a signal, on the thread of the network.
[[noreturn]] void ThrowTooDeep(std::size_t max_depth);

}  // namespace ergon::dist
