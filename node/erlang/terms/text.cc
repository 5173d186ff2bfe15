#include <ergon/node/erlang/terms/text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

constexpr std::array<std::string_view, 29> kReserved = {
    "after", "and",   "andalso", "band",   "begin",   "bnot", "bor", "bsl",  "bsr", "bxor",
    "case",  "catch", "cond",    "div",    "else",    "end",  "fun", "if",   "let", "maybe",
    "not",   "of",    "or",      "orelse", "receive", "rem",  "try", "when", "xor"};

// Numbers with more bytes are printed as hexadecimal ones, which takes no time.
constexpr std::size_t kDecimalBytes = 128;

bool IsLower(char32_t character) {
  return (character >= 'a' && character <= 'z') ||
         (character >= 0xdf && character <= 0xff && character != 0xf7);
}

bool IsInName(char32_t character) {
  return IsLower(character) || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '_' || character == '@' ||
         (character >= 0xc0 && character <= 0xde && character != 0xd7);
}

bool IsPrintable(char32_t character) {
  if (character < ' ') return (character >= '\b' && character <= '\r') || character == 0x1b;
  return character < 0x7f || character >= 0xa0;
}

// What stands behind the backslash, or 0.
char EscapeOf(char32_t character) {
  switch (character) {
    case '\b':
      return 'b';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\v':
      return 'v';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    case 0x1b:
      return 'e';
    case 0x7f:
      return 'd';
    default:
      return '\0';
  }
}

void AppendEscaped(std::string& out, char32_t character, char quote) {
  if (const char escape = EscapeOf(character)) {
    out += '\\';
    out += escape;
  } else if (character == static_cast<unsigned char>(quote) || character == '\\') {
    out += '\\';
    out += static_cast<char>(character);
  } else if (!IsPrintable(character)) {
    out += fmt::format("\\{:03o}", static_cast<std::uint32_t>(character));
  } else {
    AppendUtf8(out, character);
  }
}

// Without quotes.
std::string Escaped(std::string_view text) {
  std::string out;
  while (const auto character = TakeCharacter(text)) AppendEscaped(out, *character, '\'');
  return out;
}

std::string AtomText(std::string_view text) {
  return IsPlainAtom(text) ? std::string(text) : '\'' + Escaped(text) + '\'';
}

