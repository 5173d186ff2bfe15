#include <ergon/node/cluster/values/values.h>

#include <set>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/check.h>

namespace ergon::dist {
namespace {

template <class T>
gen::Result<void> WritePlain(std::string& out, const void* value, Absent) {
  return detail::WriteValue(out, *static_cast<const T*>(value));
}

// A registered type stays what it is.
template <class... Types, class Writers>
void AddPlain(Writers& writers) {
  const auto add = [&](const core::TypeDescriptor* type, auto write) {
    auto& writer = writers[type];
    if (writer.write == nullptr) writer.write = write;
  };
  (add(core::TypeOf<Types>(), &WritePlain<Types>), ...);
}

template <class T>
core::EnvelopePtr Make(std::uint8_t kind, core::EnvelopeNumbers numbers, T value) {
  return core::MakeEnvelopeWith<T>(numbers, kind, core::Lane::kMain, std::move(value));
}

// The value of a term that is of no registered type, maybe for a reason (`note`), and no binary.
core::EnvelopePtr ReadPlain(TermReader reader, std::string_view term, std::uint8_t kind,
                            core::EnvelopeNumbers numbers, std::string note) {
  std::int64_t integer = 0;
  double number = 0;
  bool truth = false;
  switch (reader.kind()) {
    case TermKind::kInteger:
      if (reader.ReadInteger(integer)) return Make(kind, numbers, integer);
      break;
    case TermKind::kFloat:
      if (reader.ReadFloat(number)) return Make(kind, numbers, number);
      break;
    case TermKind::kAtom:
      if (reader.ReadBoolean(truth)) return Make(kind, numbers, truth);
      if (const auto atom = reader.ReadAtom()) return Make(kind, numbers, *atom);
      break;
    case TermKind::kPid:
      if (const auto pid = reader.ReadPid()) return Make(kind, numbers, *pid);
      break;
    default:
      break;
  }
  return Make(kind, numbers, Term::FromChecked(std::string(term), reader.atoms(), std::move(note)));
}

}  // namespace

void Values::CheckAgain(const WireType& type) const {
  const auto throw_unless = [&](bool is_the_same) {
    if (is_the_same) return;
    throw std::invalid_argument(
        fmt::format("types for other nodes: {} is registered with two priorities", type.name));
  };
  for (const TypePtr& first : registered_) {
    throw_unless(!core::SameType(first->type, type.type) || first->priority == type.priority);
  }
  const auto writer = writers_.find(type.type);
  if (writer == writers_.end() || writer->second.packed == nullptr) return;
  throw_unless(writer->second.packed->priority == type.priority);
}

Values::Values(const gen::WireTypes& types, std::size_t max_new_atoms, Absent absent,
               std::size_t max_term_depth)
    : atoms_(std::make_shared<AtomBudget>(max_new_atoms)),
      absent_(absent),
      max_term_depth_(max_term_depth) {
  for (const TypePtr& type : types.All()) {
    if (!type->problem.empty()) {
      throw std::invalid_argument("types for other nodes: " + type->problem);
    }
    CheckAgain(*type);
    if (type->packed) {
      AddPacked(*type);
      continue;
    }
    Writer& writer = writers_[type->type];
    if (writer.write != nullptr) continue;  // once more
    writer.write = type->write;
    writer.has_terms = type->has_terms;
    registered_.push_back(type);
    type->tag.empty() ? AddMap(type) : AddTagged(type);
  }
  AddPlain<signed char, char, unsigned char, short, unsigned short, int, unsigned, long,
           unsigned long, long long, unsigned long long, float, double, bool, std::string, Charlist,
           gen::Atom, gen::PID, gen::Ref, gen::Alias, Reference, Term>(writers_);
  writers_.at(core::TypeOf<Term>()).has_terms = true;
  text_ = writers_.at(core::TypeOf<std::string>());
  text_.is_text = true;
}

void Values::AddPacked(const WireType& type) {
  Writer& writer = writers_[type.type];
  if (writer.packed == nullptr) writer.packed = packed_.Add(type);
}

void Values::AddTagged(const TypePtr& type) {
  if (const WireType* const other = FindTagged(type->tag, type->arity)) {
    throw std::invalid_argument(fmt::format(
        "types for other nodes: {} and {} are both the tuple {} of {}, and could not be told apart",
        other->name, type->name, type->tag, type->arity));
  }
  tagged_[type->tag].push_back(type);
}

void Values::AddMap(const TypePtr& type) {
  const std::set<std::string> required(type->keys.begin(), type->keys.end());
  std::set<std::string> all = required;
  all.insert(type->optional_keys.begin(), type->optional_keys.end());
  for (const TypePtr& other : maps_) {
    const std::set<std::string> other_required(other->keys.begin(), other->keys.end());
    std::set<std::string> other_all = other_required;
    other_all.insert(other->optional_keys.begin(), other->optional_keys.end());
    if (all != other_all && (required.empty() || required != other_required)) continue;
    throw std::invalid_argument(fmt::format(
        "types for other nodes: {} and {} are both maps with the same keys, and could not be told "
        "apart: give one a kTag",
        other->name, type->name));
  }
  const std::size_t index = maps_.size();
  maps_.push_back(type);
  for (const std::string& key : type->keys) keys_[key].push_back({index, true});
  for (const std::string& key : type->optional_keys) keys_[key].push_back({index, false});
}

const WireType* Values::FindTagged(std::string_view tag, std::size_t arity) const {
  const auto found = tagged_.find(tag);
  if (found == tagged_.end()) return nullptr;
  for (const TypePtr& type : found->second) {
    if (type->arity == arity) return type.get();
  }
  return nullptr;
}

const WireType* Values::FindMap(TermReader reader) const {
  std::size_t size = 0;
  if (maps_.empty() || !reader.EnterMap(size)) return nullptr;
  struct Keys {
    std::size_t required = 0;
    std::size_t all = 0;
  };
  std::vector<Keys> seen(maps_.size());
  const bool is_empty = size == 0;
  std::string key;
  for (; size != 0; --size) {
    if (reader.ReadAtomText(key)) {
      if (const auto uses = keys_.find(key); uses != keys_.end()) {
        for (const KeyUse& use : uses->second) {
          ++seen[use.map].all;
          if (use.is_required) ++seen[use.map].required;
        }
      }
    } else {
      reader.Skip();
    }
    reader.Skip();
  }
  const WireType* best = nullptr;
  std::size_t most = 0;
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    const WireType& type = *maps_[i];
    const bool has_keys = !type.keys.empty() || !type.optional_keys.empty();
    // One of whose keys none has to be there is not any map.
    const bool fits =
        has_keys ? seen[i].required >= type.keys.size() && seen[i].all != 0 : is_empty;
    if (fits && (best == nullptr || seen[i].all > most)) {
      best = &type;
      most = seen[i].all;
    }
  }
  return best;
}

