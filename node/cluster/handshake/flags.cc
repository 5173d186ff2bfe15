#include <ergon/node/cluster/handshake/flags.h>

#include <string_view>
#include <utility>

namespace ergon::dist {
namespace {

constexpr std::pair<std::uint64_t, std::string_view> kNamesOfNeededFlags[] = {
    {kFlagExtendedReferences, "EXTENDED_REFERENCES"},
    {kFlagFunTags, "FUN_TAGS"},
    {kFlagNewFunTags, "NEW_FUN_TAGS"},
    {kFlagExtendedPidsPorts, "EXTENDED_PIDS_PORTS"},
    {kFlagExportPtrTag, "EXPORT_PTR_TAG"},
    {kFlagBitBinaries, "BIT_BINARIES"},
    {kFlagNewFloats, "NEW_FLOATS"},
    {kFlagUtf8Atoms, "UTF8_ATOMS"},
    {kFlagMapTag, "MAP_TAG"},
    {kFlagBigCreation, "BIG_CREATION"},
    {kFlagHandshake23, "HANDSHAKE_23"},
    {kFlagUnlinkId, "UNLINK_ID"},
    {kFlagV4Nc, "V4_NC"}};

constexpr std::uint64_t NamedFlags() {
  std::uint64_t flags = 0;
  for (const auto& [flag, name] : kNamesOfNeededFlags) flags |= flag;
  return flags;
}
static_assert(NamedFlags() == kFlagsNeeded);

}  // namespace

std::string MissingFlags(std::uint64_t flags) {
  std::string names;
  for (const auto& [flag, name] : kNamesOfNeededFlags) {
    if ((flags & flag) != 0) continue;
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace ergon::dist