// An integer of any size: its bytes from the lowest on.
std::string BigText(std::string_view bytes, bool is_negative) {
  std::string digits;
  if (bytes.size() > kDecimalBytes) {
    for (const char byte : bytes) {
      digits += fmt::format("{:X}{:X}", static_cast<unsigned char>(byte) & 0xf,
                            static_cast<unsigned char>(byte) >> 4);
    }
    digits.resize(digits.find_last_not_of('0') + 1);
    digits += "#61";
  } else {
    std::string number(bytes);
    do {
      unsigned rest = 0;
      for (auto byte = number.rbegin(); byte != number.rend(); ++byte) {
        const unsigned value = rest << 8 | static_cast<unsigned char>(*byte);
        *byte = static_cast<char>(value / 10);
        rest = value % 10;
      }
      digits += static_cast<char>('0' + rest);
    } while (number.find_first_not_of('\0') != std::string::npos);
  }
  if (is_negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

class Printer {
 public:
  Printer(TermReader in, std::size_t max_bytes) : in_(in), max_(max_bytes) {}

  std::string Run() {
    Term();
    while (!open_.empty() && out_.size() <= max_) Step();
    if (out_.size() > max_) Cut();
    return std::move(out_);
  }

 private:
  struct Level {
    TermKind kind;
    std::size_t left;  // terms
    bool is_first = true;
    bool has_tail = false;  // a list: it has ended, but not with an empty one
  };

  void Cut() {
    std::size_t size = max_;
    // Not within a character.
    while (size > 0 && (static_cast<unsigned char>(out_[size]) & 0xc0) == 0x80) --size;
    out_.resize(size);
    out_ += "...";
  }

  void Step() {
    Level& level = open_.back();
    if (level.left == 0) {
      level.kind == TermKind::kList ? EndList(level) : Close('}');
      return;
    }
    const bool is_value = level.kind == TermKind::kMap && level.left % 2 == 1;
    if (is_value) {
      out_ += " => ";
    } else if (!level.is_first) {
      out_ += ',';
    }
    level.is_first = false;
    --level.left;
    Term();
  }

  void Close(char bracket) {
    out_ += bracket;
    open_.pop_back();
  }

  void EndList(Level& level) {
    std::size_t more = 0;
    if (level.has_tail) {
      Close(']');
    } else if (in_.EnterList(more)) {
      level.left = more;
      if (more == 0) Close(']');
    } else {
      level.has_tail = true;
      out_ += '|';
      Term();
    }
  }

  void Open(TermKind kind, std::string_view bracket, std::size_t count) {
    out_ += bracket;
    open_.push_back({kind, count});
  }

  void Term();
  void List();
  void Integer();
  void Binary(std::string_view bytes);
  void Bytes(std::string_view bytes);
  void Bitstring();
  void Identity(TermKind kind);
  void Function();
  bool IsText(TermReader list) const;

  TermReader in_;
  const std::size_t max_;
  std::string out_;
  std::vector<Level> open_;
};

void Printer::Term() {
  std::string text;
  std::string_view bytes;
  double number = 0;
  std::size_t size = 0;
  const TermKind kind = in_.kind();
  switch (kind) {
    case TermKind::kNothing:
      out_ += "nothing";
      break;
    case TermKind::kAtom:
      in_.ReadAtomText(text);
      out_ += AtomText(text);
      break;
    case TermKind::kInteger:
      Integer();
      break;
    case TermKind::kFloat:
      in_.ReadFloat(number);
      out_ += FloatText(number);
      break;
    case TermKind::kBinary:
      in_.ReadBinary(bytes);
      Binary(bytes);
      break;
    case TermKind::kBitstring:
      Bitstring();
      break;
    case TermKind::kTuple:
      in_.EnterTuple(size);
      Open(kind, "{", size);
      break;
    case TermKind::kList:
      List();
      break;
    case TermKind::kMap:
      in_.EnterMap(size);
      Open(kind, "#{", 2 * size);
      break;
    case TermKind::kPid:
    case TermKind::kPort:
    case TermKind::kReference:
      Identity(kind);
      break;
    case TermKind::kFunction:
      Function();
      break;
  }
}

// As far as it would be printed.
bool Printer::IsText(TermReader list) const {
  std::size_t size = 0;
  std::size_t seen = 0;
  while (list.EnterList(size)) {
    if (size == 0) return seen != 0;
    for (; size != 0; --size) {
      std::int64_t character = 0;
      if (seen > max_) return true;
      if (!list.ReadInteger(character) || !IsCharacter(character) ||
          !IsPrintable(static_cast<char32_t>(character))) {
        return false;
      }
      ++seen;
    }
  }
  return false;
}

void Printer::List() {
  std::size_t size = 0;
  if (!IsText(in_)) {
    in_.EnterList(size);
    Open(TermKind::kList, "[", size);
    if (size == 0) Close(']');
    return;
  }
  out_ += '"';
  while (in_.EnterList(size) && size != 0) {
    for (; size != 0; --size) {
      std::int64_t character = 0;
      if (out_.size() > max_) return;
      in_.ReadInteger(character);
      AppendEscaped(out_, static_cast<char32_t>(character), '"');
    }
  }
  out_ += '"';
}

void Printer::Integer() {
  std::int64_t number = 0;
  if (in_.ReadInteger(number)) {
    out_ += std::to_string(number);
    return;
  }
  const std::string_view term = in_.ReadTerm();
  const std::size_t sign =
      TermTag{static_cast<std::uint8_t>(term[0])} == TermTag::kSmallBig ? 2 : 5;
  std::string_view bytes = term.substr(sign + 1);
  bytes = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  // What is cut off behind need not be made.
  if (bytes.size() > kDecimalBytes)
    bytes.remove_prefix(bytes.size() - std::min(bytes.size(), kDecimalBytes + max_));
  out_ += BigText(bytes, term[sign] != 0);
}

void Printer::Binary(std::string_view bytes) {
  std::string text;
  bool is_utf8 = false;
  std::string_view rest = bytes;
  while (!rest.empty() && text.size() <= max_) {
    const auto character = TakeCharacter(rest);
    if (!character || !IsPrintable(*character)) {
      out_ += "<<";
      Bytes(bytes);
      out_ += ">>";
      return;
    }
    is_utf8 = is_utf8 || *character >= 0x80;
    AppendEscaped(text, *character, '"');
  }
  if (bytes.empty()) {
    out_ += "<<>>";
  } else {
    out_ += fmt::format("<<\"{}\"{}>>", text, is_utf8 ? "/utf8" : "");
  }
}

void Printer::Bytes(std::string_view bytes) {
  bool is_first = true;
  for (const char byte : bytes) {
    if (out_.size() > max_) return;
    if (!is_first) out_ += ',';
    is_first = false;
    out_ += std::to_string(static_cast<unsigned char>(byte));
  }
}

void Printer::Bitstring() {
  const std::string_view term = in_.ReadTerm();
  const unsigned bits = static_cast<unsigned char>(term[5]);
  const std::string_view bytes = term.substr(6);
  out_ += "<<";
  if (!bytes.empty()) {
    Bytes(bytes.substr(0, bytes.size() - 1));
    if (bytes.size() > 1) out_ += ',';
    out_ += fmt::format("{}:{}", static_cast<unsigned char>(bytes.back()) >> (8 - bits), bits);
  }
  out_ += ">>";
}

// The node, and the numbers that are the same wherever it is printed.
void Printer::Identity(TermKind kind) {
  const std::string_view term = in_.ReadTerm();
  const auto tag = TermTag{static_cast<std::uint8_t>(term[0])};
  TermReader after(term.substr(kind == TermKind::kReference ? 3 : 1));
  std::string node;
  after.ReadAtomText(node);
  node = Escaped(node);
  const std::string_view numbers =
      term.substr((kind == TermKind::kReference ? 3 : 1) + after.position());
  if (kind == TermKind::kPid) {
    out_ += fmt::format("<{}.{}.{}>", node, ReadBigEndian<std::uint32_t>(numbers),
                        ReadBigEndian<std::uint32_t>(numbers.substr(4)));
  } else if (kind == TermKind::kPort) {
    const std::uint64_t number = tag == TermTag::kV4Port ? ReadBigEndian<std::uint64_t>(numbers)
                                                         : ReadBigEndian<std::uint32_t>(numbers);
    out_ += fmt::format("#Port<{}.{}>", node, number);
  } else {
    out_ += fmt::format("#Ref<{}", node);
    for (std::size_t word = numbers.size() / 4; word > 1;
         --word) {  // the first one is the creation
      out_ += fmt::format(".{}", ReadBigEndian<std::uint32_t>(numbers.substr(4 * (word - 1))));
    }
    out_ += '>';
  }
}

void Printer::Function() {
  const std::string_view term = in_.ReadTerm();
  const bool is_export = TermTag{static_cast<std::uint8_t>(term[0])} == TermTag::kExport;
  // Behind size, arity, digest, index and number of variables.
  TermReader parts(term.substr(is_export ? 1 : 1 + 4 + 1 + 16 + 4 + 4));
  std::string module;
  std::string function;
  std::int64_t first = 0;
  std::int64_t second = 0;
  parts.ReadAtomText(module);
  if (is_export) {
    parts.ReadAtomText(function);
    parts.ReadInteger(first);
    out_ += fmt::format("fun {}:{}/{}", AtomText(module), AtomText(function), first);
  } else {
    parts.ReadInteger(first);
    parts.ReadInteger(second);
    out_ += fmt::format("#Fun<{}.{}.{}>", Escaped(module), first, second);
  }
}

}  // namespace

std::string NextTermText(TermReader next, std::size_t max_bytes) {
  return Printer(next, max_bytes).Run();
}

bool IsPlainAtom(std::string_view text) noexcept {
  if (std::find(kReserved.begin(), kReserved.end(), text) != kReserved.end()) return false;
  const auto first = TakeCharacter(text);
  if (!first || !IsLower(*first)) return false;
  while (!text.empty()) {
    const auto character = TakeCharacter(text);
    if (!character || !IsInName(*character)) return false;
  }
  return true;
}

std::string FloatText(double value) {
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = shortest.find('e');
  int exponent = 0;
  const std::size_t number = mark + (shortest[mark + 1] == '+' ? 2 : 1);
  std::from_chars(shortest.data() + number, end, exponent);
  std::string digits(shortest.substr(0, mark));
  std::erase(digits, '.');
  const int size = static_cast<int>(digits.size());
  const int point = exponent + 1;  // so many digits stand before it
  // As many zeros as are shorter than an exponent.
  const int exponent_size = static_cast<int>(std::to_string(exponent).size()) + (size == 1 ? 3 : 2);
  const bool is_exact = std::abs(value) < 9007199254740992.0;  // 2^53
  std::string text;
  if (point == 0) {
    text = "0." + digits;
  } else if (point > 0 && point < size && is_exact) {
    text = digits.insert(static_cast<std::size_t>(point), 1, '.');
  } else if (point < 0 && 2 - point <= exponent_size) {
    text = "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (point >= size && point - size + 2 <= exponent_size && is_exact) {
    text = digits + std::string(static_cast<std::size_t>(point - size), '0') + ".0";
  } else {
    text = digits.substr(0, 1) + '.' + (size == 1 ? "0" : digits.substr(1)) + 'e' +
           std::to_string(exponent);
  }
  return value < 0 ? '-' + text : text;
}

}  // namespace ergon::dist
