#include <ergon/node/cluster/signals/control_reader.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/cluster/signals/control_tags.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/check.h>

namespace ergon::dist {
namespace {

// ID, serial and creation, behind the node of a PID.
constexpr std::size_t kPidNumbersBytes = 12;

// Returns false if the creation means any incarnation, as that of old nodes did.
bool ReadPidNumbers(const char* from, gen::PID& pid) noexcept {
  const std::string_view numbers(from, kPidNumbersBytes);
  const auto creation = ReadBigEndian<std::uint32_t>(numbers.substr(8));
  if (creation == 0) return false;
  const std::uint64_t serial = ReadBigEndian<std::uint32_t>(numbers.substr(4));
  pid.id = serial << 32 | ReadBigEndian<std::uint32_t>(numbers);
  pid.creation = creation;
  return true;
}

std::uint8_t ByteAt(std::string_view terms, std::size_t position) {
  return static_cast<std::uint8_t>(terms[position]);
}

// Removes the atom at the front of `terms`, and returns its text in `text`. Returns false if there is no atom, or if it
// is not UTF-8.
bool TakeAtom(std::string_view& terms, std::string_view& text) noexcept {
  if (terms.size() < 2) return false;
  const std::uint8_t tag = ByteAt(terms, 0);
  const bool is_small = tag == kSmallAtomUtf8Tag || tag == kSmallAtomTag;
  if (!is_small && tag != kAtomUtf8Tag && tag != kAtomTag) return false;
  const std::size_t begin = is_small ? 2 : 3;
  if (terms.size() < begin) return false;
  const std::size_t size =
      is_small ? ByteAt(terms, 1) : ReadBigEndian<std::uint16_t>(terms.substr(1));
  if (terms.size() - begin < size) return false;
  const std::string_view bytes = terms.substr(begin, size);
  const bool is_latin1 = tag == kSmallAtomTag || tag == kAtomTag;
  if (is_latin1 &&
      std::any_of(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0x80) != 0; })) {
    return false;
  }
  text = bytes;
  terms.remove_prefix(begin + size);
  return true;
}

}  // namespace

bool ControlReader::ReadTuple(std::size_t& size) noexcept {
  if (!NextIs(kSmallTupleTag) || rest_.size() < 2) return false;
  size = ByteAt(rest_, 1);
  rest_.remove_prefix(2);
  return true;
}

bool ControlReader::ReadList(std::size_t& size) noexcept {
  if (!NextIs(kListTag) || rest_.size() < 5) return false;
  size = ReadBigEndian<std::uint32_t>(rest_.substr(1));
  rest_.remove_prefix(5);
  return true;
}

bool ControlReader::ReadEmptyList() noexcept {
  if (!NextIs(kEmptyListTag)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool ControlReader::ReadString() noexcept {
  if (!NextIs(kStringTag) || rest_.size() < 3) return false;
  const std::size_t size = ReadBigEndian<std::uint16_t>(rest_.substr(1));
  if (rest_.size() - 3 < size) return false;
  rest_.remove_prefix(3 + size);
  return true;
}

bool ControlReader::ReadAtom(std::string_view& text) noexcept { return TakeAtom(rest_, text); }

bool ControlReader::ReadNumber(std::uint64_t& number) noexcept {
  if (NextIs(kSmallIntegerTag) && rest_.size() >= 2) {
    number = ByteAt(rest_, 1);
    rest_.remove_prefix(2);
    return true;
  }
  if (NextIs(kIntegerTag) && rest_.size() >= 5) {
    const auto value = ReadBigEndian<std::uint32_t>(rest_.substr(1));
    if (value > 0x7fffffff) return false;  // negative
    number = value;
    rest_.remove_prefix(5);
    return true;
  }
  // Number of bytes, sign, and bytes from the lowest on.
  if (!NextIs(kSmallBigTag) || rest_.size() < 3 || ByteAt(rest_, 2) != 0) return false;
  const std::size_t size = ByteAt(rest_, 1);
  if (size > sizeof(number) || rest_.size() - 3 < size) return false;
  number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number |= std::uint64_t{ByteAt(rest_, 3 + i)} << (8 * i);
  }
  rest_.remove_prefix(3 + size);
  return true;
}

bool ControlReader::ReadPid(std::string_view& node, gen::PID& pid) noexcept {
  if (!NextIs(kNewPidTag)) return false;
  std::string_view after = rest_.substr(1);
  std::string_view name;
  if (!TakeAtom(after, name) || after.size() < kPidNumbersBytes) return false;
  if (!ReadPidNumbers(after.data(), pid)) return false;
  node = name;
  pid.node = gen::Atom();
  rest_ = after.substr(kPidNumbersBytes);
  return true;
}

bool ControlReader::ReadPid(const PidHead& node, gen::PID& pid) noexcept {
  const std::string_view head = node.bytes();
  const std::size_t size = head.size() + kPidNumbersBytes;
  if (rest_.size() >= size && std::memcmp(rest_.data(), head.data(), head.size()) == 0 &&
      ReadPidNumbers(rest_.data() + head.size(), pid)) {
    pid.node = node.node();
    rest_.remove_prefix(size);
    return true;
  }
  return ReadPid(node.node(), pid);  // with another tag of its atom
}

bool ControlReader::ReadPid(gen::Atom node, gen::PID& pid) noexcept {
  const std::string_view before = rest_;
  std::string_view name;
  gen::PID read;
  if (!ReadPid(name, read)) return false;
  if (name != node.Text()) {
    rest_ = before;
    return false;
  }
  read.node = node;
  pid = read;
  return true;
}

bool ControlReader::ReadReference(std::string_view& reference) {
  return NextIs(kNewerReferenceTag) && ReadTerm(reference);
}

bool ControlReader::ReadTerm(std::string_view& term) {
  const auto size = CheckTerm(rest_, max_depth_);
  if (!size) return false;
  term = rest_.substr(0, *size);
  rest_.remove_prefix(*size);
  return true;
}

std::string ControlReader::DescribeNext() const {
  if (rest_.empty()) return "nothing";
  ControlReader next = *this;
  std::string_view text;
  gen::PID pid;
  std::uint64_t number = 0;
  if (next.ReadPid(text, pid)) return fmt::format("a PID of {}", Quoted(text));
  if (NextIs(kNewPidTag)) return "a PID of the creation 0 or with a name that is not ASCII";
  if (next.ReadAtom(text)) return fmt::format("the atom {}", Quoted(text));
  if (next.ReadNumber(number)) return fmt::format("the number {}", number);
  return fmt::format("a term with the tag {}", ByteAt(rest_, 0));
}

}  // namespace ergon::dist
