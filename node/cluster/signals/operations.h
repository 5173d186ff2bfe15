// The operations of the Erlang distribution protocol: the control tuples of the signals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

enum class Operation : std::uint8_t {
  kLink = 1,
  kSend = 2,
  kExit = 3,
  kSendToName = 6,
  kExitRequest = 8,
  kSendTraced = 12,
  kExitTraced = 13,
  kSendToNameTraced = 16,
  kExitRequestTraced = 18,
  kMonitor = 19,
  kDemonitor = 20,
  kDown = 21,
  kSendFrom = 22,
  kSendFromTraced = 23,
  kExitPayload = 24,
  kExitPayloadTraced = 25,
  kExitRequestPayload = 26,
  kExitRequestPayloadTraced = 27,
  kDownPayload = 28,
  kSpawnRequest = 29,
  kSpawnRequestTraced = 30,
  kSpawnReply = 31,
  kSpawnReplyTraced = 32,
  kSendToAlias = 33,
  kSendToAliasTraced = 34,
  kUnlink = 35,
  kUnlinkAck = 36,
};

// What an element of a control tuple is.
enum class Element : std::uint8_t {
  kNone,     // there are no more
  kIgnored,  // any term: a cookie, a group leader
  kSender,   // PID of the sender of a message
  kFrom,     // PID of the sender of another signal
  kTo,       // PID
  kToOrName,
  kFromOrName,
  kName,
  kReference,
  kId,
  kReason,    // a payload within the tuple
  kFunction,  // {Module, Function, Arity}
  kOptions,   // of spawn_request
  kLinks,     // a number
  kStarted,   // the PID of a new process, or an atom
  kToken,     // a trace token
};

// `elements` are the elements behind the operation's number. If `has_payload` is true, another term follows the tuple.
struct OperationForm {
  static constexpr std::size_t kMostElements = 6;
  SignalKind kind = SignalKind::kUnknown;
  std::array<Element, kMostElements> elements{};
  bool has_payload = false;
};

// Returns the operation with that number; its kind is kUnknown if there is none.
[[nodiscard]] const OperationForm& FormOf(std::uint64_t number) noexcept;

}  // namespace ergon::dist
