#include <ergon/node/erlang/term.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/canonical.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/text.h>

namespace ergon::dist {
namespace {

constexpr char kEmptyList = static_cast<char>(TermTag::kNil);

}  // namespace

Term Term::Atom(std::string_view text) {
  std::string bytes;
  TermWriter(bytes).Atom(text);
  return FromChecked(std::move(bytes));
}

Term Term::Tuple(const std::vector<Term>& elements) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Tuple(elements.size());
  for (const Term& element : elements) writer.Raw(element.raw());
  return FromChecked(std::move(bytes));
}

Term Term::List(const std::vector<Term>& elements) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.List(elements.size());
  for (const Term& element : elements) writer.Raw(element.raw());
  writer.Nil();
  return FromChecked(std::move(bytes));
}

Term Term::Map(const std::vector<std::pair<Term, Term>>& entries) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Map(entries.size());
  std::vector<std::string> keys;
  keys.reserve(entries.size());
  for (const auto& [key, value] : entries) {
    writer.Raw(key.raw());
    writer.Raw(value.raw());
    keys.push_back(CanonicalTerm(key.raw()));
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    throw std::invalid_argument("a map that has a key twice: " +
                                FromChecked(std::move(bytes)).ToString());
  }
  return FromChecked(std::move(bytes));
}

gen::Result<Term> Term::FromBytes(std::string_view bytes, std::size_t max_depth) {
  if (bytes.empty() || bytes.front() != kTermVersion) {
    return gen::Error(gen::ErrorCode::kIncorrect, "no term: it does not begin with 131");
  }
  bytes.remove_prefix(1);
  const auto size = CheckTerm(bytes, max_depth);
  if (!size) return size.error();
  if (*size != bytes.size()) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{} bytes behind a term", bytes.size() - *size));
  }
  return FromChecked(std::string(bytes));
}

Term Term::FromChecked(std::string bytes, std::shared_ptr<AtomBudget> atoms, std::string note) {
  Term term;
  if (bytes.size() == 1 && bytes.front() == kEmptyList) return term;
  auto memory = std::make_shared<Memory>();
  memory->bytes = std::move(bytes);
  memory->atoms = std::move(atoms);
  memory->note = std::move(note);
  term.size_ = memory->bytes.size();
  term.memory_ = std::move(memory);
  return term;
}

Term Term::FromChecked(std::string bytes, AtomBudget* atoms, std::string note) {
  return FromChecked(std::move(bytes), atoms == nullptr ? nullptr : atoms->shared_from_this(),
                     std::move(note));
}

std::string Term::MessageText() const {
  constexpr std::size_t kShort = 120;  // bytes
  const bool has_note =
      memory_ != nullptr && !memory_->note.empty() && size_ == memory_->bytes.size();
  return (has_note ? memory_->note + ": " : std::string()) + ToString(kShort);
}

std::string_view Term::raw() const noexcept {
  if (memory_ == nullptr) return {&kEmptyList, 1};
  return std::string_view(memory_->bytes).substr(begin_, size_);
}

std::string Term::Bytes() const {
  std::string bytes(1, kTermVersion);
  return bytes.append(raw());
}

TermReader Term::Reader() const noexcept {
  return TermReader(raw(), memory_ == nullptr ? nullptr : memory_->atoms.get());
}

Term Term::NextOf(TermReader& reader) const {
  const std::string_view whole = raw();
  const std::size_t begin = reader.position();
  const std::string_view next = reader.ReadTerm();
  // A number of a charlist is a term that stands nowhere.
  if (next.data() != whole.data() + begin) return FromChecked(std::string(next));
  Term term = *this;
  term.begin_ += begin;
  term.size_ = next.size();
  return term;
}

