// A signal of the Erlang distribution protocol as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>

namespace ergon::dist {

enum class SignalKind : std::uint8_t {
  kSend,         // a message `payload` to the process `to`
  kSendToName,   // ... to the process with the registered name `name`
  kSendToAlias,  // ... to the process that has made the alias `ref`
  kLink,         // `from` links itself with `to`
  kUnlink,       // `from` ends the link; answered with kUnlinkAck of the same `id`, which is not 0
  kUnlinkAck,    // the link is gone
  kExit,         // `from` has ended with the reason `payload`, and was linked with `to`
  kExitRequest,  // `from` asks `to` to end with the reason `payload` (exit/2)
  kMonitor,    // `from` monitors `to`, or without a `to` the name `name`, with the reference `ref`
  kDemonitor,  // the end of that
  kDown,       // `from`, or without it the process with the name `name`, has ended with `payload`;
               // `to` has monitored it with `ref`
  kSpawnRequest,  // `from` asks for a process that runs `module`:`function`/`arity` with the list
                  // `payload` of arguments; `ref` identifies the request
  kSpawnReply,    // the answer to `to`: the process `from`, and its PID as `payload`; or without a
                  // `from` the atom `payload`, which says why there is none
  kUnknown,       // another operation, to be ignored; `id` is its number
};

// The texts are views of the frame that was parsed, or of memory of the caller. A PID is there if it has a node: its id
// may be 0 (Erlang's process `init`), and then the PID is false as a bool.
struct Signal {
  SignalKind kind = SignalKind::kUnknown;
  gen::PID from{};
  gen::PID to{};
  std::string_view name{};     // of a process, UTF-8
  std::string_view ref{};      // a reference, as a term (external format without the version byte)
  std::uint64_t id = 0;        // of kUnlink, kUnlinkAck and kUnknown
  std::string_view payload{};  // a term, as `ref`
  // Only of kSpawnRequest: the function that the new process runs, in UTF-8.
  std::string_view module{};
  std::string_view function{};
  std::uint32_t arity = 0;
  std::uint8_t links = 0;  // kSpawnRequest: what is asked for; kSpawnReply: what is done
  // Only of messages, exit signals and spawns: the trace token of Erlang's seq_trace, as a term (trace_token.h). Empty
  // if the signal has no token.
  std::string_view token{};
  // The trace id that the token stands for on this node; 0 if there is none. A signal that is to be sent with a trace
  // id has no token yet.
  gen::TraceId trace = 0;
  // True if the sender of a message is of another node than the peer. If the program has no atom of that node's name,
  // `from` has no node, and this is the name.
  bool is_of_another = false;
  std::string_view unknown_node{};
  // True if the payload is deeper than a term of a peer may be, which only what is around a value may make it.
  bool is_deep = false;
};
// So many levels the protocol puts around a value at most, as in {'$gen_call', From, {call, Module, Function, [Value],
// Leader}}, and around a value of an event's buffer: {Tag, {ok, [{Time, Value}]}}.
inline constexpr std::size_t kLevelsAround = 4;
// So many levels a signal's own terms may have in any case, whatever the limit for values is.
inline constexpr std::size_t kLevelsOfControl = 16;
// Bits of `links`.
inline constexpr std::uint8_t kLinked = 1;
inline constexpr std::uint8_t kMonitored = 2;  // with `ref`

}  // namespace ergon::dist
