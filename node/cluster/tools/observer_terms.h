// Terms that the answers to Erlang's tools are made of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/process.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// Returns a C++ name without its namespaces and parameters: "Worker" for "(anonymous namespace)::Worker",
// "Start::{lambda}" for "shop::Start(int)::{lambda(ergon::gen::Process&)#1}", and "function" for a pointer to a
// function.
[[nodiscard]] std::string ShortName(std::string_view name);

// Writes a text as an atom, as tools of Erlang want it: cut if it is longer than an atom may be, and `not_utf8` if it
// is not UTF-8. Only for names of types and processes, so that there are no more atoms than those.
void WriteName(TermWriter& writer, std::string_view text);
// Writes {Module, Function, Arity}.
void WriteCall(TermWriter& writer, std::string_view module, std::string_view function,
               std::size_t arity);

// Returns the term that `write` writes with a TermWriter.
template <class Write>
[[nodiscard]] Term MakeTerm(Write&& write) {
  std::string bytes;
  TermWriter writer(bytes);
  std::forward<Write>(write)(writer);
  return Term::FromChecked(std::move(bytes));
}

// A list whose length is known only when all elements have been written.
class ListOfTerms {
 public:
  // Adds an element, which the caller writes.
  [[nodiscard]] TermWriter Add() {
    ++size_;
    return TermWriter(elements_);
  }
  void AddAtom(std::string_view key, std::string_view atom) { Pair(key).Atom(atom); }
  void AddInteger(std::string_view key, std::int64_t value) { Pair(key).Integer(value); }
  void AddText(std::string_view key, std::string_view text) { Pair(key).Charlist(text); }
  // Adds {Key, Value}; the caller writes the value.
  [[nodiscard]] TermWriter Pair(std::string_view key) {
    TermWriter writer = Add();
    writer.Tuple(2);
    writer.Atom(key);
    return writer;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return elements_.size(); }
  void Write(TermWriter& writer) const {
    writer.List(size_);
    writer.Raw(elements_);
    writer.Nil();
  }
  [[nodiscard]] Term ToTerm() const {
    return MakeTerm([&](TermWriter& writer) { Write(writer); });
  }
  void Clear() {
    elements_.clear();
    size_ = 0;
  }

 private:
  std::string elements_;
  std::size_t size_ = 0;
};

// What a function that is called gets and returns.
using Arguments = std::vector<Term>;
using Answer = gen::Result<Term>;

// Returns the error with which functions of Erlang refuse an argument.
inline gen::Error BadArgument() { return gen::Error(gen::Atom("badarg")); }
inline Answer EmptyList(gen::Process&, const Arguments&) { return Term(); }

}  // namespace ergon::dist
