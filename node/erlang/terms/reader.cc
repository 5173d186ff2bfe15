#include <ergon/node/erlang/terms/reader.h>

#include <ei.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

// What a charlist is made of, as terms of their own.
constexpr auto kSmallIntegers = [] {
  std::array<char, 512> terms{};
  for (std::size_t i = 0; i < 256; ++i) {
    terms[2 * i] = static_cast<char>(TermTag::kSmallInteger);
    terms[2 * i + 1] = static_cast<char>(static_cast<unsigned char>(i));
  }
  return terms;
}();
constexpr char kNilByte = static_cast<char>(TermTag::kNil);

// By what terms begin with.
constexpr auto kKinds = [] {
  std::array<TermKind, 256> kinds{};
  kinds.fill(TermKind::kNothing);
  const auto set = [&](TermKind kind, std::initializer_list<TermTag> tags) {
    for (const TermTag tag : tags) kinds[static_cast<std::uint8_t>(tag)] = kind;
  };
  set(TermKind::kInteger,
      {TermTag::kSmallInteger, TermTag::kInteger, TermTag::kSmallBig, TermTag::kLargeBig});
  set(TermKind::kFloat, {TermTag::kNewFloat, TermTag::kFloat});
  set(TermKind::kAtom,
      {TermTag::kAtom, TermTag::kSmallAtom, TermTag::kAtomUtf8, TermTag::kSmallAtomUtf8});
  set(TermKind::kBinary, {TermTag::kBinary});
  set(TermKind::kBitstring, {TermTag::kBitBinary});
  set(TermKind::kTuple, {TermTag::kSmallTuple, TermTag::kLargeTuple});
  set(TermKind::kList, {TermTag::kNil, TermTag::kString, TermTag::kList});
  set(TermKind::kMap, {TermTag::kMap});
  set(TermKind::kPid, {TermTag::kNewPid});
  set(TermKind::kPort, {TermTag::kNewPort, TermTag::kV4Port});
  set(TermKind::kReference, {TermTag::kNewerReference});
  set(TermKind::kFunction, {TermTag::kNewFunction, TermTag::kExport});
  return kinds;
}();

gen::Error Expected(TermKind kind) {
  return gen::Error(gen::ErrorCode::kIncorrect, fmt::format("expected {}", KindText(kind)));
}

gen::Result<gen::Atom> MakeAtom(AtomBudget* budget, std::string_view text) {
  return budget == nullptr ? AtomBudget::MakeUnlimited(text) : budget->Make(text);
}

}  // namespace

template <class T>
T TermReader::NumberAt(std::size_t offset) const noexcept {
  return ReadBigEndian<T>(bytes_.substr(at_ + offset));
}

TermKind TermReader::kind() const noexcept {
  if (InString()) return string_left_ == 1 ? TermKind::kList : TermKind::kInteger;
  if (AtEnd()) return TermKind::kNothing;
  return kKinds[static_cast<std::uint8_t>(bytes_[at_])];
}

void TermReader::LeaveStringByte() noexcept {
  if (string_left_ > 1) ++at_;
  --string_left_;
}

template <class Wide, class T>
bool TermReader::ReadWhole(int (*decode)(const char*, int*, Wide*), T& value) noexcept {
  if (kind() != TermKind::kInteger) return false;
  if (InString()) {
    value = static_cast<unsigned char>(bytes_[at_]);
    LeaveStringByte();
    return true;
  }
  // libei takes the number of digits for an int, and would read on in the middle of them.
  const bool is_large = TermTag{static_cast<std::uint8_t>(bytes_[at_])} == TermTag::kLargeBig;
  if (is_large && static_cast<std::uint8_t>(bytes_[at_ + 1]) > 0x7f) return false;
  int size = 0;
  Wide read = 0;
  if (decode(Rest().data(), &size, &read) != 0) return false;
  value = read;
  at_ += static_cast<std::size_t>(size);
  return true;
}

bool TermReader::ReadInteger(std::int64_t& value) noexcept {
  return ReadWhole(&ei_decode_longlong, value);
}

bool TermReader::ReadUnsigned(std::uint64_t& value) noexcept {
  return ReadWhole(&ei_decode_ulonglong, value);
}

bool TermReader::ReadFloat(double& value) noexcept {
  if (kind() != TermKind::kFloat) return false;
  if (TermTag{static_cast<std::uint8_t>(bytes_[at_])} == TermTag::kFloat) {
    // libei would look for the end of the text behind the end of the term.
    const std::string_view text = Rest().substr(1, kOldFloatBytes);
    std::from_chars(text.data(), text.data() + text.size(), value);
    at_ += 1 + kOldFloatBytes;
    return true;
  }
  int size = 0;
  if (ei_decode_double(Rest().data(), &size, &value) != 0) return false;
  at_ += static_cast<std::size_t>(size);
  return true;
}

bool TermReader::ReadNumber(double& value) noexcept {
  if (ReadFloat(value)) return true;
  std::int64_t number = 0;
  if (!ReadInteger(number)) return ReadBig(value);
  value = static_cast<double>(number);
  return true;
}

