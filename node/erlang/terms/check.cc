#include <ergon/node/erlang/terms/check.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kMostReferenceWords = 5;
constexpr std::size_t kPidBytes = 4 + 4 + 4;  // number, serial, creation
constexpr std::size_t kFunctionDigestBytes = 16;

// A term with others in it: how many are to come.
struct Level {
  std::uint64_t left = 0;
  std::size_t end = 0;  // of a function, which tells its size; 0: of another term
};

// What is open, the innermost last. Most terms are flat, and need no memory for that.
class Levels {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return few_size_ + many_.size(); }
  [[nodiscard]] Level& Last() noexcept {
    return many_.empty() ? few_[few_size_ - 1] : many_.back();
  }
  void Push(Level level) {
    if (few_size_ < few_.size()) {
      few_[few_size_++] = level;
    } else {
      many_.push_back(level);
    }
  }
  void Pop() noexcept {
    if (many_.empty()) {
      --few_size_;
    } else {
      many_.pop_back();
    }
  }

 private:
  std::array<Level, 16> few_;
  std::size_t few_size_ = 0;
  std::vector<Level> many_;
};

class Checker {
 public:
  Checker(std::string_view bytes, std::size_t max_depth) : bytes_(bytes), max_depth_(max_depth) {}

  gen::Result<std::size_t> Run() {
    levels_.Push({1, 0});
    while (levels_.size() != 0) {
      Level& level = levels_.Last();
      const bool fits = level.left == 0 ? Close(level) : Element(level);
      if (!fits) return gen::Error(gen::ErrorCode::kIncorrect, problem_);
    }
    return at_;
  }

 private:
  bool Element(Level& level) {
    --level.left;
    return Term();
  }
  bool Close(const Level& level) {
    if (level.end != 0 && level.end != at_) {
      return Fail(fmt::format("a function that ends {}", level.end > at_ ? "late" : "early"));
    }
    levels_.Pop();
    return true;
  }
  // `count` more terms, one level deeper.
  bool Open(std::uint64_t count, std::size_t end = 0) {
    if (count > Left()) return Fail(fmt::format("{} terms in {} bytes", count, Left()));
    if (levels_.size() > max_depth_) return Fail(fmt::format("a level deeper than {}", max_depth_));
    levels_.Push({count, end});
    return true;
  }

  bool Fail(std::string_view what) {
    problem_ = fmt::format("no term: {} at byte {}", what, start_);
    return false;
  }
  [[nodiscard]] std::size_t Left() const noexcept { return bytes_.size() - at_; }
  bool Skip(std::uint64_t size) {
    if (size > Left()) return Fail(fmt::format("{} bytes, of which {} are there,", size, Left()));
    at_ += size;
    return true;
  }
  template <class T>
  bool Number(T& value) {
    if (Left() < sizeof(T)) return Fail("one that is cut off");
    value = ReadBigEndian<T>(bytes_.substr(at_));
    at_ += sizeof(T);
    return true;
  }
  // So many bytes behind a number of that type, which tells how many.
  template <class T>
  bool Bytes(std::size_t more = 0) {
    T size = 0;
    return Number(size) && Skip(std::uint64_t{size} + more);
  }
  template <class T>
  bool Elements(std::uint64_t each = 1) {
    T count = 0;
    return Number(count) && Open(count * each);
  }

  // The text of an atom.
  template <class T>
  bool Text(bool is_utf8) {
    T size = 0;
    if (!Number(size)) return false;
    const std::size_t begin = at_;
    if (!Skip(size)) return false;
    const auto characters =
        is_utf8 ? CountCharacters(bytes_.substr(begin, size)) : std::optional<std::size_t>(size);
    if (!characters) return Fail("an atom that is not UTF-8");
    if (*characters <= kMaxAtomCharacters) return true;
    return Fail(fmt::format("an atom of {} characters", *characters));
  }
  // The one that has to be next inside of a PID, port, reference or function.
  bool Atom() {
    start_ = at_;
    std::uint8_t byte = 0;
    if (!Number(byte)) return false;
    switch (TermTag{byte}) {
      case TermTag::kAtom:
        return Text<std::uint16_t>(false);
      case TermTag::kSmallAtom:
        return Text<std::uint8_t>(false);
      case TermTag::kAtomUtf8:
        return Text<std::uint16_t>(true);
      case TermTag::kSmallAtomUtf8:
        return Text<std::uint8_t>(true);
      default:
        return Fail(fmt::format("tag {} instead of an atom", byte));
    }
  }

  bool Float();
  bool OldFloat();
  bool BitBinary();
  bool Reference();
  bool List();
  bool Export();
  bool Function();
  bool Term();

  const std::string_view bytes_;
  const std::size_t max_depth_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // of the term that is looked at
  Levels levels_;
  std::string problem_;
};

// Erlang knows no others than finite ones.
bool Checker::Float() {
  std::uint64_t bits = 0;
  if (!Number(bits)) return false;
  double value = 0;
  static_assert(sizeof(value) == sizeof(bits));
  std::memcpy(&value, &bits, sizeof(value));
  return std::isfinite(value) || Fail("a float that is no number");
}

