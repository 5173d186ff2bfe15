#include <ergon/node/erlang/codec/scalars.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist::detail {
namespace {

// This program's references have three words, as those of Erlang; the last is 0.
constexpr std::uint32_t kIdentityWords = 3;

// What TermWriter refuses is a problem of the value.
template <class Write>
void WriteOrFail(ValueWriter& writer, Write write) {
  try {
    write();
  } catch (const std::invalid_argument& error) {
    writer.problem.Fail(error.what());
  }
}

// An atom, or something with the name of a node in it, which may be new to the program.
template <class T>
bool TakeNamed(ValueReader& reader, TermKind kind, gen::Result<T> read, T& value) {
  if (read) {
    value = *read;
    return true;
  }
  if (reader.in.kind() != kind) return reader.Expected(KindText(kind));
  const std::string_view why = read.error().detail();
  if (read.error() == gen::ErrIncorrect) return reader.problem.Fail(std::string(why));
  return reader.problem.Fail(fmt::format("{} that is new here: {}", KindText(kind), why));
}

// The numbers of a proper list, of at most `highest`.
template <class Take>
bool ReadNumbers(TermReader& in, std::int64_t highest, Take take) {
  std::size_t size = 0;
  while (in.EnterList(size)) {
    if (size == 0) return true;
    for (; size != 0; --size) {
      std::int64_t number = 0;
      if (!in.ReadInteger(number) || number > highest || !IsCharacter(number)) return false;
      take(static_cast<char32_t>(number));
    }
  }
  return false;
}

}  // namespace

bool ReadSigned(ValueReader& reader, std::int64_t lowest, std::int64_t highest,
                std::int64_t& value) {
  TermReader next = reader.in;
  if (!next.ReadInteger(value) || value < lowest || value > highest) {
    return reader.Expected(fmt::format("an integer of {}..{}", lowest, highest));
  }
  reader.in = next;
  return true;
}

bool ReadUnsigned(ValueReader& reader, std::uint64_t highest, std::uint64_t& value) {
  TermReader next = reader.in;
  if (!next.ReadUnsigned(value) || value > highest) {
    return reader.Expected(fmt::format("an integer of 0..{}", highest));
  }
  reader.in = next;
  return true;
}

int FitOfKind(TermReader next, TermKind well, TermKind too) {
  const TermKind kind = next.kind();
  if (kind == well) return kFitsWell;
  return kind == too ? kFitsToo : kFitsNot;
}

void WriteFloat(ValueWriter& writer, double value) {
  WriteOrFail(writer, [&] { writer.out.Float(value); });
}

bool ReadFloat(ValueReader& reader, double highest, double& value) {
  TermReader next = reader.in;
  if (!next.ReadNumber(value)) return reader.Expected("a number");
  if (std::abs(value) > highest) {
    return reader.Expected(fmt::format("a number of {}..{}", -highest, highest));
  }
  reader.in = next;
  return true;
}

bool ReadText(ValueReader& reader, std::string& text) {
  std::string_view bytes;
  if (reader.in.ReadBinary(bytes)) {
    text = bytes;
    return true;
  }
  TermReader next = reader.in;
  text.clear();
  if (!ReadNumbers(next, 0x10ffff, [&](char32_t character) { AppendUtf8(text, character); })) {
    return reader.Expected("a binary");
  }
  reader.in = next;
  return true;
}

bool ReadBytes(ValueReader& reader, std::string& bytes) {
  std::string_view binary;
  if (reader.in.ReadBinary(binary)) {
    bytes = binary;
    return true;
  }
  TermReader next = reader.in;
  bytes.clear();
  if (!ReadNumbers(next, 0xff, [&](char32_t byte) { bytes += static_cast<char>(byte); })) {
    return reader.Expected("a binary");
  }
  reader.in = next;
  return true;
}

Reference ToReference(std::uint64_t id, gen::Atom node, std::uint32_t creation) {
  return {node,
          creation,
          kIdentityWords,
          {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)}};
}

bool ReadIdentity(ValueReader& reader, std::uint64_t& id, gen::Atom& node, std::uint32_t& creation,
                  bool is_alias) {
  const TermReader found = reader.in;
  Reference reference;
  if (!Codec<Reference>::Read(reader, reference)) return false;
  if (reference.size != kIdentityWords || reference.words[2] != 0) {
    return reader.Expected("a reference of an Ergon node", found);
  }
  id = std::uint64_t{reference.words[1]} << 32 | reference.words[0];
  node = reference.node;
  creation = reference.creation;
  if (is_alias && node::StandsForAnother(gen::Alias{id, node, creation})) {
    return reader.Expected("an alias of an Ergon node", found);
  }
  return true;
}

void Codec<gen::Atom>::Write(ValueWriter& writer, gen::Atom value) {
  WriteOrFail(writer, [&] { writer.out.Atom(value.Text()); });
}

bool Codec<gen::Atom>::Read(ValueReader& reader, gen::Atom& value) {
  return TakeNamed(reader, TermKind::kAtom, reader.in.ReadAtom(), value);
}

void Codec<gen::PID>::Write(ValueWriter& writer, const gen::PID& value) {
  WriteOrFail(writer, [&] { writer.out.Pid(value); });
}

bool Codec<gen::PID>::Read(ValueReader& reader, gen::PID& value) {
  return TakeNamed(reader, TermKind::kPid, reader.in.ReadPid(), value);
}

void Codec<Reference>::Write(ValueWriter& writer, const Reference& value) {
  WriteOrFail(writer, [&] { writer.out.Reference(value); });
}

bool Codec<Reference>::Read(ValueReader& reader, Reference& value) {
  return TakeNamed(reader, TermKind::kReference, reader.in.ReadReference(), value);
}

bool Codec<std::monostate>::Read(ValueReader& reader, std::monostate&) {
  if (!IsAbsent(reader.in)) return reader.Expected("undefined or nil");
  reader.in.Skip();
  return true;
}

}  // namespace ergon::dist::detail