bool TermReader::ReadBig(double& value) noexcept {
  if (kind() != TermKind::kInteger) return false;
  // What has not been read as a number of 64 bits is a big one: its size, its sign, and its bytes
  // from the lowest on.
  const bool small = TermTag{static_cast<std::uint8_t>(bytes_[at_])} == TermTag::kSmallBig;
  const std::size_t size = small ? NumberAt<std::uint8_t>(1) : NumberAt<std::uint32_t>(1);
  const std::size_t sign = small ? 2 : 5;
  std::string_view digits = Rest().substr(sign + 1, size);
  digits = digits.substr(0, digits.find_last_not_of('\0') + 1);
  // The highest 64 bits, of which the last one stands for all that are below, so that it is rounded
  // once.
  std::uint64_t high = 0;
  std::size_t used = std::min<std::size_t>(digits.size(), 8);
  for (std::size_t i = 0; i < used; ++i) {
    high = high << 8 | static_cast<unsigned char>(digits[digits.size() - 1 - i]);
  }
  int shift = 0;
  if (digits.size() > 8) {
    if (digits.size() > 128) return false;  // more than the largest double has
    shift = static_cast<int>(8 * (digits.size() - 8));
    // The highest byte may begin with seven zeros; a double has 53 bits.
    if (digits.substr(0, digits.size() - 8).find_first_not_of('\0') != std::string_view::npos) {
      high |= 1;
    }
  }
  const double read = std::ldexp(static_cast<double>(high), shift);
  if (!std::isfinite(read)) return false;
  value = bytes_[at_ + sign] == 0 ? read : -read;
  Skip();
  return true;
}

bool TermReader::ReadBoolean(bool& value) noexcept {
  const bool is_true = NextIsAtom("true");
  if (!is_true && !NextIsAtom("false")) return false;
  value = is_true;
  Skip();
  return true;
}

bool TermReader::ReadBinary(std::string_view& bytes) noexcept {
  if (kind() != TermKind::kBinary) return false;
  const std::size_t size = NumberAt<std::uint32_t>(1);
  bytes = Rest().substr(5, size);
  at_ += 5 + size;
  return true;
}

std::size_t TermReader::AtomBytes(std::size_t offset, std::size_t& text) const noexcept {
  const auto tag = TermTag{NumberAt<std::uint8_t>(offset)};
  const bool is_small = tag == TermTag::kSmallAtom || tag == TermTag::kSmallAtomUtf8;
  text = is_small ? 2 : 3;
  return text + (is_small ? NumberAt<std::uint8_t>(offset + 1)
                          : std::size_t{NumberAt<std::uint16_t>(offset + 1)});
}

bool TermReader::ReadAtomText(std::string& text) {
  if (kind() != TermKind::kAtom) return false;
  std::size_t begin = 0;
  const std::size_t size = AtomBytes(0, begin);
  const std::string_view bytes = Rest().substr(begin, size - begin);
  const auto tag = TermTag{NumberAt<std::uint8_t>(0)};
  at_ += size;
  if (tag == TermTag::kAtomUtf8 || tag == TermTag::kSmallAtomUtf8 || IsAscii(bytes)) {
    text = bytes;
  } else {
    text.clear();
    for (const char byte : bytes) AppendUtf8(text, static_cast<unsigned char>(byte));
  }
  return true;
}

bool TermReader::NextIsAtom(std::string_view text) const {
  if (kind() != TermKind::kAtom) return false;
  const auto tag = TermTag{NumberAt<std::uint8_t>(0)};
  if (tag == TermTag::kAtomUtf8 || tag == TermTag::kSmallAtomUtf8 || IsAscii(text)) {
    std::size_t begin = 0;
    const std::size_t size = AtomBytes(0, begin);
    return Rest().substr(begin, size - begin) == text;
  }
  std::string latin;
  return TermReader(*this).ReadAtomText(latin) && latin == text;
}

gen::Result<gen::Atom> TermReader::ReadAtom() {
  TermReader next = *this;
  std::string text;
  if (!next.ReadAtomText(text)) return Expected(TermKind::kAtom);
  auto atom = MakeAtom(atoms_, text);
  if (atom) *this = next;
  return atom;
}

gen::Result<gen::PID> TermReader::ReadPid() {
  if (kind() != TermKind::kPid) return Expected(TermKind::kPid);
  erlang_pid read;
  int size = 0;
  if (ei_decode_pid(Rest().data(), &size, &read) != 0) return Expected(TermKind::kPid);
  const std::uint64_t id = std::uint64_t{read.serial} << 32 | read.num;
  const bool is_empty = id == 0 && read.node[0] == '\0';
  // Such as that of a node before it was given a name. In this program it would stand for a name (remote_names.h).
  if (read.creation == 0 && !is_empty) {
    return gen::Error(gen::ErrorCode::kIncorrect, "a process identifier of creation 0");
  }
  auto node = MakeAtom(atoms_, read.node);
  if (!node) return std::move(node.error());
  at_ += static_cast<std::size_t>(size);
  return gen::PID{id, *node, read.creation};
}