bool Checker::OldFloat() {
  const std::size_t begin = at_;
  if (!Skip(kOldFloatBytes)) return false;
  std::string_view text = bytes_.substr(begin, kOldFloatBytes);
  text = text.substr(0, text.find('\0'));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) ||
         Fail("a float that is no number");
}

bool Checker::BitBinary() {
  std::uint32_t size = 0;
  std::uint8_t bits = 0;  // of the last byte
  if (!Number(size) || !Number(bits)) return false;
  if (bits > 8 || (size == 0) != (bits == 0)) {
    return Fail(fmt::format("{} bits in the last of {} bytes", bits, size));
  }
  return Skip(size);
}

bool Checker::Reference() {
  std::uint16_t words = 0;
  if (!Number(words)) return false;
  if (words == 0 || words > kMostReferenceWords) {
    return Fail(fmt::format("a reference of {} words", words));
  }
  return Atom() && Skip(4 + 4 * std::uint64_t{words});  // with its creation
}

// With its tail. One without elements would be its tail, and no list.
bool Checker::List() {
  std::uint32_t size = 0;
  if (!Number(size)) return false;
  return size == 0 ? Fail("a list without elements") : Open(std::uint64_t{size} + 1);
}

// Module, function, arity.
bool Checker::Export() {
  if (!Atom() || !Atom()) return false;
  std::uint8_t tag = 0;
  if (!Number(tag)) return false;
  return (TermTag{tag} == TermTag::kSmallInteger || Fail("an arity that is no small number")) &&
         Skip(1);
}

// Size, arity, digest, index, number of free variables; then the module, the old index, the old
// digest, a PID, and the free variables.
bool Checker::Function() {
  const std::size_t begin = at_;
  std::uint32_t size = 0;
  std::uint32_t variables = 0;
  if (!Number(size)) return false;
  if (size < sizeof(size) || size - sizeof(size) > Left()) {
    return Fail(fmt::format("a function of {} bytes, of which {} are there,", size, Left()));
  }
  return Skip(1 + kFunctionDigestBytes + 4) && Number(variables) && Atom() &&
         Open(std::uint64_t{variables} + 3, begin + size);
}

bool Checker::Term() {
  start_ = at_;
  std::uint8_t byte = 0;
  if (!Number(byte)) return false;
  switch (TermTag{byte}) {
    case TermTag::kSmallInteger:
      return Skip(1);
    case TermTag::kInteger:
      return Skip(4);
    case TermTag::kSmallBig:
      return Bytes<std::uint8_t>(1);  // and the sign
    case TermTag::kLargeBig:
      return Bytes<std::uint32_t>(1);
    case TermTag::kNewFloat:
      return Float();
    case TermTag::kFloat:
      return OldFloat();
    case TermTag::kBinary:
      return Bytes<std::uint32_t>();
    case TermTag::kBitBinary:
      return BitBinary();
    case TermTag::kString:
      return Bytes<std::uint16_t>();
    case TermTag::kSmallTuple:
      return Elements<std::uint8_t>();
    case TermTag::kLargeTuple:
      return Elements<std::uint32_t>();
    case TermTag::kNil:
      return true;
    case TermTag::kList:
      return List();
    case TermTag::kMap:
      return Elements<std::uint32_t>(2);
    case TermTag::kNewPid:
      return Atom() && Skip(kPidBytes);
    case TermTag::kNewPort:
      return Atom() && Skip(4 + 4);
    case TermTag::kV4Port:
      return Atom() && Skip(8 + 4);
    case TermTag::kNewerReference:
      return Reference();
    case TermTag::kNewFunction:
      return Function();
    case TermTag::kExport:
      return Export();
    case TermTag::kAtom:
    case TermTag::kSmallAtom:
    case TermTag::kAtomUtf8:
    case TermTag::kSmallAtomUtf8:
      at_ = start_;
      return Atom();
  }
  return Fail(fmt::format("tag {}", byte));
}

// The bytes of a term without others in it, as most messages are. Nothing: Checker has to look.
std::optional<std::size_t> SizeOfFlat(std::string_view bytes) noexcept {
  if (bytes.empty()) return std::nullopt;
  std::uint64_t size = 0;
  switch (TermTag{static_cast<std::uint8_t>(bytes.front())}) {
    case TermTag::kSmallInteger:
      size = 2;
      break;
    case TermTag::kInteger:
      size = 5;
      break;
    case TermTag::kBinary:
      size = 5;
      if (bytes.size() >= size) size += ReadBigEndian<std::uint32_t>(bytes.substr(1));
      break;
    case TermTag::kBitBinary:  // of whole bytes, as packed values are
      size = 6;
      if (bytes.size() <= size || bytes[size - 1] != 8) return std::nullopt;
      size += ReadBigEndian<std::uint32_t>(bytes.substr(1));
      if (size == 6) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  if (bytes.size() < size) return std::nullopt;
  return static_cast<std::size_t>(size);
}

}  // namespace

gen::Result<std::size_t> CheckTerm(std::string_view bytes, std::size_t max_depth) {
  if (const auto size = SizeOfFlat(bytes)) return *size;
  return Checker(bytes, max_depth).Run();
}

}  // namespace ergon::dist
