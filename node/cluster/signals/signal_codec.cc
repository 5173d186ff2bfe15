#include <ergon/node/cluster/signals/signal_codec.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/control_tags.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/operations.h>
#include <ergon/node/cluster/signals/signal_reader.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

// Takes a version byte and a term from the front of `bytes`. `what` is the term's name for people.
gen::Result<std::string_view> TakeTerm(std::string_view& bytes, std::string_view what,
                                       std::size_t max_depth) {
  if (static_cast<std::uint8_t>(bytes.front()) != kVersionByte) {
    return NoSignal(fmt::format("{}: begins with {}, not with the version {}", what,
                                static_cast<std::uint8_t>(bytes.front()), kVersionByte));
  }
  const auto size = CheckTerm(bytes.substr(1), max_depth);
  if (!size) return NoSignal(fmt::format("{}: {}", what, size.error().detail()));
  const std::string_view term = bytes.substr(1, *size);
  bytes.remove_prefix(1 + *size);
  return term;
}

// An operation without a trace token, and the same with one, which the caller appends.
struct TwoOperations {
  Operation plain;
  Operation traced;
};
FrameWriter& BeginWith(FrameWriter& frame, TwoOperations operations, std::size_t elements,
                       std::string_view token) {
  return token.empty() ? frame.Begin(operations.plain, elements)
                       : frame.Begin(operations.traced, elements + 1);
}

void WriteWithReason(FrameWriter& frame, const Signal& signal, std::string_view token,
                     std::uint64_t flags, TwoOperations with_payload, TwoOperations older) {
  if ((flags & kFlagExitPayload) != 0) {
    BeginWith(frame, with_payload, 2, token).Pid(signal.from).Pid(signal.to).Term(token);
    frame.Payload(signal.payload);
  } else {
    BeginWith(frame, older, 3, token).Pid(signal.from).Pid(signal.to).Term(token);
    frame.Term(signal.payload);
  }
}

// The empty atom is a name, too: an Erlang process may monitor it, and gets it back in the answer.
FrameWriter& AppendPidOrName(FrameWriter& frame, const gen::PID& pid, std::string_view name) {
  return pid.node.empty() ? frame.Atom(name) : frame.Pid(pid);
}

// A sender's PID. Nobody is a PID of no node; its creation must not be 0, which means any incarnation.
FrameWriter& AppendSender(FrameWriter& frame, gen::PID from) {
  if (from.node.empty()) from = {.id = 0, .node = {}, .creation = 1};
  return frame.Pid(from);
}

// The control tuples of messages. `from` may be empty.
void WriteSend(FrameWriter& frame, const gen::PID& from, const gen::PID& to,
               std::string_view token) {
  if (!from.node.empty()) {
    BeginWith(frame, {Operation::kSendFrom, Operation::kSendFromTraced}, 2, token).Pid(from);
  } else {
    BeginWith(frame, {Operation::kSend, Operation::kSendTraced}, 2, token).Atom({});
  }
  frame.Pid(to).Term(token);
}
void WriteSendToName(FrameWriter& frame, const gen::PID& from, std::string_view name,
                     std::string_view token) {
  BeginWith(frame, {Operation::kSendToName, Operation::kSendToNameTraced}, 3, token);
  AppendSender(frame, from).Atom({}).Atom(name).Term(token);
}
void WriteSendToAlias(FrameWriter& frame, const gen::PID& from, std::string_view reference,
                      std::string_view token) {
  BeginWith(frame, {Operation::kSendToAlias, Operation::kSendToAliasTraced}, 2, token);
  AppendSender(frame, from).Term(reference).Term(token);
}

void WriteSpawnRequest(FrameWriter& frame, const Signal& signal, std::string_view token) {
  BeginWith(frame, {Operation::kSpawnRequest, Operation::kSpawnRequestTraced}, 5, token);
  // The caller is also the group leader: only processes of this node can be written here.
  frame.Term(signal.ref).Pid(signal.from).Pid(signal.from);
  frame.Tuple(3).Atom(signal.module).Atom(signal.function).Number(signal.arity);
  frame.Options(signal.links).Term(token).Payload(signal.payload);
}
void WriteSpawnReply(FrameWriter& frame, const Signal& signal, std::string_view token) {
  BeginWith(frame, {Operation::kSpawnReply, Operation::kSpawnReplyTraced}, 4, token);
  frame.Term(signal.ref).Pid(signal.to).Number(signal.links);
  signal.from.node.empty() ? frame.Term(signal.payload) : frame.Pid(signal.from);
  frame.Term(token);
}

void WriteDown(FrameWriter& frame, const Signal& signal, std::uint64_t flags) {
  const bool as_payload = (flags & kFlagExitPayload) != 0;
  frame.Begin(as_payload ? Operation::kDownPayload : Operation::kDown, as_payload ? 3 : 4);
  AppendPidOrName(frame, signal.from, signal.name).Pid(signal.to).Term(signal.ref);
  as_payload ? frame.Payload(signal.payload) : frame.Term(signal.payload);
}

// Some nodes of C and Java close the connection at a signal that they do not know. Erlang sends them none either, and
// tells nobody of it.
bool IsKnownTo(std::uint64_t flags, SignalKind kind) {
  switch (kind) {
    case SignalKind::kMonitor:
    case SignalKind::kDemonitor:
    case SignalKind::kDown:
      return (flags & kFlagsOfMonitors) == kFlagsOfMonitors;
    case SignalKind::kSpawnRequest:
      return (flags & kFlagSpawn) != 0;
    default:
      return kind != SignalKind::kUnknown;
  }
}

}  // namespace