std::optional<std::int64_t> Term::AsInteger() const {
  std::int64_t value = 0;
  if (!Reader().ReadInteger(value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Term::AsUnsigned() const {
  std::uint64_t value = 0;
  if (!Reader().ReadUnsigned(value)) return std::nullopt;
  return value;
}

std::optional<double> Term::AsFloat() const {
  double value = 0;
  if (!Reader().ReadFloat(value)) return std::nullopt;
  return value;
}

std::optional<bool> Term::AsBoolean() const {
  bool value = false;
  if (!Reader().ReadBoolean(value)) return std::nullopt;
  return value;
}

std::optional<std::string> Term::AsAtomText() const {
  std::string text;
  if (!Reader().ReadAtomText(text)) return std::nullopt;
  return text;
}

std::optional<std::string> Term::AsText() const {
  std::string_view bytes;
  if (!Reader().ReadBinary(bytes)) return std::nullopt;
  return std::string(bytes);
}

std::optional<gen::PID> Term::AsPid() const {
  auto pid = Reader().ReadPid();
  if (!pid) return std::nullopt;
  return *pid;
}

std::optional<Reference> Term::AsReference() const {
  auto reference = Reader().ReadReference();
  if (!reference) return std::nullopt;
  return *reference;
}

std::size_t Term::size() const {
  TermReader reader = Reader();
  std::size_t size = 0;
  if (reader.EnterTuple(size) || reader.EnterMap(size)) return size;
  std::size_t all = 0;
  while (reader.EnterList(size) && size != 0) {
    all += size;
    for (; size != 0; --size) reader.Skip();
  }
  return all;
}

Term Term::operator[](std::size_t index) const {
  TermReader reader = Reader();
  std::size_t left = index;
  std::size_t size = 0;
  const bool is_tuple = reader.EnterTuple(size);
  while (is_tuple || (reader.EnterList(size) && size != 0)) {
    for (; size != 0; --size, --left) {
      if (left == 0) return NextOf(reader);
      reader.Skip();
    }
    if (is_tuple) break;
  }
  throw std::out_of_range(fmt::format("no element {} in {}", index, *this));
}

std::vector<Term> Term::Elements() const {
  std::vector<Term> elements;
  TermReader reader = Reader();
  std::size_t size = 0;
  if (reader.EnterTuple(size)) {
    for (; size != 0; --size) elements.push_back(NextOf(reader));
    return elements;
  }
  while (reader.EnterList(size) && size != 0) {
    for (; size != 0; --size) elements.push_back(NextOf(reader));
  }
  return elements;
}

std::vector<std::pair<Term, Term>> Term::Entries() const {
  std::vector<std::pair<Term, Term>> entries;
  TermReader reader = Reader();
  std::size_t size = 0;
  if (!reader.EnterMap(size)) return entries;
  for (; size != 0; --size) {
    Term key = NextOf(reader);
    entries.emplace_back(std::move(key), NextOf(reader));
  }
  return entries;
}

std::optional<Term> Term::Find(const Term& key) const {
  TermReader reader = Reader();
  std::size_t size = 0;
  if (!reader.EnterMap(size)) return std::nullopt;
  std::string wanted;
  for (; size != 0; --size) {
    const bool is_alike = reader.kind() == key.kind();
    const std::string_view found = reader.ReadTerm();
    if (is_alike && wanted.empty()) wanted = CanonicalTerm(key.raw());
    if (is_alike && (found == key.raw() || CanonicalTerm(found) == wanted)) return NextOf(reader);
    reader.Skip();
  }
  return std::nullopt;
}

std::optional<Term> Term::Find(std::string_view atom) const {
  TermReader reader = Reader();
  std::size_t size = 0;
  if (!reader.EnterMap(size)) return std::nullopt;
  for (; size != 0; --size) {
    const bool found = reader.NextIsAtom(atom);
    reader.Skip();
    if (found) return NextOf(reader);
    reader.Skip();
  }
  return std::nullopt;
}

std::string Term::ToString(std::size_t max_bytes) const {
  return NextTermText(Reader(), max_bytes);
}

bool operator==(const Term& left, const Term& right) {
  if (left.raw() == right.raw()) return true;
  // A peer's term may be large: rewritten, it costs its size and more.
  return left.kind() == right.kind() && CanonicalTerm(left.raw()) == CanonicalTerm(right.raw());
}

bool detail::Codec<Term>::Read(ValueReader& reader, Term& value) {
  if (reader.in.AtEnd()) return reader.Expected("a term");
  value = Term::FromChecked(std::string(reader.in.ReadTerm()), reader.in.atoms());
  return true;
}

}  // namespace ergon::dist