gen::Result<Reference> TermReader::ReadReference() {
  if (kind() != TermKind::kReference) return Expected(TermKind::kReference);
  erlang_ref read;
  int size = 0;
  if (ei_decode_ref(Rest().data(), &size, &read) != 0) return Expected(TermKind::kReference);
  auto node = MakeAtom(atoms_, read.node);
  if (!node) return std::move(node.error());
  at_ += static_cast<std::size_t>(size);
  Reference reference{*node, read.creation, static_cast<std::uint32_t>(read.len), {}};
  std::copy_n(read.n, read.len, reference.words.begin());
  // As TermWriter writes a reference that refers to nothing.
  if (reference == Reference{gen::Atom(), 0, 1, {}}) return Reference();
  return reference;
}

bool TermReader::EnterTuple(std::size_t& size) noexcept {
  if (kind() != TermKind::kTuple) return false;
  const bool is_small = TermTag{NumberAt<std::uint8_t>(0)} == TermTag::kSmallTuple;
  size = is_small ? NumberAt<std::uint8_t>(1) : NumberAt<std::uint32_t>(1);
  at_ += is_small ? 2 : 5;
  return true;
}

bool TermReader::EnterMap(std::size_t& size) noexcept {
  if (kind() != TermKind::kMap) return false;
  size = NumberAt<std::uint32_t>(1);
  at_ += 5;
  return true;
}

bool TermReader::EnterList(std::size_t& size) noexcept {
  if (kind() != TermKind::kList) return false;
  if (InString()) {
    size = 0;
    LeaveStringByte();
    return true;
  }
  const auto tag = TermTag{NumberAt<std::uint8_t>(0)};
  if (tag == TermTag::kNil) {
    size = 0;
    at_ += 1;
  } else if (tag == TermTag::kString) {
    size = NumberAt<std::uint16_t>(1);
    at_ += 3;
    if (size != 0) string_left_ = size + 1;
  } else {
    size = NumberAt<std::uint32_t>(1);
    at_ += 5;
  }
  return true;
}

std::size_t TermReader::OwnBytes(std::uint64_t& inner) const noexcept {
  std::size_t text = 0;
  inner = 0;
  switch (TermTag{NumberAt<std::uint8_t>(0)}) {
    case TermTag::kSmallInteger:
      return 2;
    case TermTag::kInteger:
      return 5;
    case TermTag::kSmallBig:
      return 3 + std::size_t{NumberAt<std::uint8_t>(1)};
    case TermTag::kLargeBig:
      return 6 + std::size_t{NumberAt<std::uint32_t>(1)};
    case TermTag::kNewFloat:
      return 9;
    case TermTag::kFloat:
      return 1 + kOldFloatBytes;
    case TermTag::kAtom:
    case TermTag::kSmallAtom:
    case TermTag::kAtomUtf8:
    case TermTag::kSmallAtomUtf8:
      return AtomBytes(0, text);
    case TermTag::kBinary:
      return 5 + std::size_t{NumberAt<std::uint32_t>(1)};
    case TermTag::kBitBinary:
      return 6 + std::size_t{NumberAt<std::uint32_t>(1)};
    case TermTag::kSmallTuple:
      inner = NumberAt<std::uint8_t>(1);
      return 2;
    case TermTag::kLargeTuple:
      inner = NumberAt<std::uint32_t>(1);
      return 5;
    case TermTag::kNil:
      return 1;
    case TermTag::kString:
      return 3 + std::size_t{NumberAt<std::uint16_t>(1)};
    case TermTag::kList:
      inner = std::uint64_t{NumberAt<std::uint32_t>(1)} + 1;
      return 5;
    case TermTag::kMap:
      inner = 2 * std::uint64_t{NumberAt<std::uint32_t>(1)};
      return 5;
    case TermTag::kNewPid:
      return 1 + AtomBytes(1, text) + 12;
    case TermTag::kNewPort:
      return 1 + AtomBytes(1, text) + 8;
    case TermTag::kV4Port:
      return 1 + AtomBytes(1, text) + 12;
    case TermTag::kNewerReference:
      return 3 + AtomBytes(3, text) + 4 + 4 * std::size_t{NumberAt<std::uint16_t>(1)};
    case TermTag::kNewFunction:
      return 1 + std::size_t{NumberAt<std::uint32_t>(1)};
    case TermTag::kExport: {
      const std::size_t module = AtomBytes(1, text);
      return 1 + module + AtomBytes(1 + module, text) + 2;
    }
  }
  return Rest().size();
}

void TermReader::Skip() {
  if (InString()) {
    LeaveStringByte();
    return;
  }
  for (std::uint64_t left = 1; left != 0 && !AtEnd();) {
    std::uint64_t inner = 0;
    at_ += OwnBytes(inner);
    left += inner - 1;
  }
}

std::string_view TermReader::ReadTerm() {
  const std::size_t begin = at_;
  if (InString()) {
    const bool is_end = string_left_ == 1;
    LeaveStringByte();
    if (is_end) return {&kNilByte, 1};
    return {kSmallIntegers.data() + 2 * std::size_t{static_cast<unsigned char>(bytes_[begin])}, 2};
  }
  Skip();
  return bytes_.substr(begin, at_ - begin);
}

}  // namespace ergon::dist
