// The common part of all codecs, which write values of C++ as terms of Erlang and read them. Users read
// erlang/archive.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <ergon/gen/error.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// How an std::optional without a value, and std::monostate, is written. Both forms are read.
enum class Absent : std::uint8_t {
  kUndefined,  // as Erlang has it
  kNil,        // as Elixir has it, where `undefined` is true
};

namespace detail {

// What is wrong with a value, and at which place in the value. Only the first problem counts.
class ValueProblem {
 public:
  // How deep values may be nested. A type that contains itself takes stack for each level, and handlers have little
  // stack.
  static constexpr int kMaxNesting = 100;

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  // Notes a problem. Returns false, for callers that return it.
  bool Fail(std::string what);
  // Add the place of the problem, from the innermost place on: ".name", "[3]".
  void InField(std::string_view name);
  void InElement(std::size_t index);
  void InKey(std::string_view text);
  // Returns kIncorrect, as in "order.items[3].price: missing"; `root` is the name of the value.
  [[nodiscard]] gen::Error ToError(std::string_view root) const;

  // Goes one level deeper. Returns false if it is too deep. Leave() is called in any case.
  bool Enter();
  void Leave() noexcept { --nesting_; }

 private:
  bool failed_ = false;
  int nesting_ = 0;
  std::string what_;
  std::string path_;
};

class Nesting {
 public:
  explicit Nesting(ValueProblem& problem) : problem_(problem), fits_(problem.Enter()) {}
  ~Nesting() { problem_.Leave(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  explicit operator bool() const noexcept { return fits_; }

 private:
  ValueProblem& problem_;
  const bool fits_;
};

struct ValueWriter {
  TermWriter out;
  Absent absent = Absent::kUndefined;
  ValueProblem problem = {};

  void Nothing() { out.Atom(absent == Absent::kNil ? "nil" : "undefined"); }
};

struct ValueReader {
  TermReader in;
  ValueProblem problem = {};

  // Notes a problem as "expected a binary, found 42", with the next term or with `found`. Returns false.
  bool Expected(std::string_view what) { return Expected(what, in); }
  bool Expected(std::string_view what, TermReader found);
  // Adds the key of the map entry that begins at `entry` as the place of the problem. Returns false.
  bool InKey(TermReader entry);
};

// The types whose descriptions have been checked.
class TypeReview {
 public:
  // Notes a type. Returns false if it has been checked already.
  bool Enter(const std::type_info& type);
  // Notes that there may be a term of any depth.
  void NoteTerm() noexcept { has_terms_ = true; }
  [[nodiscard]] bool has_terms() const noexcept { return has_terms_; }

 private:
  std::vector<const std::type_info*> seen_;
  bool has_terms_ = false;
};

// Returns whether the next term is undefined, or nil of Elixir.
[[nodiscard]] bool IsAbsent(const TermReader& next);

// How well a term fits a type of a variant. The type with the greatest number is chosen.
inline constexpr int kFitsNot = 0;
inline constexpr int kFitsToo = 1;   // the term is accepted
inline constexpr int kFitsWell = 2;  // the term looks as it is written

struct Alternative;  // of a variant: a type with a description

// The base of codecs. All codecs have Write, which fails by its writer's problem; Read, which returns false if it has
// failed; Fit; and these members.
struct PlainCodec {
  static constexpr bool kMayBeMissing = false;  // as a field of a map
  // Throws std::logic_error if a description is wrong.
  static void Describe(TypeReview&) {}
  // Adds the types with descriptions that a value may be written as.
  static void AddAlternatives(std::vector<Alternative>&) {}
};

template <class T>
struct Codec : PlainCodec {
  static_assert(!std::is_same_v<T, T>,
                "this type cannot go to other nodes: give it a `template <class Archive> void "
                "serialize(Archive& archive)`, see <ergon/node/erlang/archive.h>");
  static void Write(ValueWriter&, const T&);
  static bool Read(ValueReader&, T&);
  static int Fit(TermReader);
};

}  // namespace detail
}  // namespace ergon::dist
