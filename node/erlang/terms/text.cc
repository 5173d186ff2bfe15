#include <ergon/node/erlang/terms/text.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/literals.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

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
    out_.resize(CutBeforeCharacter(out_, max_));
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
  if (bytes.size() > kDecimalBytes && bytes.size() - kDecimalBytes > max_)
    bytes.remove_prefix(bytes.size() - kDecimalBytes - max_);
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

}  // namespace ergon::dist
