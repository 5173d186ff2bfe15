// Any term of Erlang, as a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/reference.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

namespace detail {
// Types that mean one thing in Erlang. A text is not among them: it may be an atom, a binary or a charlist.
template <class T>
concept PlainTerm =
    std::is_arithmetic_v<T> || std::is_same_v<T, gen::Atom> || std::is_same_v<T, gen::PID> ||
    std::is_same_v<T, Reference> || std::is_same_v<T, gen::Ref> || std::is_same_v<T, gen::Alias>;
}  // namespace detail

// Immutable and cheap to copy: parts of a term share its bytes. Any thread. A message from another
// node that has the form of no registered type is a dist::Term:
//
//   if (auto* term = message.As<dist::Term>()) Log().Info("{} says {}", from, *term);
class Term {
 public:
  using Kind = TermKind;

  Term() = default;  // the empty list

  // -- making --

  // Makes a number, true or false, an atom, a pid, or a reference. Implicit, as in Term::List({1, 2}).
  template <detail::PlainTerm T>
  Term(T value) : Term(Of(value)) {}  // NOLINT(google-explicit-constructor)
  // Throws std::invalid_argument if the text is not UTF-8, or has more than 255 characters.
  [[nodiscard]] static Term Atom(std::string_view text);
  [[nodiscard]] static Term Tuple(const std::vector<Term>& elements);
  [[nodiscard]] static Term List(const std::vector<Term>& elements);
  // Throws std::invalid_argument if a key is there twice.
  [[nodiscard]] static Term Map(const std::vector<std::pair<Term, Term>>& entries);
  // Makes the term of any value that erlang/archive.h knows; a text becomes a binary. Throws std::invalid_argument,
  // with the path of the field, if Erlang has no such value.
  template <class T>
  [[nodiscard]] static Term Of(const T& value, Absent absent = Absent::kUndefined);
  // Reads bytes made by term_to_binary, with the version byte and nothing behind the term. Returns kIncorrect if they
  // are no term, or one that is nested deeper than `max_depth`.
  [[nodiscard]] static gen::Result<Term> FromBytes(std::string_view bytes,
                                                   std::size_t max_depth = kUsualDepth);
  static constexpr std::size_t kUsualDepth = 1000;

  // -- looking --

  [[nodiscard]] Kind kind() const noexcept { return Reader().kind(); }
  // Each returns empty if the term is of another kind or does not fit: an integer of more than 64 bits; a pid or
  // reference with the name of a node that may not become an atom (see ErlangOptions::max_new_atoms).
  [[nodiscard]] std::optional<std::int64_t> AsInteger() const;
  [[nodiscard]] std::optional<std::uint64_t> AsUnsigned() const;
  [[nodiscard]] std::optional<double> AsFloat() const;
  [[nodiscard]] std::optional<bool> AsBoolean() const;
  [[nodiscard]] std::optional<std::string> AsAtomText() const;
  [[nodiscard]] std::optional<std::string> AsText() const;  // the bytes of a binary
  [[nodiscard]] std::optional<gen::PID> AsPid() const;
  [[nodiscard]] std::optional<Reference> AsReference() const;
  // Returns the term as a T. Returns kIncorrect, with the path of the field, if it does not have the form of a T.
  template <class T>
  [[nodiscard]] gen::Result<T> To() const;

  // Returns the number of elements of a tuple or list, without the tail of an improper list, or of entries of a map;
  // 0 for other kinds.
  [[nodiscard]] std::size_t size() const;
  // Returns an element of a tuple or list, counted from 0. The time grows with the number of elements before it. Throws
  // std::out_of_range.
  [[nodiscard]] Term operator[](std::size_t index) const;
  // Returns all elements of a tuple or list; none for other kinds.
  [[nodiscard]] std::vector<Term> Elements() const;
  // Returns the entries of a map, in the order in which they were written; none for other kinds.
  [[nodiscard]] std::vector<std::pair<Term, Term>> Entries() const;
  // Returns the value of a key, or of an atom as the key; empty if there is none, or if the term is no map.
  [[nodiscard]] std::optional<Term> Find(const Term& key) const;
  [[nodiscard]] std::optional<Term> Find(std::string_view atom) const;

  // Returns the term as Erlang prints it, as in {ok,<<"abc">>,[1,2],#{a => 1},<shell@localhost.12.3>}; pids have the
  // name of their node instead of its number. One line, cut after about `max_bytes`.
  [[nodiscard]] std::string ToString(std::size_t max_bytes = kUsualText) const;
  static constexpr std::size_t kUsualText = 2000;

  // Compares as =:= of Erlang. 0.0 and -0.0 are not equal, as in OTP 27 and later; nor are functions that
  // different nodes have written.
  friend bool operator==(const Term& left, const Term& right);

  // Returns the bytes that binary_to_term takes.
  [[nodiscard]] std::string Bytes() const;
  // Returns the bytes without the version byte; valid as long as this term.
  [[nodiscard]] std::string_view raw() const noexcept;
  [[nodiscard]] TermReader Reader() const noexcept;
  // Makes a term of bytes that have been checked, without the version byte. A budget counts the atoms that are new to
  // the program. `note` says why the term is of no registered type.
  [[nodiscard]] static Term FromChecked(std::string bytes,
                                        std::shared_ptr<AtomBudget> atoms = nullptr,
                                        std::string note = {});
  [[nodiscard]] static Term FromChecked(std::string bytes, AtomBudget* atoms,
                                        std::string note = {});
  // For gen::Message::Describe.
  [[nodiscard]] std::string MessageText() const;

 private:
  struct Memory {
    std::string bytes;
    std::shared_ptr<AtomBudget> atoms;
    std::string note = {};  // of all of it
  };

  // Returns the next term of a reader of this term.
  Term NextOf(TermReader& reader) const;

  std::shared_ptr<const Memory> memory_;  // null: the empty list
  std::size_t begin_ = 0;                 // where in it this term is
  std::size_t size_ = 0;
};

template <>
struct detail::Codec<Term> : detail::PlainCodec {
  static void Write(ValueWriter& writer, const Term& value) { writer.out.Raw(value.raw()); }
  static bool Read(ValueReader& reader, Term& value);
  static int Fit(TermReader next) { return next.AtEnd() ? kFitsNot : kFitsToo; }
  static void Describe(TypeReview& review) { review.NoteTerm(); }
};

template <class T>
Term Term::Of(const T& value, [[maybe_unused]] Absent absent) {
  std::string bytes;
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    TermWriter(bytes).Binary(value);
  } else {
    const gen::Result<void> written = detail::WriteValue(bytes, value, absent);
    if (!written) throw std::invalid_argument(std::string(written.error().detail()));
  }
  return FromChecked(std::move(bytes));
}

template <class T>
gen::Result<T> Term::To() const {
  T value{};
  auto read = detail::ReadValue(Reader(), value);
  if (!read) return std::move(read.error());
  return value;
}

}  // namespace ergon::dist

template <>
struct fmt::formatter<ergon::dist::Term> : ergon::gen::detail::FormatterOf<ergon::dist::Term> {};
