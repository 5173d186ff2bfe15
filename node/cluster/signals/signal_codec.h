// Signals of the Erlang distribution protocol in frames, as they are on the wire. Pure: no socket, no
// clock, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/pid_head.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Appends the frame of a signal, its length first: what is written to the socket as it is. `flags`
// are those that both sides understand (see flags.h): an older peer gets the older form of kSend,
// kExit, kExitRequest and kDown, and no trace token. All that the kind tells of has to be there, except the sender of a
// kSend. kUnknown: nothing is appended. The caller has limits for its terms: a frame has less than
// 4 GiB, a name less than 64 KiB. Throws std::bad_alloc; `out` is as before then.
void AppendFrame(std::string& out, const Signal& signal, std::uint64_t flags);
// The frame of a message to the process `to`, to the one with the name `name`, or to the alias `reference`, as AppendFrame
// writes it for nodes of today: the caller appends the payload, and calls CloseFrame (frame_writer.h). Without a sender if
// `from` has no node. `token`: as Signal::token.
void OpenMessage(std::string& out, const gen::PID& from, const gen::PID& to,
                 std::string_view token = {});
void OpenMessageToName(std::string& out, const gen::PID& from, std::string_view name,
                       std::string_view token = {});
void OpenMessageToAlias(std::string& out, const gen::PID& from, std::string_view reference,
                        std::string_view token = {});
// A frame of length 0.
void AppendTick(std::string& out);

// The signal in a frame (without its length). Checks all of it, payload included, before anything
// is read: terms nested deeper than `max_depth`, lengths beyond the frame, PIDs of the wrong node
// and what is no signal at all are errors (kIncorrect) that say what was found where; the
// connection has to be closed then. Makes no atoms.
//
// `to` is a process of our node, of any incarnation: one of a former incarnation is nobody. `from`
// is one of the peer. Only messages may be passed on, so that theirs is anybody's: empty if this
// program has no atom of that node. The group leader of a kSpawnRequest is left out, and so are the
// options that are not in `links`.
//
// Operations with a trace token (seq_trace) give the same signals as those without, but for that.
[[nodiscard]] gen::Result<Signal> ParseFrame(std::string_view frame, const Peers& peers,
                                             std::size_t max_depth);
// The message behind the control tuple, where the rest of a frame is. `rest` begins with the version byte and is not
// empty; the result is without that byte. Errors as above.
[[nodiscard]] gen::Result<std::string_view> TakePayload(std::string_view rest,
                                                        std::size_t max_depth);

}  // namespace ergon::dist
