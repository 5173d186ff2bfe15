#include <ergon/node/cluster/values/packed_types.h>

#include <limits>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

// A packed value is a bit string whose last byte has all eight bits, which only Ergon writes: the bytes of a
// std::string are a binary, which has another tag. Behind the head come these bytes, and the fingerprint of the type.
constexpr std::size_t kLengthAt = 1;
constexpr std::size_t kHeadBytes = kLengthAt + 4 + 1;
constexpr char kAllBits = 8;
constexpr std::string_view kMark = "ergo";
constexpr std::size_t kFingerprintAt = kHeadBytes + kMark.size();
constexpr std::size_t kValueAt = kFingerprintAt + sizeof(std::uint64_t);
constexpr std::size_t kTextOfProblem = 500;

// In a catch (...): returns what was wrong, in one line. The texts of cereal have several lines, and names that the
// peer has chosen.
std::string ProblemText() {
  std::string text = core::ThrownText();
  if (text.size() > kTextOfProblem) text.resize(kTextOfProblem);
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') byte = ' ';
  }
  return text;
}

}  // namespace

const PackedTypes::Type* PackedTypes::Add(const WireType& type) {
  Type& added = types_.emplace_back();
  added.name = type.name;
  added.how = *type.packed;
  added.type = type.type;
  added.priority = type.priority;
  added.index = types_.size() - 1;
  by_name_.emplace(added.name, &added);
  by_fingerprint_.emplace(added.how.fingerprint, &added);
  return &added;
}

const PackedTypes::Type* PackedTypes::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

gen::Result<void> PackedTypes::Append(std::string& out, const Type& type, const void* value) {
  const std::size_t begin = out.size();
  char head[kValueAt] = {static_cast<char>(TermTag::kBitBinary), 0, 0, 0, 0, kAllBits};
  kMark.copy(head + kHeadBytes, kMark.size());
  WriteBigEndian(head + kFingerprintAt, type.how.fingerprint);
  std::string why;
  try {
    out.append(head, sizeof(head));
    type.how.pack(out, value);
    const std::size_t size = out.size() - begin - kHeadBytes;
    if (size <= std::numeric_limits<std::uint32_t>::max()) {
      WriteBigEndian(out.data() + begin + kLengthAt, static_cast<std::uint32_t>(size));
      return {};
    }
    why = fmt::format("{} bytes: at most {} are possible", size,
                      std::numeric_limits<std::uint32_t>::max());
  } catch (...) {
    why = ProblemText();
  }
  out.resize(begin);
  return gen::Error(gen::ErrorCode::kIncorrect, fmt::format("{}: {}", type.type->TagOrName(), why));
}

bool PackedTypes::IsPacked(std::string_view term) noexcept {
  return term.size() >= kValueAt && term.front() == static_cast<char>(TermTag::kBitBinary) &&
         term[kHeadBytes - 1] == kAllBits && term.substr(kHeadBytes, kMark.size()) == kMark;
}

const PackedTypes::Type* PackedTypes::FindIn(std::string_view term) const {
  const auto found =
      by_fingerprint_.find(ReadBigEndian<std::uint64_t>(term.substr(kFingerprintAt)));
  return found == by_fingerprint_.end() ? nullptr : found->second;
}

gen::Error PackedTypes::WhyNoType() {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    "a packed value of a type that is not packed here, or in another way");
}

gen::Result<core::EnvelopePtr> PackedTypes::Read(const Type& type, std::string_view term,
                                                 const ReadLimits& limits, std::uint8_t kind,
                                                 core::EnvelopeNumbers numbers) {
  try {
    core::EnvelopePtr message = type.how.unpack(term.substr(kValueAt), limits, kind, numbers);
    GivePriority(*message, type.priority);
    return message;
  } catch (...) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {}", type.type->TagOrName(), ProblemText()));
  }
}

void PackedTypes::AppendAll(std::string& out) const {
  TermWriter writer(out);
  if (!types_.empty()) writer.List(types_.size());
  for (const Type& type : types_) {
    writer.Tuple(3);
    writer.Binary(type.name);
    writer.Unsigned(type.how.version);
    writer.Unsigned(type.how.fingerprint);
  }
  writer.Nil();
}

gen::Result<PeerPacks> PackedTypes::Compare(std::string_view list, std::size_t max_depth) const {
  std::vector<PeerPacks::Entry> entries(types_.size());
  ControlReader reader(list, max_depth);
  std::size_t size = 0;
  if (!reader.ReadList(size) && !reader.ReadEmptyList()) {
    return gen::Error(gen::ErrorCode::kIncorrect, "no list of types");
  }
  for (; size != 0; --size) {
    std::size_t elements = 0;
    std::string_view term;
    std::string_view name;
    std::uint64_t version = 0;
    std::uint64_t fingerprint = 0;
    if (!reader.ReadTuple(elements) || elements != 3 || !reader.ReadTerm(term) ||
        !TermReader(term).ReadBinary(name) || !reader.ReadNumber(version) ||
        version > std::numeric_limits<std::uint32_t>::max() || !reader.ReadNumber(fingerprint)) {
      return gen::Error(gen::ErrorCode::kIncorrect, "a list with an element that is no type");
    }
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    const Type& own = *found->second;
    PeerPacks::Entry& entry = entries[own.index];
    entry.version = static_cast<std::uint32_t>(version);
    entry.what = version != own.how.version           ? PeerPacks::What::kOtherVersion
                 : fingerprint != own.how.fingerprint ? PeerPacks::What::kOtherFields
                                                      : PeerPacks::What::kTheSame;
  }
  return PeerPacks(std::move(entries));
}

gen::Result<Form> PackedTypes::FormFor(const Type& type, bool is_term_too, const PeerPacks& peer,
                                       bool may_say, gen::Atom node) {
  const PeerPacks::Entry entry = peer.Of(type.index);
  switch (entry.what) {
    case PeerPacks::What::kTheSame:
      return Form::kPacked;
    case PeerPacks::What::kOtherVersion:
      return gen::Error(gen::ErrorCode::kIncorrect,
                        fmt::format("{}: version {} of it here, version {} on {}",
                                    type.type->TagOrName(), type.how.version, entry.version, node));
    case PeerPacks::What::kOtherFields:
      if (is_term_too) return Form::kTerm;
      return gen::Error(gen::ErrorCode::kIncorrect,
                        fmt::format("{}: version {} of it here and on {}, but with other fields",
                                    type.type->TagOrName(), entry.version, node));
    case PeerPacks::What::kNothing:
      break;
  }
  if (is_term_too) return Form::kTerm;
  if (may_say) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("{} has not said yet which types it packs", node));
  }
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{} is packed only (dist::Cereal), and {} does not know it so",
                                type.type->TagOrName(), node));
}

}  // namespace ergon::dist
