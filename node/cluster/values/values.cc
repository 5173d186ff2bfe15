#include <ergon/node/cluster/values/values.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/delivery/unmade_string.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/text.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

// ---- values that need not be registered

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
core::EnvelopePtr Make(std::uint8_t kind, std::uint64_t tag, T value) {
  return core::MakeTaggedEnvelope<T>(tag, kind, core::Lane::kMain, std::move(value));
}

core::EnvelopePtr MakeText(std::uint8_t kind, std::uint64_t tag, std::string_view bytes) {
  const bool is_message = kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage);
  if (is_message && tag == 0 && node::MayBeUnmade(bytes.size())) return node::BeginString(bytes);
  return Make(kind, tag, std::string(bytes));
}

// The value of a term that is of no registered type, maybe for a reason (`note`), and no binary.
core::EnvelopePtr ReadPlain(TermReader reader, std::string_view term, std::uint8_t kind,
                            std::uint64_t tag, std::string note) {
  std::int64_t integer = 0;
  double number = 0;
  bool truth = false;
  switch (reader.kind()) {
    case TermKind::kInteger:
      if (reader.ReadInteger(integer)) return Make(kind, tag, integer);
      break;
    case TermKind::kFloat:
      if (reader.ReadFloat(number)) return Make(kind, tag, number);
      break;
    case TermKind::kAtom:
      if (reader.ReadBoolean(truth)) return Make(kind, tag, truth);
      if (const auto atom = reader.ReadAtom()) return Make(kind, tag, *atom);
      break;
    case TermKind::kPid:
      if (const auto pid = reader.ReadPid()) return Make(kind, tag, *pid);
      break;
    default:
      break;
  }
  return Make(kind, tag, Term::FromChecked(std::string(term), reader.atoms(), std::move(note)));
}

// ---- reasons and errors

constexpr std::size_t kTextBytes = 1000;                          // of terms in reasons and errors
constexpr std::int64_t kLongestMilliseconds = 1'000'000'000'000;  // fits nanoseconds

struct ReasonAtom {
  std::string_view atom;
  gen::Reason (*make)();
};
constexpr std::array<ReasonAtom, 6> kReasons = {{{"normal", &gen::Reason::Normal},
                                                 {"shutdown", &gen::Reason::Shutdown},
                                                 {"killed", &gen::Reason::Kill},
                                                 {"noproc", &gen::Reason::NoProcess},
                                                 {"noconnection", &gen::Reason::NoConnection},
                                                 {"unregistered", &gen::Reason::Unregistered}}};
// What means something to those who get it as an exit reason.
constexpr std::string_view kKill = "kill";

struct CodeAtom {
  std::string_view atom;
  gen::ErrorCode code;
};
constexpr std::array<CodeAtom, 20> kCodes = {
    {{"noproc", gen::ErrorCode::kProcessUnknown},
     {"terminated", gen::ErrorCode::kProcessTerminated},
     {"mailbox_full", gen::ErrorCode::kProcessMailboxFull},
     {"incarnation", gen::ErrorCode::kProcessIncarnation},
     {"timeout", gen::ErrorCode::kTimeout},
     {"not_allowed", gen::ErrorCode::kNotAllowed},
     {"taken", gen::ErrorCode::kTaken},
     {"incorrect", gen::ErrorCode::kIncorrect},
     {"unsupported", gen::ErrorCode::kUnsupported},
     {"response_ignored", gen::ErrorCode::kResponseIgnored},
     {"unexpected_type", gen::ErrorCode::kUnexpectedType},
     {"too_many_calls", gen::ErrorCode::kTooManyCalls},
     {"node_terminated", gen::ErrorCode::kNodeTerminated},
     {"no_connection", gen::ErrorCode::kNoConnection},
     {"deadlock", gen::ErrorCode::kDeadlock},
     {"internal", gen::ErrorCode::kInternal},
     {"overloaded", gen::ErrorCode::kOverloaded},
     {"child_running", gen::ErrorCode::kChildRunning},
     {"child_disabled", gen::ErrorCode::kChildDisabled},
     {"busy", gen::ErrorCode::kBusy}}};

std::string_view AtomOf(gen::ErrorCode code) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const CodeAtom& entry) { return entry.code == code; });
  return found == kCodes.end() ? "internal" : found->atom;
}

std::optional<gen::ErrorCode> CodeOf(std::string_view atom) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const CodeAtom& entry) { return entry.atom == atom; });
  if (found == kCodes.end()) return std::nullopt;
  return found->code;
}

bool IsReason(std::string_view text) {
  return text == kKill || std::any_of(kReasons.begin(), kReasons.end(),
                                      [&](const ReasonAtom& entry) { return entry.atom == text; });
}

// What the user has called it: a text, which is never an atom of the other node, or an atom.
void AppendName(TermWriter writer, std::string_view text, gen::Atom atom, bool means_something) {
  if (!atom.empty() && !means_something && CountCharacters(text)) {
    writer.Atom(text);
  } else {
    writer.Binary(text);
  }
}

// The user's own reason or error in a term: an atom that this program has, or may make, as that. A text stands for
// itself, others as Erlang prints them.
template <class Make>
auto ReadName(std::string_view term, AtomBudget* atoms, Make&& make) {
  TermReader reader(term);
  std::string text;
  std::string_view bytes;
  if (reader.ReadAtomText(text)) {
    std::optional<gen::Atom> atom = gen::Atom::Find(text);
    if (!atom && atoms != nullptr) {
      if (auto made = atoms->Make(text)) atom = *made;
    }
    return atom && !atom->empty() ? make(*atom) : make(std::move(text));
  }
  if (reader.ReadBinary(bytes) && CountCharacters(bytes)) return make(std::string(bytes));
  return make(NextTermText(TermReader(term), kTextBytes));
}

