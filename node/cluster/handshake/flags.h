// The flags of the Erlang distribution protocol, by which nodes tell each other what they understand.
#pragma once

#include <cstdint>
#include <string>

namespace ergon::dist {

inline constexpr std::uint64_t kFlagPublished = 0x1;  // the node is not hidden
inline constexpr std::uint64_t kFlagExtendedReferences = 0x4;
inline constexpr std::uint64_t kFlagDistMonitor = 0x8;
inline constexpr std::uint64_t kFlagFunTags = 0x10;
inline constexpr std::uint64_t kFlagDistMonitorName = 0x20;
// Both are needed for monitors: a peer without one of them neither sends nor takes their signals.
inline constexpr std::uint64_t kFlagsOfMonitors = kFlagDistMonitor | kFlagDistMonitorName;
inline constexpr std::uint64_t kFlagNewFunTags = 0x80;
inline constexpr std::uint64_t kFlagExtendedPidsPorts = 0x100;
inline constexpr std::uint64_t kFlagExportPtrTag = 0x200;
inline constexpr std::uint64_t kFlagBitBinaries = 0x400;
inline constexpr std::uint64_t kFlagNewFloats = 0x800;
inline constexpr std::uint64_t kFlagUnicodeIo = 0x1000;
inline constexpr std::uint64_t kFlagSmallAtomTags = 0x4000;
inline constexpr std::uint64_t kFlagUtf8Atoms = 0x10000;
inline constexpr std::uint64_t kFlagMapTag = 0x20000;
inline constexpr std::uint64_t kFlagBigCreation = 0x40000;
inline constexpr std::uint64_t kFlagSendSender = 0x80000;
// Any term may be the label of a trace token (BIG_SEQTRACE_LABELS): a node without gets none, as a label may be too big
// for it.
inline constexpr std::uint64_t kFlagBigTraceLabels = 0x100000;
inline constexpr std::uint64_t kFlagExitPayload = 0x400000;
inline constexpr std::uint64_t kFlagHandshake23 = 0x1000000;
inline constexpr std::uint64_t kFlagUnlinkId = 0x2000000;
// Stands for all flags that OTP 25 requires.
inline constexpr std::uint64_t kFlagMandatory25Digest = 0x4000000;
inline constexpr std::uint64_t kFlagSpawn = std::uint64_t{1} << 32;
// The node has no name of its own and asks for one.
inline constexpr std::uint64_t kFlagNameMe = std::uint64_t{1} << 33;
inline constexpr std::uint64_t kFlagV4Nc = std::uint64_t{1} << 34;
inline constexpr std::uint64_t kFlagAlias = std::uint64_t{1} << 35;
// Ours: the node understands the messages of ergon_messages.h. Erlang does not know the flag, and ignores it.
inline constexpr std::uint64_t kFlagErgon = std::uint64_t{1} << 62;
// Ours, with kFlagErgon: the node says which types it packs, and wants to hear it (packed_types.h).
inline constexpr std::uint64_t kFlagPacks = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kFlagsOfPacks = kFlagErgon | kFlagPacks;

// The flags without which OTP 25 does not connect.
inline constexpr std::uint64_t kFlagsOfOtp25 =
    kFlagExtendedReferences | kFlagFunTags | kFlagNewFunTags | kFlagExtendedPidsPorts |
    kFlagExportPtrTag | kFlagBitBinaries | kFlagNewFloats | kFlagUtf8Atoms | kFlagMapTag |
    kFlagBigCreation | kFlagHandshake23;
// The flags without which we do not connect: our PIDs have 64 bits (kFlagV4Nc), and links end with an
// acknowledgement (kFlagUnlinkId). OTP has all of them since version 24, and requires them since 26.
inline constexpr std::uint64_t kFlagsNeeded = kFlagsOfOtp25 | kFlagUnlinkId | kFlagV4Nc;

// The flags of what we understand. A hidden node is without kFlagPublished; without fragments and an atom cache
// there is no distribution header.
inline constexpr std::uint64_t kOwnFlags =
    kFlagsNeeded | kFlagMandatory25Digest | kFlagDistMonitor | kFlagDistMonitorName |
    kFlagUnicodeIo | kFlagSmallAtomTags | kFlagSendSender | kFlagBigTraceLabels | kFlagExitPayload |
    kFlagSpawn | kFlagAlias | kFlagErgon | kFlagPacks;
static_assert(kOwnFlags == 0x6000'000d'075f'5fbc);

// Adds the flags that kFlagMandatory25Digest stands for, if it is set.
[[nodiscard]] constexpr std::uint64_t ExpandFlags(std::uint64_t flags) {
  return (flags & kFlagMandatory25Digest) != 0 ? flags | kFlagsOfOtp25 : flags;
}

// Returns the names of the kFlagsNeeded that are not in `flags`, as in "MAP_TAG, V4_NC"; empty if all are.
[[nodiscard]] std::string MissingFlags(std::uint64_t flags);

}  // namespace ergon::dist
