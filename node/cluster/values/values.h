// Values of C++ as terms of Erlang, and back: the messages of a node that has registered types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/error.h>
#include <ergon/gen/result.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {

class AtomBudget;
class TermReader;

// Immutable, except for the number of atoms that came from outside; any thread. Terms are in external
// format, without the version byte, and have been checked (see terms/check.h) before.
class Values {
 public:
  static constexpr std::size_t kUsualNewAtoms = 100'000;

  // `max_new_atoms`: how many atoms terms may make; atoms are never freed. `max_term_depth`: of a dist::Term in a
  // packed value. Throws std::invalid_argument if two registered types have the same tag and number of fields, or the
  // same keys, with a text that names both; and if a type is registered with two priorities.
  explicit Values(const gen::WireTypes& types, std::size_t max_new_atoms = kUsualNewAtoms,
                  Absent absent = Absent::kUndefined,
                  std::size_t max_term_depth = ReadLimits().max_term_depth);
  [[nodiscard]] AtomBudget& atoms() const noexcept { return *atoms_; }
  // For PackedTypes::Read.
  [[nodiscard]] ReadLimits limits() const noexcept { return {atoms_.get(), max_term_depth_}; }
  [[nodiscard]] const PackedTypes& packed() const noexcept { return packed_; }

  // Returns a registered type by its name, as written in C++, or null.
  [[nodiscard]] const core::TypeDescriptor* FindType(std::string_view name) const;
  // Returns kUnsupported, with advice, if the type is not registered.
  [[nodiscard]] gen::Result<void> CheckRegistered(const core::TypeDescriptor& type) const;

  // How the values of a type are written.
  using Write = gen::Result<void> (*)(std::string& out, const void* value, Absent absent);
  struct Writer {
    Write write = nullptr;                      // as a term; null: the type is packed only
    const PackedTypes::Type* packed = nullptr;  // null: the type is not packed
    bool is_text = false;                       // a std::string: its bytes are the binary
    bool has_terms = false;  // a dist::Term, or a value with one in it: may be deep
  };
  // Returns null if the type is not registered, or if there is no value; see WhyNoWriter.
  [[nodiscard]] const Writer* WriterOf(const core::Envelope& envelope) const {
    if (envelope.type == core::TypeOf<std::string>()) return &text_;  // nothing is looked up
    if (envelope.type == nullptr) return nullptr;
    const auto found = writers_.find(envelope.type);
    return found == writers_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] gen::Error WhyNoWriter(const core::Envelope& envelope) const;
  // Appends the value of a message in a form that its type has. Returns kIncorrect, with the path of the field, and
  // appends nothing, if the value has no such form.
  gen::Result<void> Append(std::string& out, const core::Envelope& envelope, const Writer& writer,
                           Form form) const;
  // Appends the value of a message as a term, or nothing if it returns an error: kUnsupported, with the type and
  // advice, if the type is not registered; kIncorrect, with the path of the field, if Erlang has no such value.
  gen::Result<void> Append(std::string& out, const core::Envelope& envelope) const;
  // Returns the message in a term. It has the registered type whose tag and number of fields, or keys, the term has; of
  // several types the one with most keys. Else it is a std::int64_t, double, bool, gen::Atom, std::string (a binary),
  // gen::PID, or dist::Term, also for an atom that is one too many. Returns kIncorrect, with the path of the field, if
  // the term has the tag or the keys of a registered type, but does not fit; and the errors of PackedTypes::Read.
  // `numbers`: how the message was addressed (gen::Target::Tag), and the trace id of a request. Messages and requests
  // get the priority of their type.
  [[nodiscard]] gen::Result<core::EnvelopePtr> Read(std::string_view term, std::uint8_t kind,
                                                    core::EnvelopeNumbers numbers = {}) const;
  // What the receiver of a message may read itself, as Read would: a std::string of these bytes; or a value of this
  // type, for PackedTypes::Read, of normal priority, that takes little stack.
  struct Unread {
    std::string_view bytes;
    const PackedTypes::Type* type = nullptr;  // null: a string
  };
  [[nodiscard]] std::optional<Unread> ToBeRead(std::string_view term) const {
    constexpr std::size_t kHeadBytes = 1 + 4;  // tag and size; nothing follows the term
    if (term.size() >= kHeadBytes && term[0] == static_cast<char>(TermTag::kBinary))
      return Unread{term.substr(kHeadBytes)};
    return PackedToBeRead(term);
  }

 private:
  using TypePtr = std::shared_ptr<const WireType>;
  // A type that is a map and has a certain key: its index in maps_, and whether the key has to be there.
  struct KeyUse {
    std::size_t map;
    bool is_required;
  };

  [[nodiscard]] std::optional<Unread> PackedToBeRead(std::string_view term) const;
  // Throws as the constructor does if the type is registered already with another priority.
  void CheckAgain(const WireType& type) const;
  void AddPacked(const WireType& type);
  void AddTagged(const TypePtr& type);
  void AddMap(const TypePtr& type);
  // These return null if there is no such type.
  [[nodiscard]] const WireType* FindTagged(std::string_view tag, std::size_t arity) const;
  [[nodiscard]] const WireType* FindMap(TermReader reader) const;
  [[nodiscard]] const WireType* FindRegistered(TermReader reader) const;
  // Returns what is wrong with a tuple that has the tag of registered types, but not their number of elements, as in
  // "resize: 6 elements expected, found 4"; else an empty text.
  [[nodiscard]] std::string WrongArity(TermReader reader) const;

  const std::shared_ptr<AtomBudget> atoms_;
  const Absent absent_;
  const std::size_t max_term_depth_;
  std::vector<TypePtr> registered_;
  // Also of what need not be registered.
  std::unordered_map<const core::TypeDescriptor*, Writer, core::TypeHash, core::TypeEqual> writers_;
  PackedTypes packed_;
  Writer text_;                                                        // of std::string
  std::unordered_map<std::string_view, std::vector<TypePtr>> tagged_;  // by tag
  std::vector<TypePtr> maps_;
  std::unordered_map<std::string_view, std::vector<KeyUse>> keys_;
};

}  // namespace ergon::dist