// {Name, Term}: the name, and a reader of the other.
std::optional<TermReader> EnterPair(std::string_view term, std::string& name) {
  TermReader reader(term);
  std::size_t size = 0;
  if (!reader.EnterTuple(size) || size != 2 || !reader.ReadAtomText(name)) return std::nullopt;
  return reader;
}

}  // namespace

// ---- types

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

Values::Values(const gen::WireTypes& types, std::size_t max_new_atoms, Absent absent)
    : atoms_(std::make_shared<AtomBudget>(max_new_atoms)), absent_(absent) {
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
    registered_.push_back(type);
    type->tag.empty() ? AddMap(type) : AddTagged(type);
  }
  AddPlain<signed char, char, unsigned char, short, unsigned short, int, unsigned, long,
           unsigned long, long long, unsigned long long, float, double, bool, std::string, Charlist,
           gen::Atom, gen::PID, gen::Ref, gen::Alias, Reference, Term>(writers_);
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
  const std::string name = type.Name();
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{} is not registered, so other nodes do not know it: "
                                "options.types.Register<{}>() before the node starts",
                                name, name));
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
                                  writer->packed->name));
  }
  return Append(out, envelope, *writer, Form::kTerm);
}

gen::Result<void> Values::Append(std::string& out, const core::Envelope& envelope,
                                 const Writer& writer, Form form) const {
  // Only a way to say that it is not changed is missing.
  const void* const value = const_cast<core::Envelope&>(envelope).Value();
  if (form == Form::kPacked) return PackedTypes::Append(out, *writer.packed, value);
  const std::size_t begin = out.size();
  try {
    if (writer.is_text) {
      TermWriter(out).Binary(*static_cast<const std::string*>(value));
      return {};
    }
    return writer.write(out, value, absent_);
  } catch (...) {
    out.resize(begin);
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {}", envelope.type->TagOrName(), core::ThrownText()));
  }
}

gen::Result<core::EnvelopePtr> Values::Read(std::string_view term, std::uint8_t kind,
                                            std::uint64_t tag) const {
  TermReader reader(term, atoms_.get());
  std::string_view bytes;
  // No registered type is a binary.
  if (reader.ReadBinary(bytes)) return MakeText(kind, tag, bytes);
  if (PackedTypes::IsPacked(term)) return packed_.Read(term, atoms_.get(), kind, tag);
  const WireType* const type = FindRegistered(reader);
  if (type == nullptr) return ReadPlain(reader, term, kind, tag, WrongArity(reader));
  try {
    auto message = type->read(reader, kind, tag);
    if (message) GivePriority(**message, type->priority);
    return message;
  } catch (...) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {}", type->type->TagOrName(), core::ThrownText()));
  }
}

// ---- reasons and errors

void AppendReason(std::string& out, const gen::Reason& reason) {
  TermWriter writer(out);
  const std::string text = reason.ToString();
  switch (reason.kind()) {
    case gen::ReasonKind::kPanic:
      writer.Tuple(2);
      writer.Atom("panic");
      writer.Binary(std::string_view(text).substr(std::string_view("panic: ").size()));
      return;
    case gen::ReasonKind::kError:
      AppendName(writer, text, reason.AsAtom(), IsReason(text));
      return;
    default:
      writer.Atom(text);
      return;
  }
}

gen::Reason ReadReason(std::string_view term, AtomBudget* atoms) {
  const TermReader reader(term);
  for (const ReasonAtom& reason : kReasons) {
    if (reader.NextIsAtom(reason.atom)) return reason.make();
  }
  std::string name;
  std::string_view text;
  if (auto what = EnterPair(term, name); what && name == "panic" && what->ReadBinary(text)) {
    return gen::Reason::Panic(std::string(text));
  }
  return ReadName(term, atoms, [](auto&& what) {
    return gen::Reason::Error(std::forward<decltype(what)>(what));
  });
}

void AppendError(std::string& out, const gen::Error& error) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("error");
  if (error.code() == gen::ErrorCode::kApplication) {
    AppendName(writer, error.detail(), error.AsAtom(), CodeOf(error.detail()).has_value());
  } else if (error.RetryAfter().count() > 0) {
    writer.Tuple(2);
    writer.Atom(AtomOf(error.code()));
    writer.Integer(std::chrono::ceil<std::chrono::milliseconds>(error.RetryAfter()).count());
  } else if (!error.detail().empty()) {
    writer.Tuple(2);
    writer.Atom(AtomOf(error.code()));
    writer.Binary(error.detail());
  } else {
    writer.Atom(AtomOf(error.code()));
  }
}

gen::Error ReadError(std::string_view term, AtomBudget* atoms) {
  std::string name;
  if (TermReader(term).ReadAtomText(name)) {
    if (const auto code = CodeOf(name)) return gen::Error(*code);
  }
  if (auto what = EnterPair(term, name)) {
    const auto code = CodeOf(name);
    std::int64_t milliseconds = 0;
    std::string_view text;
    if (code && what->ReadBinary(text)) return {*code, std::string(text)};
    if (code == gen::ErrorCode::kOverloaded && what->ReadInteger(milliseconds) &&
        milliseconds > 0 && milliseconds <= kLongestMilliseconds) {
      return gen::Error::Overloaded(std::chrono::milliseconds(milliseconds));
    }
  }
  return ReadName(term, atoms,
                  [](auto&& what) { return gen::Error(std::forward<decltype(what)>(what)); });
}

}  // namespace ergon::dist