void AppendFrame(std::string& out, const Signal& signal, std::uint64_t flags) {
  if (!IsKnownTo(flags, signal.kind)) return;
  const std::string_view token =
      (flags & kFlagBigTraceLabels) != 0 ? signal.token : std::string_view();
  FrameWriter frame(out, signal.name.size() + signal.ref.size() + signal.payload.size() +
                             signal.module.size() + signal.function.size() + token.size());
  switch (signal.kind) {
    case SignalKind::kSend:
      WriteSend(frame, (flags & kFlagSendSender) != 0 ? signal.from : gen::PID(), signal.to, token);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kSendToName:
      WriteSendToName(frame, signal.from, signal.name, token);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kSendToAlias:
      WriteSendToAlias(frame, signal.from, signal.ref, token);
      frame.Payload(signal.payload);
      return;
    case SignalKind::kLink:
      frame.Begin(Operation::kLink, 2).Pid(signal.from).Pid(signal.to);
      return;
    case SignalKind::kUnlink:
    case SignalKind::kUnlinkAck:
      frame.Begin(signal.kind == SignalKind::kUnlink ? Operation::kUnlink : Operation::kUnlinkAck,
                  3);
      frame.Number(signal.id).Pid(signal.from).Pid(signal.to);
      return;
    case SignalKind::kExit:
      WriteWithReason(frame, signal, token, flags,
                      {Operation::kExitPayload, Operation::kExitPayloadTraced},
                      {Operation::kExit, Operation::kExitTraced});
      return;
    case SignalKind::kExitRequest:
      WriteWithReason(frame, signal, token, flags,
                      {Operation::kExitRequestPayload, Operation::kExitRequestPayloadTraced},
                      {Operation::kExitRequest, Operation::kExitRequestTraced});
      return;
    case SignalKind::kMonitor:
    case SignalKind::kDemonitor:
      frame.Begin(signal.kind == SignalKind::kMonitor ? Operation::kMonitor : Operation::kDemonitor,
                  3);
      AppendPidOrName(frame.Pid(signal.from), signal.to, signal.name).Term(signal.ref);
      return;
    case SignalKind::kDown:
      WriteDown(frame, signal, flags);
      return;
    case SignalKind::kSpawnRequest:
      WriteSpawnRequest(frame, signal, token);
      return;
    case SignalKind::kSpawnReply:
      WriteSpawnReply(frame, signal, token);
      return;
    case SignalKind::kUnknown:
      return;
  }
}

void OpenMessage(std::string& out, const gen::PID& from, const gen::PID& to,
                 std::string_view token) {
  FrameWriter frame(out, token.size());
  WriteSend(frame, from, to, token);
  frame.Payload({});
}

void OpenMessageToName(std::string& out, const gen::PID& from, std::string_view name,
                       std::string_view token) {
  FrameWriter frame(out, name.size() + token.size());
  WriteSendToName(frame, from, name, token);
  frame.Payload({});
}

void OpenMessageToAlias(std::string& out, const gen::PID& from, std::string_view reference,
                        std::string_view token) {
  FrameWriter frame(out, reference.size() + token.size());
  WriteSendToAlias(frame, from, reference, token);
  frame.Payload({});
}

void AppendTick(std::string& out) { out.append(kFrameLengthBytes, '\0'); }

gen::Result<void> TakePayload(std::string_view rest, std::size_t max_depth, Signal& signal) {
  signal.is_deep = false;
  if (IsOneBinary(rest)) [[likely]] {
    signal.payload = rest.substr(1);
    return {};
  }
  auto payload = TakeTerm(rest, "message", max_depth);
  if (!payload) {
    const auto deeper = TakeTerm(rest, "message", max_depth + kLevelsAround);
    if (!deeper) return std::move(payload.error());
    signal.is_deep = true;
    payload = *deeper;
  }
  if (!rest.empty()) return NoSignal(fmt::format("{} bytes behind the message", rest.size()));
  signal.payload = *payload;
  return {};
}

void ThrowTooDeep(std::size_t max_depth) {
  throw std::runtime_error(
      fmt::format("it sent a term with a level deeper than {} (max_term_depth)", max_depth));
}

gen::Result<Signal> ParseFrame(std::string_view frame, const Peers& peers, std::size_t max_depth) {
  if (frame.size() < 2) return NoSignal(fmt::format("a frame of {} bytes", frame.size()));
  if (static_cast<std::uint8_t>(frame.front()) != kPassThroughFrame) {
    return NoSignal(fmt::format("a frame that begins with {}: this node understands {} only",
                                static_cast<std::uint8_t>(frame.front()), kPassThroughFrame));
  }
  std::string_view rest = frame.substr(1);
  {
    Signal message;
    if (ReadMessageHead(rest, peers, max_depth, message)) {
      auto taken = TakePayload(rest, max_depth, message);
      if (!taken) return std::move(taken.error());
      return message;
    }
  }
  const std::size_t control_depth = std::max(max_depth, kLevelsOfControl);
  const auto control = TakeTerm(rest, "control", control_depth);
  if (!control) return control.error();
  const bool has_payload = !rest.empty();
  Signal message;
  if (has_payload) {
    auto taken = TakePayload(rest, max_depth, message);
    if (!taken) return std::move(taken.error());
  }
  auto signal = ReadControl(*control, peers, control_depth, has_payload);
  if (signal && has_payload) {
    signal->payload = message.payload;
    signal->is_deep = message.is_deep;
  }
  return signal;
}

}  // namespace ergon::dist