const WireType* Values::FindRegistered(TermReader reader) const {
  switch (reader.kind()) {
    case TermKind::kMap:
      return FindMap(reader);
    case TermKind::kAtom:
    case TermKind::kTuple:
      break;
    default:
      return nullptr;
  }
  if (tagged_.empty()) return nullptr;
  std::string tag;
  if (reader.ReadAtomText(tag)) return FindTagged(tag, 1);
  std::size_t arity = 0;
  if (!reader.EnterTuple(arity) || arity == 0 || !reader.ReadAtomText(tag)) return nullptr;
  return FindTagged(tag, arity);
}

std::string Values::WrongArity(TermReader reader) const {
  std::string tag;
  std::size_t arity = 0;
  if (tagged_.empty() || !reader.EnterTuple(arity) || arity == 0 || !reader.ReadAtomText(tag)) {
    return {};
  }
  const auto found = tagged_.find(tag);
  if (found == tagged_.end()) return {};
  std::string expected;
  for (const TypePtr& type : found->second) {
    expected += fmt::format("{}{}", expected.empty() ? "" : " or ", type->arity);
  }
  return fmt::format("{}: {} elements expected, found {}", tag, expected, arity);
}

const core::TypeDescriptor* Values::FindType(std::string_view name) const {
  for (const TypePtr& type : registered_) {
    if (type->name == name) return type->type;
  }
  const PackedTypes::Type* const packed = packed_.Find(name);
  return packed == nullptr ? nullptr : packed->type;
}

