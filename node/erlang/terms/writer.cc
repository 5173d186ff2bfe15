#include <ergon/node/erlang/terms/writer.h>

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

constexpr char Byte(TermTag tag) { return static_cast<char>(tag); }

void CheckAtom(std::string_view text) {
  const auto characters = CountCharacters(text);
  if (!characters) throw std::invalid_argument("an atom has to be UTF-8");
  if (*characters > kMaxAtomCharacters) {
    throw std::invalid_argument(fmt::format("an atom of {} characters, at most {} are possible",
                                            *characters, kMaxAtomCharacters));
  }
}

// libei writes where it is told to without looking whether there is room, so every call gets a
// buffer that is large enough for the largest term of its kind.
constexpr std::size_t kNumberBytes = 16;
constexpr std::size_t kAtomBytes = 3 + 4 * kMaxAtomCharacters;
constexpr std::size_t kIdentityBytes = 3 + kAtomBytes + 4 * (1 + Reference::kMaxWords) + 8;

template <std::size_t kBytes, class Encode>
void Append(std::string& out, Encode encode) {
  std::array<char, kBytes> buffer;
  int size = 0;
  encode(buffer.data(), &size);
  out.append(buffer.data(), static_cast<std::size_t>(size));
}

void CopyNode(char (&to)[MAXATOMLEN_UTF8], gen::Atom node) {
  const std::string_view text = node.Text();
  CheckAtom(text);
  to[text.copy(to, sizeof(to) - 1)] = '\0';
}

[[noreturn]] void ThrowTooLarge(std::size_t size, const char* what) {
  throw std::length_error(fmt::format("a {} of {}: at most {} are possible", what, size,
                                      std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t CheckSize(std::size_t size, const char* what) {
  if (size > std::numeric_limits<std::uint32_t>::max()) [[unlikely]]
    ThrowTooLarge(size, what);
  return static_cast<std::uint32_t>(size);
}

void AppendHead(std::string& out, TermTag tag, std::uint32_t size) {
  char head[1 + sizeof(size)] = {Byte(tag)};
  WriteBigEndian(head + 1, size);
  out.append(head, sizeof(head));
}

constexpr char kNil = Byte(TermTag::kNil);

}  // namespace

void TermWriter::Integer(std::int64_t value) {
  Append<kNumberBytes>(out_, [&](char* to, int* at) { ei_encode_longlong(to, at, value); });
}

void TermWriter::Unsigned(std::uint64_t value) {
  Append<kNumberBytes>(out_, [&](char* to, int* at) { ei_encode_ulonglong(to, at, value); });
}

void TermWriter::Float(double value) {
  if (!std::isfinite(value)) {
    throw std::invalid_argument(fmt::format("{} is no float of Erlang", value));
  }
  Append<kNumberBytes>(out_, [&](char* to, int* at) { ei_encode_double(to, at, value); });
}

void TermWriter::Boolean(bool value) { Atom(value ? "true" : "false"); }

void TermWriter::Atom(std::string_view text) {
  CheckAtom(text);
  Append<kAtomBytes>(out_, [&](char* to, int* at) {
    ei_encode_atom_len_as(to, at, text.data(), static_cast<int>(text.size()), ERLANG_UTF8,
                          ERLANG_UTF8);
  });
}

void TermWriter::Binary(std::string_view bytes) {
  AppendHead(out_, TermTag::kBinary, CheckSize(bytes.size(), "binary"));
  out_.append(bytes);
}

void TermWriter::Tuple(std::size_t size) {
  if (size <= 0xff) {
    out_ += Byte(TermTag::kSmallTuple);
    out_ += static_cast<char>(size);
  } else {
    AppendHead(out_, TermTag::kLargeTuple, CheckSize(size, "tuple"));
  }
}

void TermWriter::List(std::size_t size) {
  if (size != 0) AppendHead(out_, TermTag::kList, CheckSize(size, "list"));
}

void TermWriter::Nil() { out_ += kNil; }

void TermWriter::Map(std::size_t size) { AppendHead(out_, TermTag::kMap, CheckSize(size, "map")); }

void TermWriter::Charlist(std::string_view text) {
  const auto characters = CountCharacters(text);
  if (text.empty()) {
    Nil();
  } else if (text.size() <= 0xffff && (!characters || IsAscii(text))) {
    out_ += Byte(TermTag::kString);
    AppendBigEndian(out_, static_cast<std::uint16_t>(text.size()));
    out_.append(text);
  } else {
    List(characters.value_or(text.size()));
    if (characters) {
      while (const auto character = TakeCharacter(text)) Integer(*character);
    } else {
      for (const char byte : text) Integer(static_cast<unsigned char>(byte));
    }
    Nil();
  }
}

void TermWriter::Pid(const gen::PID& pid) {
  erlang_pid to;
  CopyNode(to.node, pid.node);
  to.num = static_cast<unsigned>(pid.id);
  to.serial = static_cast<unsigned>(pid.id >> 32);
  to.creation = pid.creation;
  Append<kIdentityBytes>(out_, [&](char* into, int* at) { ei_encode_pid(into, at, &to); });
}

void TermWriter::Reference(const dist::Reference& reference) {
  erlang_ref to;
  CopyNode(to.node, reference.node);
  // Nobody reads one without words: one that refers to nothing has a word that is 0.
  const std::size_t size = std::clamp<std::size_t>(reference.size, 1, dist::Reference::kMaxWords);
  to.len = static_cast<int>(size);
  std::copy_n(reference.words.begin(), size, to.n);
  to.creation = reference.creation;
  Append<kIdentityBytes>(out_, [&](char* into, int* at) { ei_encode_ref(into, at, &to); });
}

std::size_t TermWriter::OpenTuple() {
  const std::size_t opened = out_.size();
  Tuple(0);
  return opened;
}

void TermWriter::CloseTuple(std::size_t opened, std::size_t size) {
  if (size <= 0xff) {
    out_[opened + 1] = static_cast<char>(size);
    return;
  }
  std::string head;
  TermWriter(head).Tuple(size);
  out_.replace(opened, 2, head);
}

std::size_t TermWriter::OpenMap() {
  const std::size_t opened = out_.size();
  Map(0);
  return opened;
}

void TermWriter::CloseMap(std::size_t opened, std::size_t size) {
  WriteBigEndian(&out_[opened + 1], CheckSize(size, "map"));
}

}  // namespace ergon::dist