gen::Result<void> Values::CheckRegistered(const core::TypeDescriptor& type) const {
  if (writers_.contains(&type)) return {};
  // An answer's caller on another node reads it, too, who knows the type by its tag; who registers it does by its name.
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{} is not registered, so other nodes do not know it: "
                                "options.types.Register<{}>() before the node starts",
                                type.TagOrName(), type.Name()));
}

gen::Error Values::WhyNoWriter(const core::Envelope& envelope) const {
  if (envelope.type == nullptr) {
    return gen::Error(gen::ErrorCode::kUnsupported, "a signal is no message for another node");
  }
  return CheckRegistered(*envelope.type).error();
}

gen::Result<void> Values::Append(std::string& out, const core::Envelope& envelope) const {
  const Writer* const writer = WriterOf(envelope);
  if (writer == nullptr) return WhyNoWriter(envelope);
  if (writer->write == nullptr) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} is packed only (dist::Cereal), and this goes as a term",
                                  envelope.type->TagOrName()));
  }
  return Append(out, envelope, *writer, Form::kTerm);
}

gen::Result<void> Values::Append(std::string& out, const core::Envelope& envelope,
                                 const Writer& writer, Form form) const {
  const void* const value = envelope.Value();
  if (form == Form::kPacked) return PackedTypes::Append(out, *writer.packed, value);
  const std::size_t begin = out.size();
  try {
    if (writer.is_text) {
      TermWriter(out).Binary(*static_cast<const std::string*>(value));
      return {};
    }
    auto written = writer.write(out, value, absent_);
    // A level takes a byte at least.
    const std::string_view term = std::string_view(out).substr(begin);
    const bool may_be_deep =
        term.size() > max_term_depth_ &&
        (writer.has_terms || max_term_depth_ < std::size_t{detail::ValueProblem::kMaxNesting});
    if (!written || !may_be_deep || CheckTerm(term, max_term_depth_)) return written;
    out.resize(begin);
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: a level deeper than {} (max_term_depth)",
                                  envelope.type->TagOrName(), max_term_depth_));
  } catch (...) {
    out.resize(begin);
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {}", envelope.type->TagOrName(), core::ThrownText()));
  }
}

std::optional<Values::Unread> Values::PackedToBeRead(std::string_view term) const {
  if (!PackedTypes::IsPacked(term)) return std::nullopt;
  const PackedTypes::Type* const type = packed_.FindIn(term);
  if (type == nullptr || !type->how.is_bounded || type->priority != gen::MessagePriority::kNormal)
    return std::nullopt;
  return Unread{term, type};
}

gen::Result<core::EnvelopePtr> Values::Read(std::string_view term, std::uint8_t kind,
                                            core::EnvelopeNumbers numbers) const {
  TermReader reader(term, atoms_.get());
  std::string_view bytes;
  // No registered type is a binary.
  if (reader.ReadBinary(bytes)) return Make(kind, numbers, std::string(bytes));
  if (PackedTypes::IsPacked(term)) {
    const PackedTypes::Type* const type = packed_.FindIn(term);
    if (type == nullptr) return PackedTypes::WhyNoType();
    return PackedTypes::Read(*type, term, limits(), kind, numbers);
  }
  const WireType* const type = FindRegistered(reader);
  if (type == nullptr) return ReadPlain(reader, term, kind, numbers, WrongArity(reader));
  try {
    auto message = type->read(reader, kind, numbers);
    if (message) GivePriority(**message, type->priority);
    return message;
  } catch (...) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {}", type->type->TagOrName(), core::ThrownText()));
  }
}

}  // namespace ergon::dist
